/* SPDX-License-Identifier: Apache-2.0
 *
 * What a policy of kind deschedule says of itself: its fields, and parameters that are
 * objects, are required, and are checked together. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/json/json.h"
#include "lua/deschedule/deschedule.h"

#define RUN(text) "run = function(ctx, round) " text " end"

static struct neap_policy *load(const char *body)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;
	char text[4096];

	(void)snprintf(text, sizeof(text),
		       "return { api = 1, kind = 'deschedule', name = 'p', "
		       "point = 'balance', %s }",
		       body);
	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

/* In a round without nodes. */
static enum neap_tick_verdict run(struct neap_policy *policy, struct neap_error *err)
{
	struct neap_round_args args = {.limits = {0, 0, 0, 0, false}};
	struct neap_world *world = NULL;
	struct neap_round *round = NULL;
	enum neap_tick_verdict verdict;

	assert_int_equal(neap_world_new(NULL, &world, err), 0);
	assert_int_equal(neap_world_settle(world, err), 0);
	args.world = world;
	assert_int_equal(neap_round_new(&args, &round, err), 0);
	verdict = neap_policy_run_round(policy, round, "s", err);
	neap_round_free(round);
	neap_world_free(world);
	return verdict;
}

static void test_fields(void **state)
{
	static const struct {
		const char *body, *want;
	} bad[] = {
		{RUN(""), "field 'point'"},
		{"point = 'sort', " RUN(""), "\"deschedule\" or \"balance\""},
		{"point = 'balance'", "field 'run'"},
		{"point = 'balance', plugin = 'a b', " RUN(""), "field 'plugin'"},
		{"point = 'balance', needs = { 'x' }, " RUN(""), "this kind has none"},
		{"point = 'balance', triggers = { { event = 'x' } }, " RUN(""),
		 "triggers[1]: event is one of"},
		{"point = 'balance', triggers = { { event = 'node-usage', key = 'cpu' } }, " RUN(
			 ""),
		 "bound is wanted"},
		{"point = 'balance', valid = 5, " RUN(""), "field 'valid'"},
	};
	struct neap_policy *policy;
	const struct neap_round_trigger *triggers;
	size_t count;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_error err = {0};
		char text[1024];

		(void)snprintf(text, sizeof(text),
			       "return { api = 1, kind = 'deschedule', name = 'p', %s }",
			       bad[i].body);
		assert_true(neap_policy_load(text, strlen(text), "p.lua", &policy, &err) <
			    0);
		if (!strstr(err.msg, bad[i].want))
			fail_msg("%zu: %s", i, err.msg);
	}
	policy = load(
		"plugin = 'Mine', triggers = { { event = 'node-taint', key = 'gpu' }, "
		"{ event = 'pod-restarts', bound = 5 } }, " RUN(""));
	assert_int_equal(neap_policy_point(policy), NEAP_POINT_BALANCE);
	assert_string_equal(neap_policy_plugin(policy), "Mine");
	triggers = neap_policy_round_triggers(policy, &count);
	assert_int_equal(count, 2);
	assert_string_equal(triggers[0].key, "gpu");
	assert_int_equal(triggers[1].bound, 5);
	neap_policy_free(policy);
}

static int set_json(struct neap_policy *policy, const char *text, struct neap_error *err)
{
	json_t *json = json_loads(text, 0, NULL);
	int rc;

	assert_non_null(json);
	rc = neap_policy_set_params(policy, json, err);
	json_decref(json);
	return rc;
}

