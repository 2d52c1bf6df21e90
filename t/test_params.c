/* SPDX-License-Identifier: Apache-2.0
 *
 * Parameters: every type from text, what is refused, and what scripts, JSON and the
 * schema show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/base.h"
#include "lua/call/policy.h"
#include "t/lib/patience.h"
#include "t/lib/policy_rule.h"

static const char text[] =
	"return { api = 1, kind = \"qos\", name = \"x\", params = {\n"
	"i = { type = \"integer\", min = -5, default = 3, doc = \"d\" },\n"
	"n = { type = \"number\", min = 0, max = 1, default = 0.5, doc = \"d\" },\n"
	"b = { type = \"boolean\", default = true, doc = \"d\" },\n"
	"s = { type = \"string\", default = \"abc\", doc = \"d\" },\n"
	"e = { type = \"enum\", values = { \"x\", \"y\" }, default = \"x\", doc = \"d\" },\n"
	"p = { type = \"percent\", min = 1, doc = \"d\" },\n"
	"q = { type = \"quantity\", default = \"4Gi\", doc = \"d\" },\n"
	"m = { type = \"quantity\", unit = \"milli\", default = 250, max = \"2\", doc = \"d\" },\n"
	"d = { type = \"duration\", default = 10, min = \"1s\", doc = \"d\" },\n"
	"t = { type = \"time\", default = \"22:00\", doc = \"d\" },\n"
	"z = { type = \"zone\", default = \"UTC\", doc = \"d\" } },\n"
	"tick = function() return {} end,\n"
	"rules = { get = function(ctx, name) return { ctx.params[name] } end,\n"
	"set = function(ctx) ctx.params.i = 1 end,\n"
	"all = function(ctx) local n = 0 for _ in pairs(ctx.params) do n = n + 1 end return n end } }";

/* In this order: a row sees what the ones before it have set. */
static const struct {
	const char *name, *value; /* NULL: only look */
	const char *json, *lua;   /* in force; lua is what ctx.params shows, in a list */
	const char *error;
} rows[] = {
	{"i", NULL, "3", "[3]", NULL},
	{"i", "-5", "-5", "[-5]", NULL},
	{"i", "-6", "-5", "[-5]",
	 "parameter 'i': '-6' is not allowed; it takes a whole number, at least -5"},
	{"i", "1x", "-5", "[-5]", "not allowed"},
	{"i", "", "-5", "[-5]", "not allowed"},
	{"n", "1", "1.0", "[1]", NULL},
	{"n", "1.01", "1.0", "[1]", "it takes a number from 0 to 1"},
	{"n", "nan", "1.0", "[1]", "not allowed"},
	{"n", "inf", "1.0", "[1]", "not allowed"},
	{"b", "false", "false", "[false]", NULL},
	{"b", "0", "false", "[false]", "it takes true or false"},
	{"s", "", "\"\"", "[\"\"]", NULL},
	{"s", "de f", "\"de f\"", "[\"de f\"]", NULL},
	{"s", "a\xc3", "\"de f\"", "[\"de f\"]", "less than 128 bytes (UTF-8)"},
	{"e", "y", "\"y\"", "[\"y\"]", NULL},
	{"e", "z", "\"y\"", "[\"y\"]", "it takes one of x, y"},
	{"p", NULL, "null", "[]", NULL},
	{"p", "65%", "65", "[65]", NULL},
	{"p", "0", "65", "[65]", "a whole percentage from 1 to 100"},
	{"p", "101", "65", "[65]", "not allowed"},
	{"p", "", "null", "[]", NULL},
	{"q", NULL, "\"4Gi\"", "[4294967296]", NULL},
	{"q", "1Ki", "\"1Ki\"", "[1024]", NULL},
	{"m", NULL, "\"250m\"", "[250]", NULL},
	{"m", "1.5", "\"1500m\"", "[1500]", NULL},
	{"m", "3", "\"1500m\"", "[1500]", "at most 2"},
	{"d", NULL, "\"10s\"", "[10]", NULL},
	{"d", "1500ms", "\"1s500ms\"", "[1.5]", NULL},
	{"d", "500ms", "\"1s500ms\"", "[1.5]", "at least 1s"},
	{"t", NULL, "\"22:00\"", "[\"22:00\"]", NULL},
	{"t", "24:00", "\"24:00\"", "[\"24:00\"]", NULL},
	{"t", "6:30:15", "\"6:30:15\"", "[\"6:30:15\"]", NULL},
	{"t", "25:00", "\"6:30:15\"", "[\"6:30:15\"]",
	 "parameter 't': '25:00' is not allowed; it takes a time of day from 00:00 to "
	 "23:59:59, or 24:00"},
	{"t", "24:01", "\"6:30:15\"", "[\"6:30:15\"]", "not allowed"},
	{"t", "", "\"6:30:15\"", "[\"6:30:15\"]", "not allowed"},
	{"z", NULL, "\"UTC\"", "[\"UTC\"]", NULL},
	{"z", "No/Where", "\"UTC\"", "[\"UTC\"]", "it takes a time zone such as"},
	{"z", "../passwd", "\"UTC\"", "[\"UTC\"]", "not allowed"},
	{"zz", "1", NULL, NULL,
	 "there is no parameter 'zz'; known: b, d, e, i, m, n, p, q, s, t, z"},
};

