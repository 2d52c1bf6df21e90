/* SPDX-License-Identifier: Apache-2.0
 *
 * A shadow of kind reservation: asked beside the version in service, counted by decision,
 * and without a say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/offer_rig.h"
#include "t/lib/patience.h"

#define OPEN "needs = {}, match = function() return true end"
#define NOT_A                                                                            \
	"needs = { 'resv.name' }, match = function(ctx, pod, r) return r.name ~= 'a', "  \
	"'not this one' end"
#define RANK(number) OPEN ", rank = function() return " number " end"

static void add_shadow(struct offer_rig *rig, const char *body)
{
	struct neap_registry_slot *slot = offer_slot(rig, "p");
	struct neap_policy *policy = NULL;
	struct neap_error err = {0};
	char text[1024];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'reservation', name = 'p', %s }", body);
	if (neap_policy_load(text, strlen(text), "s.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	slot->shadow = neap_shadow_new_take(policy, 0);
	assert_non_null(slot->shadow);
}

static int number_of(const json_t *json, const char *name)
{
	return (int)json_integer_value(json_object_get(json, name));
}

static const struct row {
	const char *name, *active, *shadow;
	int calls, same, different, faults; /* after two decisions */
	bool is_failed;
	const char *reservation, *said, *said_by_shadow; /* of the last difference */
} rows[] = {
	{"the same", NOT_A, NOT_A, 2, 2, 0, 0, false, NULL, NULL, NULL},
	{"other words", NOT_A,
	 "needs = { 'resv.name' }, match = function(ctx, pod, r) return r.name ~= 'a' end",
	 2, 2, 0, 0, false, NULL, NULL, NULL},
	{"one is closed", OPEN, NOT_A, 2, 0, 2, 0, false, "a", "open",
	 "refused: not this one"},
	{"one is opened", NOT_A, OPEN, 2, 0, 2, 0, false, "a", "refused: not this one",
	 "open"},
	{"a rank", RANK("5"), RANK("7"), 2, 0, 2, 0, false, "b", "rank 5", "rank 7"},
	{"no rank any more", RANK("5"), OPEN, 2, 0, 2, 0, false, "b", "rank 5",
	 "no rank"},
	{"a rank that says nothing", RANK("nil"), OPEN, 2, 2, 0, 0, false, NULL, NULL,
	 NULL},
	{"a missing field", OPEN,
	 "needs = { 'pod.labels.none' }, match = function() return true end", 2, 0, 2, 0,
	 false, "a", "open", "skip"},
	{"faults", OPEN, "needs = {}, match = function() error('no', 0) end", 2, 0, 2, 2,
	 false, "a", "open", "error: "},
	{"faults of the second one", OPEN,
	 "needs = { 'resv.name' }, match = function(ctx, pod, r) if r.name == 'b' then "
	 "error('no', 0) end return true end",
	 2, 0, 2, 2, false, "b", "open", "error: "},
};

/* What the shadow says changes nothing: the texts are those without it. */
static void decide(struct offer_rig *rig, const struct row *row)
{
	struct neap_reserve *a =
		offer_reserve(rig, offer_json("{'name':'a'}"), json_pack("[{}]"));
	struct neap_reserve *b =
		offer_reserve(rig, offer_json("{'name':'b'}"), json_pack("[{}]"));

	offer_begin(rig, "{'name':'web-0'}");
	assert_string_equal(offer_match(rig, a, true), strcmp(row->active, NOT_A) == 0
							       ? "policy p: not this one"
							       : "open");
	assert_string_equal(offer_match(rig, b, true), "open");
	assert_int_equal(offer_rank(rig, b), strcmp(row->active, RANK("5")) ? -1 : 5);
	(void)neap_reserve_unref(a);
	(void)neap_reserve_unref(b);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const struct row *row = &rows[i];
		struct offer_rig *rig = offer_new();
		const json_t *last;
		json_t *json;

		offer_put(rig, "p", 0, row->active);
		add_shadow(rig, row->shadow);
		decide(rig, row);
		decide(rig, row);
		json = neap_shadow_json(offer_slot(rig, "p")->shadow);
		last = json_object_get(json, "last_difference");
		if (number_of(json, "calls") != row->calls ||
		    number_of(json, "same") != row->same ||
		    number_of(json, "different") != row->different ||
		    number_of(json, "faults") != row->faults ||
		    json_is_true(json_object_get(json, "is_failed")) != row->is_failed ||
		    !last != !row->reservation)
			fail_msg("%s: %s", row->name, json_dumps(json, 0));
		if (last) {
			const char *said =
				json_string_value(json_object_get(last, "shadow"));

			assert_string_equal(
				json_string_value(json_object_get(last, "reservation")),
				row->reservation);
			assert_string_equal(
				json_string_value(json_object_get(last, "pod")),
				"default/web-0");
			assert_string_equal(
				json_string_value(json_object_get(last, "active")),
				row->said);
			if (strncmp(said, row->said_by_shadow,
				    strlen(row->said_by_shadow)) != 0)
				fail_msg("%s: %s", row->name, said);
		}
		json_decref(json);
		offer_free(rig);
	}
}

/* Three decisions in a row end it; one that begins well and fails ends no row. */
static void test_failed(void **state)
{
	struct offer_rig *rig = offer_new();
	json_t *json;

	(void)state;
	offer_put(rig, "p", 0, OPEN);
	add_shadow(rig, rows[9].shadow);
	for (int i = 0; i < 4; i++)
		decide(rig, &rows[9]);
	json = neap_shadow_json(offer_slot(rig, "p")->shadow);
	assert_true(json_is_true(json_object_get(json, "is_failed")));
	assert_int_equal(number_of(json, "faults"), 3);
	assert_int_equal(number_of(json, "calls"), 3);
	assert_string_equal(json_string_value(json_object_get(json, "last_error")),
			    "s.lua:1: in function 'match': no");
	assert_int_equal(offer_slot(rig, "p")->stats.faults, 0);
	json_decref(json);
	offer_free(rig);
}

/* Its time is that of shadows: when it is used up the shadow is put off, and the version
 * in service is not. */
static void test_put_off(void **state)
{
	struct offer_rig *rig = offer_new();
	struct neap_reserve *a =
		offer_reserve(rig, offer_json("{'name':'a'}"), json_pack("[{}]"));
	json_t *json;

	(void)state;
	offer_put(rig, "p", 0, OPEN);
	add_shadow(rig, NOT_A);
	offer_begin(rig, "{'name':'web-0'}");
	neap_purse_take(&rig->purse, NULL, neap_purse_left(&rig->purse, NULL));
	assert_string_equal(offer_match(rig, a, true), "open");
	assert_string_equal(offer_match(rig, a, true), "open");
	json = neap_shadow_json(offer_slot(rig, "p")->shadow);
	assert_int_equal(number_of(json, "put_off"), 1);
	assert_int_equal(number_of(json, "calls"), 0);
	json_decref(json);
	(void)neap_reserve_unref(a);
	offer_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_put_off),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
