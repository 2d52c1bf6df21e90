/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters that hold others (list, map, selector), and all parameters set from JSON:
 * what is taken, what is refused and how, what scripts see, all or none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/call/policy.h"
#include "t/lib/policy_rule.h"

#define POLICY(params) "return { api = 1, kind = 'qos', name = 'x', params = {\n" params
#define REST           " },\ntick = function(ctx) return {} end,\n"
#define RULES                                                                                                  \
	"rules = {\n"                                                                                          \
	"l = function(ctx, i) local t = {} for n, v in ipairs(ctx.params.l) do t[n] = v end\n"                 \
	"  return { n = #ctx.params.l, list = t } end,\n"                                                      \
	"m = function(ctx, i) local t = {} for k, v in pairs(ctx.params.m) do t[#t + 1] = k .. '=' .. v end\n" \
	"  return t end,\n"                                                                                    \
	"s = function(ctx, i) return ctx.params.s:matches(i) end,\n"                                           \
	"i = function(ctx) return ctx.params.i end,\n"                                                         \
	"held = function(ctx) held = held or ctx.params return held.i end,\n"                                  \
	"write = function(ctx, i) ctx.params[i][1] = 5 end,\n"                                                 \
	"insert = function(ctx, i) table.insert(ctx.params[i], 5) end,\n"                                      \
	"frozen = function(ctx) local s = ctx.selector({ matchLabels = ctx.params.n })\n"                      \
	"  return { s:matches(ctx.params.n), s:matches({}) } end,\n"                                           \
	"unset = function(ctx) return ctx.params.u == nil end } }"

static const char text[] = "local held\n" POLICY(
	"i = { type = 'integer', default = 3, doc = 'd' },\n"
	"b = { type = 'boolean', default = true, doc = 'd' },\n"
	"t = { type = 'string', default = 'x', doc = 'd' },\n"
	"q = { type = 'quantity', unit = 'milli', doc = 'd' },\n"
	"u = { type = 'list', of = 'string', doc = 'd' },\n"
	"l = { type = 'list', of = { type = 'percent', max = 50 }, max_items = 3, default = { 1, '2%' }, doc = 'd' },\n"
	"m = { type = 'map', of = 'duration', default = { b = '1m', a = 5, ['x.y/z'] = 1.5 }, doc = 'd' },\n"
	"e = { type = 'map', of = { type = 'enum', values = { 'u', 'v' } }, default = {}, max_items = 2, doc = 'd' },\n"
	"n = { type = 'map', of = 'string', default = { pool = 'batch' }, doc = 'd' },\n"
	"s = { type = 'selector', default = { matchLabels = { a = 'b' } }, doc = 'd' }" REST
		RULES);

/* clang-format off */
/* Values that are set (NULL: reset), what is then in force of them, or the field and the
 * error. */