static struct neap_policy *load(void)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;

	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static void check_row(struct neap_policy *policy, size_t i)
{
	json_t *params = neap_policy_params(policy), *name = json_string(rows[i].name),
	       *shown = NULL;
	json_t *want = json_loads(rows[i].json, JSON_DECODE_ANY, NULL);
	json_t *want_lua = json_loads(rows[i].lua, 0, NULL);
	struct neap_error err;

	if (!json_equal(json_object_get(params, rows[i].name), want))
		fail_msg("row %zu %s: in force: %s", i, rows[i].name,
			 json_dumps(params, 0));
	assert_int_equal(neap_policy_call_rule(policy, "get", name, &shown, &err), 0);
	if (!json_equal(shown, want_lua))
		fail_msg("row %zu %s: shown: %s", i, rows[i].name, json_dumps(shown, 0));
	json_decref(params);
	json_decref(name);
	json_decref(shown);
	json_decref(want);
	json_decref(want_lua);
}

static void test_rows(void **state)
{
	struct neap_policy *policy = load();
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int rc = 0;

		if (rows[i].value)
			rc = neap_policy_set_param(policy, rows[i].name, rows[i].value,
						   &err);
		if (!rows[i].error != (rc == 0) ||
		    (rc < 0 && !strstr(err.msg, rows[i].error)))
			fail_msg("row %zu %s: rc %d %s", i, rows[i].name, rc,
				 rc ? err.msg : "");
		if (rows[i].json)
			check_row(policy, i);
	}
	neap_policy_free(policy);
}

static void test_read_only(void **state)
{
	struct neap_policy *policy = load();
	struct neap_error err;
	json_t *name = json_string("nosuch"), *ret = NULL;

	(void)state;
	assert_int_equal(neap_policy_call_rule(policy, "get", name, &ret, &err),
			 -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "there is no parameter 'nosuch'"));
	assert_int_equal(neap_policy_call_rule(policy, "set", name, &ret, &err),
			 -NEAP_EINVAL);
	assert_non_null(strstr(err.msg, "read-only"));
	assert_int_equal(neap_policy_call_rule(policy, "all", name, &ret, &err), 0);
	assert_int_equal(json_integer_value(ret), 10);
	json_decref(ret);
	json_decref(name);
	neap_policy_free(policy);
}

static void test_schema(void **state)
{
	struct neap_policy *policy = load();
	json_t *schema = neap_policy_schema(policy);
	json_t *want =
		json_loads("{\"type\": \"quantity\", \"unit\": \"milli\", \"doc\": \"d\","
			   "\"default\": \"250m\", \"max\": \"2\"}",
			   0, NULL);

	(void)state;
	assert_int_equal(json_object_size(schema), 11);
	assert_true(json_equal(json_object_get(schema, "m"), want));
	assert_int_equal(
		json_array_size(json_object_get(json_object_get(schema, "e"), "values")),
		2);
	json_decref(schema);
	json_decref(want);
	neap_policy_free(policy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_schema),
	};

	patience_with_scripts();
	return cmocka_run_group_tests_name("params", tests, NULL, NULL);
}