/* Objects, required parameters and valid(params). */
static void test_params(void **state)
{
	static const char body[] =
		"params = {\n"
		"  ns = { type = 'object', at_most_one = { 'include', 'exclude' }, fields = {\n"
		"    include = { type = 'list', of = 'string' },\n"
		"    exclude = { type = 'list', of = 'string' } }, doc = 'd' },\n"
		"  pools = { type = 'list', of = { type = 'object', fields = {\n"
		"    name = { type = 'string', required = true },\n"
		"    share = { type = 'integer', default = 7 },\n"
		"    low = { type = 'map', of = { type = 'number', max = 100 } },\n"
		"    inner = { type = 'object', fields = { after = { type = 'duration' } } } } },\n"
		"    doc = 'd' },\n"
		"  least = { type = 'integer', required = true, doc = 'how many' } },\n"
		"valid = function(params) if params.least > 9 then\n"
		"  return { { field = 'least', message = 'too many' } } end end,\n" RUN(
			"local p = ctx.params\n"
			"assert(p.pools[1].name == 'x' and p.pools[1].share == 7)\n"
			"assert(p.pools[1].inner.after == 90 and p.pools[1].low.cpu == 1.5)\n"
			"assert(p.pools[2].low == nil and #p.ns.include == 1)\n"
			"assert(not pcall(function() p.ns.include[1] = 'z' end))");
	static const struct {
		const char *json, *field, *want;
	} bad[] = {
		{"{\"least\": 1, \"ns\": {\"include\": [\"a\"], \"exclude\": [\"b\"]}}",
		 "ns", "at most one of"},
		{"{\"least\": 1, \"ns\": {\"only\": []}}", "ns.only", "no field 'only'"},
		{"{\"least\": 1, \"ns\": {\"include\": 5}}", "ns.include",
		 "takes a list"},
		{"{\"least\": 1, \"pools\": [{}]}", "pools[0].name", "is required"},
		{"{\"least\": 1, \"pools\": [{\"name\": \"a\", \"low\": {\"cpu\": 101}}]}",
		 "pools[0].low[\"cpu\"]", "at most 100"},
		{"{\"least\": 1, \"pools\": [{\"name\": \"a\", \"inner\": {\"after\": 1, "
		 "\"x\": 2}}]}",
		 "pools[0].inner.x", "no field 'x'"},
		{"{\"pools\": []}", "least", "is required: how many"},
		{"{\"least\": 10}", "least", "too many"},
	};
	struct neap_policy *policy = load(body);
	struct neap_error err = {0};
	json_t *values, *schema;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		assert_true(set_json(policy, bad[i].json, &err) < 0);
		if (strcmp(err.field, bad[i].field) != 0 || !strstr(err.msg, bad[i].want))
			fail_msg("%zu: %s: %s", i, err.field, err.msg);
	}
	assert_true(neap_policy_check_params(policy, &err) < 0);
	if (set_json(policy,
		     "{\"least\": 9, \"ns\": {\"include\": [\"a\"], \"exclude\": null}, "
		     "\"pools\": [{\"name\": \"x\", \"low\": {\"cpu\": 1.5}, \"inner\": "
		     "{\"after\": \"1m30s\"}}, {\"name\": \"y\"}]}",
		     &err) < 0)
		fail_msg("%s: %s", err.field, err.msg);
	assert_int_equal(neap_policy_check_params(policy, &err), 0);
	if (run(policy, &err) != NEAP_TICK_WISHES)
		fail_msg("%s", err.msg);
	/* What is shown can be set again. */
	values = neap_policy_params(policy);
	assert_int_equal(neap_policy_set_params(policy, values, &err), 0);
	assert_string_equal(json_string_value(neap_json_at(
				    json_array_get(json_object_get(values, "pools"), 0),
				    "inner.after")),
			    "1m30s");
	json_decref(values);
	schema = neap_policy_schema(policy);
	assert_true(json_is_true(neap_json_at(schema, "least.required")));
	assert_int_equal(json_array_size(neap_json_at(schema, "ns.at_most_one")), 2);
	assert_non_null(neap_json_at(schema, "pools.of.fields.inner.fields.after"));
	json_decref(schema);
	neap_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_params),
	};

	return cmocka_run_group_tests_name("deschedule_params", tests, NULL, NULL);
}