static const struct {
	const char *set, *in_force, *field, *error;
} rows[] = {
	{"{}", "{\"i\": 3, \"b\": true, \"t\": \"x\", \"q\": null, \"u\": null, \"l\": [1, 2], \"m\": {\"a\": \"5s\", \"b\": \"1m\", \"x.y/z\": \"1s500ms\"}, \"e\": {}, \"s\": {\"matchLabels\": {\"a\": \"b\"}}}", NULL, NULL},
	{"{\"i\": 5, \"b\": false, \"t\": \"\", \"q\": 1500}", "{\"i\": 5, \"b\": false, \"t\": \"\", \"q\": \"1500m\"}", NULL, NULL},
	{"{\"i\": null, \"q\": null, \"b\": \"true\"}", "{\"i\": 3, \"q\": null, \"b\": true}", NULL, NULL},
	{"{\"i\": 7.0, \"q\": \"2\"}", "{\"i\": 7, \"q\": \"2\"}", NULL, NULL},
	{"{\"i\": 7.5}", "{\"i\": 7}", "i", "parameter 'i': '7.5' is not allowed; it takes a whole number"},
	{"{\"q\": \"3\", \"i\": []}", "{\"i\": 7, \"q\": \"2\"}", "i", "parameter 'i': 'list' is not allowed"},
	{"{\"q\": \"3\", \"zz\": 1}", "{\"q\": \"2\"}", "zz", "there is no parameter 'zz'; known: b, e, i, l"},
	{"{\"b\": 1}", "{\"b\": true}", "b", "it takes true or false"},
	{"{\"t\": 1}", "{\"t\": \"\"}", "t", "'number' is not allowed; it takes a text"},
	{"{\"t\": \"a\\u0000b\"}", "{\"t\": \"\"}", "t", "not allowed"},
	{"[]", "{\"i\": 7}", "", "params: an object of values by name is wanted"},
	{NULL, "{\"i\": 3, \"t\": \"x\", \"q\": null}", NULL, NULL},
	{"{\"u\": []}", "{\"u\": []}", NULL, NULL},
	{"{\"u\": [\"a\", \"b\"]}", "{\"u\": [\"a\", \"b\"]}", NULL, NULL},
	{"{\"u\": null}", "{\"u\": null}", NULL, NULL},
	{"{\"l\": [10, 20, \"30\"]}", "{\"l\": [10, 20, 30]}", NULL, NULL},
	{"{\"l\": [10, 20, 30, 40]}", "{\"l\": [10, 20, 30]}", "l", "parameter 'l': '4 elements' is not allowed; it takes a list of at most 3 elements, each a whole percentage from 0 to 50"},
	{"{\"l\": [10, 51]}", "{\"l\": [10, 20, 30]}", "l[1]", "element [1]: parameter 'l': '51' is not allowed; it takes a whole percentage from 0 to 50"},
	{"{\"l\": [null]}", "{\"l\": [10, 20, 30]}", "l[0]", "'null' is not allowed"},
	{"{\"l\": {}}", "{\"l\": [10, 20, 30]}", "l", "'object' is not allowed; it takes a list"},
	{"{\"l\": \"[1]\"}", "{\"l\": [10, 20, 30]}", "l", "'string' is not allowed"},
	{"{\"m\": {}}", "{\"m\": {}}", NULL, NULL},
	{"{\"m\": {\"z\": 60, \"y\": \"1h\"}}", "{\"m\": {\"y\": \"1h\", \"z\": \"1m\"}}", NULL, NULL},
	{"{\"m\": {\"z\": \"x\"}}", "{\"m\": {\"y\": \"1h\", \"z\": \"1m\"}}", "m[\"z\"]", "element [\"z\"]: parameter 'm': 'x' is not allowed; it takes a duration"},
	{"{\"m\": {\"a b\": 1}}", "{\"m\": {\"y\": \"1h\", \"z\": \"1m\"}}", "m", "parameter 'm': key 'a b': name part must consist of"},
	{"{\"m\": []}", "{}", "m", "'list' is not allowed; it takes an object by label names of at most 64 elements, each a duration"},
	{"{\"e\": {\"a\": \"u\", \"b\": \"v\"}}", "{\"e\": {\"a\": \"u\", \"b\": \"v\"}}", NULL, NULL},
	{"{\"e\": {\"a\": \"w\"}}", "{\"e\": {\"a\": \"u\", \"b\": \"v\"}}", "e[\"a\"]", "it takes one of u, v"},
	{"{\"e\": {\"a\": \"u\", \"b\": \"u\", \"c\": \"u\"}}", "{}", "e", "'3 elements' is not allowed"},
	{"{\"s\": {}}", "{\"s\": {}}", NULL, NULL},
	{"{\"s\": {\"matchExpressions\": [{\"key\": \"k\", \"operator\": \"Exists\"}]}}", "{\"s\": {\"matchExpressions\": [{\"key\": \"k\", \"operator\": \"Exists\"}]}}", NULL, NULL},
	{"{\"s\": {\"matchExpressions\": [{\"key\": \"k\", \"operator\": \"Is\"}]}}", "{}", "s.matchExpressions[0].operator", "parameter 's': matchExpressions[0].operator: Invalid value: \"Is\": not a valid selector operator"},
	{"{\"s\": [1]}", "{}", "s", "'list' is not allowed; it takes an object with matchLabels"},
	{NULL, "{\"l\": [1, 2], \"e\": {}, \"s\": {\"matchLabels\": {\"a\": \"b\"}}}", NULL, NULL},
};

