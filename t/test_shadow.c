/* SPDX-License-Identifier: Apache-2.0
 *
 * A version beside the one in service: what agrees, what differs, how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/run/shadow.h"
#include "t/lib/patience.h"

static struct neap_policy *load(const char *body)
{
	char text[512];
	struct neap_policy *policy = NULL;
	struct neap_error err;

	(void)snprintf(
		text, sizeof(text),
		"return { api = 1, kind = 'qos', name = 'x', needs = { 'capacity_milli' },\n"
		"tick = function(ctx, node) %s end }",
		body);
	assert_int_equal(neap_policy_load(text, strlen(text), "x.lua", &policy, &err), 0);
	return policy;
}

static int64_t member(const struct neap_shadow *shadow, const char *name)
{
	json_t *row = neap_shadow_json(shadow);
	int64_t value = json_integer_value(json_object_get(row, name));

	json_decref(row);
	return value;
}

#define WRITE(value)                                                                     \
	"{ target = 'besteffort', key = 'cpu.max_milli', value = " value ", why = 'w' }"

#define IDLE "{ target = 'besteffort', key = 'cpu.idle', value = 1, why = 'w' }"

/* What the one in service answers, what the shadow's body is, which of them count. */
static const struct {
	const char *name, *active, *body;
	int64_t same, different, faults;
} rows[] = {
	{"alike", "return { " WRITE("100") " }", "return { " WRITE("100") " }", 1, 0, 0},
	{"order", "return { " WRITE("100") "," IDLE " }",
	 "return { " IDLE "," WRITE("100") " }", 1, 0, 0},
	{"an unknown target", "return {}",
	 "return { { target = 'best-effort', key = 'cpu.idle', value = 1, why = 'w' } }",
	 0, 1, 1},
	{"another value", "return { " WRITE("100") " }", "return { " WRITE("101") " }", 0,
	 1, 0},
	{"nothing wanted", "return { " WRITE("100") " }", "return {}", 0, 1, 0},
	{"held", "return ctx.hold", "return ctx.hold", 1, 0, 0},
	{"hold is not nothing", "return ctx.hold", "return {}", 0, 1, 0},
	{"raises", "return {}", "error('no')", 0, 1, 1},
	{"wrong", "return {}", "return 5", 0, 1, 1},
	{"endless", "return {}", "while true do end", 0, 1, 1},
};

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *active = load(rows[i].active);
		struct neap_shadow *shadow = neap_shadow_new_take(load(rows[i].body), 5);
		int64_t left = 1000000;
		struct neap_sample sample = {.capacity_milli = 4000, .now_unix = 7};
		struct neap_policy_wish *wishes = NULL;
		enum neap_tick_verdict verdict;
		size_t count = 0;

		verdict = neap_policy_tick(active, &sample, &wishes, &count, NULL);
		neap_shadow_ask(shadow, &sample, verdict, wishes, count, &left);
		if (member(shadow, "calls") != 1 ||
		    member(shadow, "same") != rows[i].same ||
		    member(shadow, "different") != rows[i].different ||
		    member(shadow, "faults") != rows[i].faults)
			fail_msg("%s", rows[i].name);
		assert_true(left < 1000000);
		free(wishes);
		neap_shadow_free(shadow);
		neap_policy_free(active);
	}
	neap_shadow_free(NULL);
}

static void test_end(void **state)
{
	struct neap_shadow *shadow = neap_shadow_new_take(load("error('no')"), 5);
	struct neap_sample sample = {.capacity_milli = 4000};
	int64_t left = 1000000, little = 1;
	json_t *row;

	(void)state;
	neap_shadow_ask(shadow, &sample, NEAP_TICK_HOLD, NULL, 0, &little);
	assert_int_equal(member(shadow, "put_off"), 1);
	assert_int_equal(member(shadow, "calls"), 0);
	for (int i = 0; i < 5; i++)
		neap_shadow_ask(shadow, &sample, NEAP_TICK_HOLD, NULL, 0, &left);
	assert_int_equal(member(shadow, "calls"), 3);
	row = neap_shadow_json(shadow);
	assert_true(json_is_true(json_object_get(row, "is_failed")));
	assert_non_null(
		strstr(json_string_value(json_object_get(row, "last_error")), "no"));
	assert_string_equal(json_string_value(json_object_get(
				    json_object_get(row, "last_difference"), "active")),
			    "hold");
	json_decref(row);
	neap_shadow_free(shadow);
}

static void test_no_memory(void **state)
{
	struct neap_policy *policy = load("return {}");

	(void)state;
	neap_mem_fail_at(1);
	assert_null(neap_shadow_new_take(policy, 0));
	neap_mem_fail_at(0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_end),
		cmocka_unit_test(test_no_memory),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
