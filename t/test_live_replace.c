/* SPDX-License-Identifier: Apache-2.0
 *
 * Live policies of kind reservation: those that decide in place of the owners are loaded
 * by admins, one at a time; what is kept of any of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "t/lib/live_rig.h"
#include "t/lib/patience.h"

#define NARROW  "narrow"
#define REPLACE "replace"

static const char *text_of(const char *name, const char *combine, int number)
{
	static char text[400];

	(void)snprintf(
		text, sizeof(text),
		"return { api = 1, kind = 'reservation', name = '%s', combine = '%s', "
		"match = function() return %d > 0 end }",
		name, combine, number);
	return text;
}

static int put(struct live_rig *rig, const char *name, const char *combine, int number,
	       bool is_admin)
{
	struct neap_live_change change = live_change(rig, name);
	const char *text = text_of(name, combine, number);
	struct neap_error err = {0};

	change.kind = "reservation";
	change.is_admin = is_admin;
	return live_ask(rig, neap_live_put(rig->live, &change, text, strlen(text), &err),
			&err);
}

static int roll_back(struct live_rig *rig, const char *name, bool is_admin)
{
	struct neap_live_change change = live_change(rig, name);
	struct neap_error err = {0};

	change.kind = "reservation";
	change.is_admin = is_admin;
	return live_ask(rig, neap_live_rollback(rig->live, &change, "", &err), &err);
}

static int drop(struct live_rig *rig, const char *name)
{
	struct neap_live_change change = live_change(rig, name);
	struct neap_error err = {0};

	change.kind = "reservation";
	change.is_admin = true;
	return live_ask(rig, neap_live_delete(rig->live, &change, &err), &err);
}

static bool is_in_service(struct live_rig *rig, const char *name)
{
	return neap_registry_find(rig->registry, "reservation", name) != NULL;
}

static void test_admins_alone(void **state)
{
	struct live_rig *rig = live_open(state);

	assert_int_equal(put(rig, "a", REPLACE, 1, false), 403);
	assert_non_null(strstr(rig->answer.err.msg, "only an admin may load it"));
	assert_false(is_in_service(rig, "a"));
	assert_int_equal(put(rig, "a", REPLACE, 1, true), 201);
	assert_true(is_in_service(rig, "a"));
	/* It is an admin's who takes it out; what was there before does not come back by
	 * others. */
	assert_int_equal(put(rig, "a", NARROW, 1, false), 403);
	assert_int_equal(put(rig, "a", NARROW, 1, true), 200);
	assert_int_equal(roll_back(rig, "a", false), 403);
	assert_int_equal(roll_back(rig, "a", true), 200);
	assert_int_equal(put(rig, "a", REPLACE, 2, false), 403);
	live_teardown(state);
}

static void test_survives_a_restart(void **state)
{
	struct live_rig *rig = live_open(state);
	struct neap_error err = {0};

	assert_int_equal(put(rig, "a", REPLACE, 1, true), 201);
	live_stop(rig);
	assert_int_equal(live_start(rig, &err), 0);
	assert_true(is_in_service(rig, "a"));
	live_teardown(state);
}

static void test_files(void **state)
{
	struct live_rig *rig;
	struct neap_error err = {0};

	assert_int_equal(live_setup(state), 0);
	rig = *state;
	rig->has_dir = true;
	assert_int_equal(live_start(rig, &err), 0);
	live_file(rig, "a.lua", text_of("a", REPLACE, 1));
	assert_true(is_in_service(rig, "a"));
	live_teardown(state);
}

static void test_one_at_a_time(void **state)
{
	struct live_rig *rig = live_open(state);

	assert_int_equal(put(rig, "a", REPLACE, 1, true), 201);
	assert_int_equal(put(rig, "b", REPLACE, 1, true), 422);
	assert_non_null(strstr(rig->answer.err.msg, "reservation/a"));
	assert_int_equal(put(rig, "b", NARROW, 1, true), 201);
	assert_int_equal(put(rig, "a", REPLACE, 2, true), 200);
	assert_int_equal(drop(rig, "a"), 200);
	assert_int_equal(put(rig, "b", REPLACE, 1, true), 200);
	live_teardown(state);
}

static bool is_open(struct live_rig *rig)
{
	json_t *params = neap_policy_params(
		neap_registry_find(rig->registry, "reservation", "a")->policy);
	bool is = json_is_true(json_object_get(params, "open"));

	json_decref(params);
	return is;
}

static int set_open(struct live_rig *rig, json_t *taken)
{
	struct neap_live_change change = live_change(rig, "a");
	struct neap_error err = {0};
	int status;

	change.kind = "reservation";
	status = live_ask(rig, neap_live_set_params(rig->live, &change, taken, &err),
			  &err);
	json_decref(taken);
	return status;
}

/* As of any other kind: kept over a new version and over a restart. */
static void test_parameters(void **state)
{
	static const char *const texts[] = {
		"return { api = 1, kind = 'reservation', name = 'a', params = { open = { "
		"type = 'boolean', default = true, doc = 'd' } }, match = function(ctx) "
		"return ctx.params.open end }",
		"return { api = 1, kind = 'reservation', name = 'a', params = { open = { "
		"type = 'boolean', default = true, doc = 'd' } }, match = function(ctx) "
		"return not not ctx.params.open end }",
	};
	struct live_rig *rig = live_open(state);
	struct neap_error err = {0};

	for (int i = 0; i < 2; i++) {
		struct neap_live_change change = live_change(rig, "a");

		change.kind = "reservation";
		assert_int_equal(live_ask(rig,
					  neap_live_put(rig->live, &change, texts[i],
							strlen(texts[i]), &err),
					  &err),
				 i ? 200 : 201);
		assert_int_equal(is_open(rig), !i);
		assert_int_equal(set_open(rig, json_pack("{s:i}", "open", 5)), 422);
		assert_int_equal(set_open(rig, json_pack("{s:b}", "open", 0)), 200);
		assert_false(is_open(rig));
	}
	live_stop(rig);
	assert_int_equal(live_start(rig, &err), 0);
	assert_false(is_open(rig));
	live_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_admins_alone),
		cmocka_unit_test(test_survives_a_restart),
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_one_at_a_time),
		cmocka_unit_test(test_parameters),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("policies that replace", tests, NULL, NULL);
}