/* By text, as on a command line. */
static const struct {
	const char *name, *text, *in_force, *error;
} texts[] = {
	{"l", "[5]", "[5]", NULL},
	{"l", "5", NULL, "'5' is not allowed; it takes a list"},
	{"l", "", NULL, "not allowed"},
	{"l", "[5", NULL, "not allowed"},
	{"u", "[\"a\"]", "[\"a\"]", NULL},
	{"u", "", "null", NULL},
	{"m", "{\"a\": 1}", "{\"a\": \"1s\"}", NULL},
	{"m", "{\"a\": 1, \"a\": 2}", NULL, "not allowed"},
	{"s", "{\"matchLabels\": {\"x\": \"y\"}}", "{\"matchLabels\": {\"x\": \"y\"}}", NULL},
	{"s", "[]", NULL, "not allowed"},
	{"s", "null", NULL, "not allowed"},
};

/* In this order, after the ones above and a reset. */
static const struct {
	const char *set, *rule, *input, *want; /* a part of the error after "!" */
} seen[] = {
	{NULL, "l", "null", "{\"n\": 2, \"list\": [1, 2]}"},
	{NULL, "held", "null", "3"},
	{"{\"i\": 4, \"l\": []}", "l", "null", "{\"n\": 0, \"list\": []}"},
	{NULL, "held", "null", "4"},
	{NULL, "m", "null", "[\"a=5\", \"b=60\", \"x.y/z=1.5\"]"},
	{NULL, "s", "{\"a\": \"b\"}", "true"},
	{NULL, "s", "{\"a\": \"c\"}", "false"},
	{"{\"s\": {}}", "s", "{}", "true"},
	{NULL, "unset", "null", "true"},
	{"{\"u\": [\"a\"]}", "unset", "null", "false"},
	{NULL, "frozen", "null", "[true, false]"},
	{NULL, "write", "\"u\"", "!read-only"},
	{NULL, "write", "\"m\"", "!read-only"},
	{NULL, "insert", "\"u\"", "!read-only"},
};

static const struct {
	const char *param, *want;
} bad[] = {
	{"{ type = 'list', doc = 'd' }", "field 'params.a.of': the type of the elements is wanted"},
	{"{ type = 'list', of = 'list', doc = 'd' }", "field 'params.a.of.type': known types of elements: integer"},
	{"{ type = 'list', of = 'int', doc = 'd' }", "field 'params.a.of.type'"},
	{"{ type = 'map', of = { type = 'enum' }, doc = 'd' }", "field 'params.a.of.values': an enum needs"},
	{"{ type = 'map', of = { type = 'string', min = 1 }, doc = 'd' }", "field 'params.a.of.min': this type has no range"},
	{"{ type = 'map', of = { type = 'integer', doc = 'x' }, doc = 'd' }", "field 'params.a.of.doc': known: type, min"},
	{"{ type = 'list', of = 'integer', min = 1, doc = 'd' }", "field 'params.a.min': the range of the elements belongs into of"},
	{"{ type = 'integer', of = 'integer', doc = 'd' }", "field 'params.a.of': only a list and a map"},
	{"{ type = 'integer', max_items = 1, doc = 'd' }", "field 'params.a.max_items'"},
	{"{ type = 'list', of = 'integer', max_items = 1025, doc = 'd' }", "field 'params.a.max_items'"},
	{"{ type = 'map', of = 'integer', max_items = 65, doc = 'd' }", "field 'params.a.max_items'"},
	{"{ type = 'map', of = 'integer', max_items = 0, doc = 'd' }", "field 'params.a.max_items'"},
	{"{ type = 'list', of = 'integer', default = { 1, 'x' }, doc = 'd' }", "element [1]: parameter 'a': 'x' is not allowed"},
	{"{ type = 'list', of = 'integer', default = { a = 1 }, doc = 'd' }", "'object' is not allowed; it takes a list"},
	{"{ type = 'list', of = 'integer', default = 1, doc = 'd' }", "'number' is not allowed; it takes a list"},
	{"{ type = 'integer', default = {}, doc = 'd' }", "'table' is not allowed"},
	{"{ type = 'list', of = 'string', default = { function() end }, doc = 'd' }", "parameter 'a': function cannot become JSON"},
	{"{ type = 'list', of = 'string', default = (function() local t = {} t[1] = t return t end)(), doc = 'd' }", "32 levels"},
	{"{ type = 'list', of = 'string', default = (function() local t, s = {}, ('x'):rep(60000) for i = 1, 1000 do t[i] = s end return t end)(), doc = 'd' }", "so much text"},
	{"{ type = 'list', of = 'integer', default = (function() local t = {} for i = 1, 9999 do t[i] = i end return t end)(), doc = 'd' }", "so many values"},
	{"{ type = 'selector', default = { matchLabels = { a = 1 } }, doc = 'd' }", "parameter 'a': matchLabels: label 'a': Invalid value: a text is wanted"},
	{"{ type = 'selector', values = {}, doc = 'd' }", "only an enum has values"},
};
/* clang-format on */

static struct neap_policy *load(const char *policy_text)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;

	if (neap_policy_load(policy_text, strlen(policy_text), "p.lua", &policy, &err) <
	    0)
		fail_msg("%s", err.msg);
	return policy;
}

static void check_in_force(struct neap_policy *policy, const char *want, const char *what)
{
	json_t *params = neap_policy_params(policy), *part = json_loads(want, 0, NULL);
	const char *name;
	json_t *value;

	assert_non_null(params);
	assert_non_null(part);
	json_object_foreach (part, name, value)
		if (!json_equal(json_object_get(params, name), value))
			fail_msg("%s: in force: %s", what, json_dumps(params, 0));
	json_decref(params);
	json_decref(part);
}

static void test_rows(void **state)
{
	struct neap_policy *policy = load(text);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		const char *what = rows[i].set ? rows[i].set : "reset";
		json_t *set = rows[i].set ? json_loads(rows[i].set, JSON_ALLOW_NUL, NULL)
					  : NULL;
		struct neap_error err = {0};
		int rc = rows[i].set ? neap_policy_set_params(policy, set, &err)
				     : neap_policy_reset_params(policy, &err);

		if (!rows[i].error != (rc == 0) ||
		    (rc < 0 && (!strstr(err.msg, rows[i].error) ||
				strcmp(err.field, rows[i].field) != 0)))
			fail_msg("%s: rc %d [%s] %s", what, rc, err.field, err.msg);
		check_in_force(policy, rows[i].in_force, what);
		json_decref(set);
	}
	for (size_t i = 0; i < NEAP_ARRAY_LEN(texts); i++) {
		struct neap_error err = {0};
		char want[200];
		int rc =
			neap_policy_set_param(policy, texts[i].name, texts[i].text, &err);

		if (!texts[i].error != (rc == 0) ||
		    (rc < 0 && !strstr(err.msg, texts[i].error)))
			fail_msg("%s=%s: rc %d %s", texts[i].name, texts[i].text, rc,
				 err.msg);
		snprintf(want, sizeof(want), "{\"%s\": %s}", texts[i].name,
			 texts[i].in_force);
		if (rc == 0)
			check_in_force(policy, want, texts[i].text);
	}
	neap_policy_free(policy);
}

static void test_seen(void **state)
{
	struct neap_policy *policy = load(text), *again = NULL;
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(seen); i++) {
		json_t *set = seen[i].set ? json_loads(seen[i].set, 0, NULL) : NULL;
		json_t *input = json_loads(seen[i].input, JSON_DECODE_ANY, NULL);
		json_t *got = NULL, *want = NULL;
		int rc;

		if (set && neap_policy_set_params(policy, set, &err) < 0)
			fail_msg("%s: %s", seen[i].set, err.msg);
		rc = neap_policy_call_rule(policy, seen[i].rule, input, &got, &err);
		if (seen[i].want[0] != '!')
			want = json_loads(seen[i].want, JSON_DECODE_ANY, NULL);
		if (want ? rc < 0 || !json_equal(got, want)
			 : rc >= 0 || !strstr(err.msg, seen[i].want + 1))
			fail_msg("row %zu %s: %d %s", i, seen[i].rule, rc,
				 rc < 0 ? err.msg : json_dumps(got, JSON_ENCODE_ANY));
		json_decref(set);
		json_decref(input);
		json_decref(got);
		json_decref(want);
	}
	assert_int_equal(neap_policy_load_again(policy, &again, &err), 0);
	neap_policy_free(policy);
	check_in_force(again, "{\"i\": 4, \"l\": [], \"u\": [\"a\"], \"s\": {}}",
		       "loaded again");
	neap_policy_free(again);
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_policy *policy = NULL;
		struct neap_error err;
		char policy_text[1024];

		snprintf(policy_text, sizeof(policy_text), POLICY("a = %s") REST "}",
			 bad[i].param);
		if (neap_policy_load(policy_text, strlen(policy_text), "p.lua", &policy,
				     &err) >= 0 ||
		    !strstr(err.msg, bad[i].want))
			fail_msg("%s: %s", bad[i].param, policy ? "loaded" : err.msg);
	}
}

static void test_schema(void **state)
{
	struct neap_policy *policy = load(text);
	json_t *schema = neap_policy_schema(policy);
	json_t *want = json_loads(
		"{\"l\": {\"type\": \"list\", \"doc\": \"d\", \"of\": {\"type\": \"percent\","
		" \"min\": 0, \"max\": 50}, \"max_items\": 3, \"default\": [1, 2]},"
		"\"e\": {\"type\": \"map\", \"doc\": \"d\", \"of\": {\"type\": \"enum\","
		" \"values\": [\"u\", \"v\"]}, \"max_items\": 2, \"default\": {}},"
		"\"s\": {\"type\": \"selector\", \"doc\": \"d\","
		" \"default\": {\"matchLabels\": {\"a\": \"b\"}}}}",
		0, NULL);
	const char *name;
	json_t *row;

	(void)state;
	json_object_foreach (want, name, row)
		if (!json_equal(json_object_get(schema, name), row))
			fail_msg("%s: %s", name,
				 json_dumps(json_object_get(schema, name), 0));
	json_decref(schema);
	json_decref(want);
	neap_policy_free(policy);
}

/* A row has its own parameters over the defaults, whatever was set; afterwards that is
 * back. */
static void test_examples(void **state)
{
	struct neap_policy *policy = load(POLICY(
		"l = { type = 'list', of = 'integer', default = { 1 }, doc = 'd' }") " },"
										     "tick = function(ctx) if #ctx.params.l == 1 then return {} end return ctx.hold end,"
										     "examples = { { name = 'as it is', want = {} },"
										     "{ name = 'own', params = { l = { 1, 2 } }, want = 'hold' } } }");
	struct neap_error err;
	json_t *set = json_pack("{s:[i,i,i]}", "l", 1, 2, 3);

	(void)state;
	assert_int_equal(neap_policy_set_params(policy, set, &err), 0);
	assert_int_equal(neap_policy_run_examples(policy, NULL, NULL, &err), 0);
	check_in_force(policy, "{\"l\": [1, 2, 3]}", "after examples");
	json_decref(set);
	neap_policy_free(policy);
}

/* Every allocation of C may fail: then nothing has changed, in C and for the script. */
static void test_torture(void **state)
{
	struct neap_policy *policy = load(text);
	json_t *set = json_loads("{\"i\": 9, \"l\": [7, 8], \"m\": {\"c\": 1},"
				 "\"s\": {\"matchLabels\": {\"z\": \"y\"}}}",
				 0, NULL);
	json_t *none = json_null(), *got;
	struct neap_error err;
	int rc = -1;

	(void)state;
	for (uint64_t n = 1; rc < 0; n++) {
		neap_mem_fail_at(n);
		rc = neap_policy_set_params(policy, set, &err);
		neap_mem_fail_at(0);
		check_in_force(policy,
			       rc < 0 ? "{\"i\": 3, \"l\": [1, 2]}" : "{\"i\": 9}",
			       "torture");
		assert_int_equal(neap_policy_call_rule(policy, "i", none, &got, &err), 0);
		assert_int_equal(json_integer_value(got), rc < 0 ? 3 : 9);
		json_decref(got);
		assert_true(n < 1000);
	}
	json_decref(set);
	neap_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),     cmocka_unit_test(test_seen),
		cmocka_unit_test(test_bad),      cmocka_unit_test(test_schema),
		cmocka_unit_test(test_examples), cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests_name("param_json", tests, NULL, NULL);
}
