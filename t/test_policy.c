/* SPDX-License-Identifier: Apache-2.0
 *
 * Loading policies: what is refused and how it is said, what is known of a loaded one,
 * rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "lua/call/policy.h"
#include "t/lib/policy_rule.h"

/* A whole policy but for the part in the middle. */
#define POLICY(part) "return { api = 1, kind = \"qos\", name = \"x\",\n" part "\n}"
#define TICK         "tick = function(ctx, node) return {} end,"

/* clang-format off */
static const struct {
	const char *name, *text, *want;
} bad[] = {
	{"syntax", "return {", "p.lua:1:"},
	{"raises", "local x = 1\nerror(\"no\")", "p.lua:2: no"},
	{"no table", "return 5", "p.lua: a policy returns one table, this returns a number"},
	{"nothing", "", "the text is empty; a policy is a Lua file"},
	{"no api", "return { kind = \"qos\" }", "p.lua: field 'api': api = 1"},
	{"new api", "return {\n  api = 2 }", "p.lua:2: field 'api': this neap knows api = 1 only"},
	{"a kind with a NUL", "return { api = 1, kind = 'qos\\0' }", "field 'kind': there is no such kind"},
	{"a field with a NUL", POLICY("['doc\\0'] = 'x', " TICK), "field '?': a policy of kind qos has no such field"},
	{"a doc with a NUL", POLICY("doc = '\\0x', " TICK), "field 'doc': a text is wanted"},
	{"a need with a NUL", POLICY("needs = { 'cpus\\0' }, " TICK), "a name such as"},
	{"param type with a NUL", POLICY("params = { a = { type = 'integer\\0', default = 1, doc = 'x' } }, " TICK), "field 'params.a.type'"},
	{"no kind", "return { api = 1 }", "field 'kind': there is no such kind; known: qos, score, filter, reservation, deschedule, evict"},
	{"wrong kind", "return { api = 1,\n kind = \"cpu\" }", "p.lua:2: field 'kind'"},
	{"no name", "return { api = 1, kind = \"qos\", " TICK " }", "field 'name': 1 to 47 of"},
	{"bad name", "return { api = 1, kind = \"qos\", name = \"A b\" }", "field 'name'"},
	{"unknown field", POLICY("were = {}, " TICK), "p.lua:2: field 'were': a policy of kind qos has no such field; known: api, kind, name, doc, params, needs, examples, rules, valid, triggers, where, tick"},
	{"where text", POLICY("where = \"pool\", " TICK), "p.lua:2: field 'where': a table such as"},
	{"where field", POLICY("where = { matchLabels = {} }, " TICK), "p.lua:2: field 'where.matchLabels': there is no such field; known: nodeSelector"},
	{"where list", POLICY("where = { {} }, " TICK), "field 'where.?'"},
	{"where selector", POLICY("where = { nodeSelector = 5 }, " TICK), "field 'where.nodeSelector': a table of labels is wanted, this is a number"},
	{"where label", POLICY("where = { nodeSelector = { pool = 5 } }, " TICK), "p.lua:2: field 'where.nodeSelector.pool': label 'pool': Invalid value: a text is wanted"},
	{"where key", POLICY("where = { nodeSelector = { [\"a b\"] = \"c\" } }, " TICK), "field 'where.nodeSelector.a b': Invalid value: \"a b\": name part must"},
	{"where value", POLICY("where = { nodeSelector = { a = \"c d\" } }, " TICK), "field 'where.nodeSelector.a': Invalid value: \"c d\": a valid label"},
	{"number as field", POLICY("7, " TICK), "field '?'"},
	{"no tick", POLICY(""), "field 'tick': kind qos needs this function, this is a nil"},
	{"tick is text", POLICY("tick = \"x\""), "p.lua:2: field 'tick'"},
	{"doc", POLICY("doc = 1, " TICK), "field 'doc': a text is wanted"},
	{"needs text", POLICY("needs = \"x\", " TICK), "field 'needs': a list"},
	{"needs unknown", POLICY("needs = { \"capacity_milli\", \"foo\" }, " TICK), "p.lua:2: field 'needs[2]': there is no field 'foo' in a node sample; "},
	{"needs misspelt", POLICY("needs = { \"capacity_mili\" }, " TICK), "did you mean 'capacity_milli'? known: "},
	{"needs misspelt below", POLICY("needs = { \"besteffort.cpu\" }, " TICK), "did you mean 'cpus'? known: exists"},
	{"needs of a list", POLICY("needs = { \"workloads.user_cores\" }, " TICK), "did you mean 'used_cores'? known: id"},
	{"needs below a number", POLICY("needs = { \"used_cores.x\" }, " TICK), "there is no field 'used_cores.x'"},
	{"needs too deep", POLICY("needs = { \"besteffort.cpus.x\" }, " TICK), "there is no field 'besteffort.cpus.x'"},
	{"needs twice", POLICY("needs = { \"besteffort\", \"besteffort.cpus\" }, " TICK), "'besteffort.cpus' is there twice"},
	{"needs empty", POLICY("needs = { \"?\" }, " TICK), "there is no field ''"},
	{"needs number", POLICY("needs = { 1 }, " TICK), "field 'needs[1]': a name such as"},
	{"rules", POLICY("rules = { 1 }, " TICK), "field 'rules'"},
	{"examples empty", POLICY("examples = {}, " TICK), "field 'examples'"},
	{"example text", POLICY("examples = { \"x\" }, " TICK), "every example is a table"},
	{"params text", POLICY("params = 5, " TICK), "field 'params': a table"},
	{"param text", POLICY("params = { a = 5 }, " TICK), "field 'params.a': a parameter is a table"},
	{"param name", POLICY("params = { [\"a-b\"] = {} }, " TICK), "a name has 1 to 47 letters"},
	{"param type", POLICY("params = { a = { type = \"int\", doc = \"d\" } }, " TICK), "field 'params.a.type': known types: integer"},
	{"param no doc", POLICY("params = { a = { type = \"integer\" } }, " TICK), "field 'params.a.doc'"},
	{"param doc no UTF-8", POLICY("params = { a = { type = \"integer\", doc = \"\\xff\" } }, " TICK), "field 'params.a.doc': every parameter says in one text (UTF-8)"},
	{"param value no UTF-8", POLICY("params = { a = { type = \"enum\", values = { \"\\xff\" }, doc = \"d\" } }, " TICK), "field 'params.a.values': every value is a text of 1 to 47 bytes (UTF-8)"},
	{"param value with NUL", POLICY("params = { a = { type = \"enum\", values = { \"a\\0\" }, doc = \"d\" } }, " TICK), "field 'params.a.values': every value"},
	{"param default no UTF-8", POLICY("params = { a = { type = \"string\", doc = \"d\", default = \"\\xff\" } }, " TICK), "parameter 'a': 'string' is not allowed"},
	{"param key", POLICY("params = { a = { type = \"integer\", doc = \"d\", defalt = 1 } }, " TICK), "field 'params.a.defalt': known: type, default"},
	{"param default", POLICY("params = { a = { type = \"percent\", doc = \"d\", default = 101 } }, " TICK), "parameter 'a': '101' is not allowed; it takes a whole percentage from 0 to 100"},
	{"param range of text", POLICY("params = { a = { type = \"string\", doc = \"d\", min = 1 } }, " TICK), "field 'params.a.min': this type has no range"},
	{"param values", POLICY("params = { a = { type = \"enum\", doc = \"d\" } }, " TICK), "field 'params.a.values': an enum needs"},
	{"param unit", POLICY("params = { a = { type = \"integer\", doc = \"d\", unit = \"milli\" } }, " TICK), "only a quantity has a unit"},
	{"global read", "return { name = foo }", "p.lua:1: "},
	{"hidden index", "return setmetatable({}, { __index = function() while true do end end })", "field 'api'"},
	{"hidden next", "return setmetatable({ api = 1, kind = \"qos\", name = \"x\" }, { __pairs = function() while true do end end, __len = function() while true do end end })", "field 'tick'"},
	{"raises a table", "error({})", "p.lua:1: non-string error, a table"},
	{"bytecode", "\033Lua", "p.lua"},
};
/* clang-format on */

static int load(const char *text, struct neap_policy **ret, struct neap_error *err)
{
	return neap_policy_load(text, strlen(text), "p.lua", ret, err);
}

static void test_bad(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++) {
		struct neap_policy *policy = NULL;
		struct neap_error err;
		int rc = load(bad[i].text, &policy, &err);

		if (rc >= 0 || policy)
			fail_msg("%s: was loaded", bad[i].name);
		if (!strstr(err.msg, bad[i].want) || strncmp(err.msg, "p.lua", 5) != 0)
			fail_msg("%s: got \"%s\", want \"%s\"", bad[i].name, err.msg,
				 bad[i].want);
	}
}

static void test_limits(void **state)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;

	(void)state;
	assert_int_equal(load("while true do end", &policy, &err), -NEAP_EBUDGET);
	assert_non_null(strstr(err.msg, "p.lua"));
	assert_int_equal(
		load("local t = {} for i = 1, 1e7 do t[i] = i end", &policy, &err),
		-NEAP_ELIMIT);
	assert_int_equal(neap_policy_load("return\0{}", 9, "p.lua", &policy, &err),
			 -NEAP_EINVAL);
	assert_int_equal(neap_policy_load_file("t/no-such-file.lua", &policy, &err),
			 -NEAP_ESYS);
	assert_int_equal(neap_policy_load_file("/", &policy, &err), -NEAP_EINVAL);
	assert_null(policy);
}

static void test_info(void **state)
{
	struct neap_policy *policy;
	struct neap_policy_info info;
	struct neap_error err;

	(void)state;
	assert_int_equal(load(POLICY("doc = \"what\", " TICK), &policy, &err), 0);
	neap_policy_get_info(policy, &info);
	assert_string_equal(info.kind, "qos");
	assert_string_equal(info.name, "x");
	assert_string_equal(info.origin, "p.lua");
	assert_string_equal(info.doc, "what");
	assert_int_equal(info.api, 1);
	assert_int_equal(strlen(info.version), 8);
	assert_int_equal(strncmp(info.label, "qos/x@", 6), 0);
	assert_string_equal(info.label + 6, info.version);
	neap_policy_free(policy);
}

static const struct {
	const char *where, *labels;
	bool want;
} places[] = {
	{"", "{\"a\": \"b\"}", true},
	{"", NULL, true},
	{"where = {},", NULL, true},
	{"where = { nodeSelector = {} },", NULL, true},
	{"where = { nodeSelector = { pool = \"batch\" } },",
	 "{\"pool\": \"batch\", \"x\": \"\"}", true},
	{"where = { nodeSelector = { pool = \"batch\" } },", "{\"pool\": \"web\"}",
	 false},
	{"where = { nodeSelector = { pool = \"batch\" } },", "{}", false},
	{"where = { nodeSelector = { pool = \"batch\" } },", NULL, false},
	{"where = { nodeSelector = { a = \"b\", [\"x.y/z\"] = \"\" } },",
	 "{\"a\": \"b\", \"x.y/z\": \"\"}", true},
};

static void test_where(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(places); i++) {
		json_t *labels =
			places[i].labels ? json_loads(places[i].labels, 0, NULL) : NULL;
		struct neap_policy *policy = NULL;
		struct neap_error err;
		char text[400];

		snprintf(text, sizeof(text), POLICY("%s " TICK), places[i].where);
		if (load(text, &policy, &err) < 0)
			fail_msg("%s: %s", places[i].where, err.msg);
		if (neap_policy_is_for(policy, labels) != places[i].want)
			fail_msg("%s for %s", places[i].where, places[i].labels);
		neap_policy_free(policy);
		json_decref(labels);
	}
}

#define RULES                                                                                                            \
	"rules = { same = function(ctx, i) return i end,\n"                                                              \
	"cpus = function(ctx, i) return { all = i.processors:cpus(), n = #ctx.cpuset(i.list) } end,\n"                   \
	"loop = function() local t = {} t[1] = t return t end,\n"                                                        \
	"mixed = function() return { 1, x = 2 } end, nul = function() return { ['a\\0b'] = 2 } end,"                     \
	"text = function() return { 'a\\0b' } end,\n"                                                                    \
	"fn = function() return print end,\n"                                                                            \
	"nan = function() return 0/0 end, spin = function() while true do end end,\n"                                    \
	"none = function() end, what = function(ctx, i) return #i.list, 5 end,\n"                                        \
	"quantity = function(ctx, i) local n, m = ctx.quantity.milli(i) return { n, m ~= nil } end,\n"                   \
	"select = function(ctx, i) local s, m = ctx.selector(i[1]) if s then return s:matches(i[2]) end return m end,\n" \
	"set = function(ctx) ctx.now_unix = 5 end },"

/* clang-format off */
static const struct {
	const char *rule, *input, *want; /* JSON, or a part of the error after "!" */
} calls[] = {
	{"same", "{\"a\": [1, 2.5, \"x\", true], \"b\": {\"c\": []}, \"n\": null}", "{\"a\": [1, 2.5, \"x\", true], \"b\": {\"c\": []}}"},
	{"same", "[3.0]", "[3]"},
	{"cpus", "{\"processors\": [[0,0,0,0],[1,0,0,0],[5,1,0,0]], \"list\": \"0-3\"}", "{\"all\": \"0-1,5\", \"n\": 4}"},
	{"cpus", "{\"processors\": [], \"list\": \"\"}", "{\"all\": \"\", \"n\": 0}"},
	{"cpus", "{\"processors\": [[0,0,0]]}", "!a topology is a list"},
	{"cpus", "{\"processors\": [[0,0,0,0],[0,0,0,0]]}", "!"},
	{"none", "{}", "null"},
	{"what", "{\"list\": [1,2]}", "2"},
	{"quantity", "\"1500m\"", "[1500, false]"},
	{"quantity", "\"x\"", "[null, true]"},
	{"select", "[{}, {}]", "true"},
	{"select", "[{}, null]", "true"},
	{"select", "[{\"matchLabels\": {\"a\": \"b\"}}, null]", "false"},
	{"select", "[{\"matchLabels\": {\"a\": \"b\"}}, {\"a\": \"b\"}]", "true"},
	{"select", "[{\"matchLabels\": {\"a\": \"b\"}, \"matchExpressions\": []}, {\"a\": \"c\"}]", "false"},
	{"select", "[{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"NotIn\", \"values\": [\"b\"]}]}, {\"a\": \"c\"}]", "true"},
	{"select", "[{\"matchExpressions\": [{\"key\": \"a\", \"operator\": \"is\"}]}, {}]", "\"matchExpressions[0].operator: Invalid value: \\\"is\\\": not a valid selector operator; known: In, NotIn, Exists, DoesNotExist\""},
	{"select", "[{\"matchlabels\": {}}, {}]", "\"matchlabels: unknown field; known: matchLabels, matchExpressions\""},
	{"select", "[{\"matchLabels\": {\"a\": \"b\"}}, {\"a\": 5}]", "!label 'a' is a number: a string is wanted"},
	{"select", "[5, {}]", "!bad argument #1 to 'selector' (table expected, got number)"},
	{"select", "[{}, 5]", "!table expected, got number"},
	{"loop", "{}", "!32 levels"},
	{"mixed", "{}", "!mixed keys"},
	{"nul", "{}", "!a key with a NUL byte"},
	{"text", "{}", "!a text with a NUL byte"},
	{"fn", "{}", "!there is no 'print'"},
	{"nan", "{}", "!endless number"},
	{"set", "{}", "!read-only"},
	{"gone", "{}", "!has no rule 'gone'"},
	{"spin", "{}", "!budget"},
};
/* clang-format on */

static void test_rules(void **state)
{
	struct neap_policy *policy;
	struct neap_error err;

	(void)state;
	assert_int_equal(load(POLICY(RULES TICK), &policy, &err), 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(calls); i++) {
		json_t *input = json_loads(calls[i].input, JSON_DECODE_ANY, NULL),
		       *got = NULL;
		int rc = neap_policy_call_rule(policy, calls[i].rule, input, &got, &err);
		json_t *want = json_loads(calls[i].want, JSON_DECODE_ANY, NULL);

		if (calls[i].want[0] == '!'
			    ? rc >= 0 || !strstr(err.msg, calls[i].want + 1)
			    : rc < 0 || !json_equal(got, want))
			fail_msg("row %zu %s: rc %d, %s", i, calls[i].rule, rc,
				 rc ? err.msg : "");
		json_decref(input);
		json_decref(want);
		json_decref(got);
	}
	neap_policy_free(policy);
}

/* One line per row: "one", or what is wrong. */
static void example_report(void *arg, const char *row, const struct neap_error *err)
{
	neap_buf_addf(arg, "%s\n", err ? err->msg : row);
}

static void test_examples_of_a_file(void **state)
{
	static const char text[] = POLICY("examples = { { name = \"one\", want = {} },\n"
					  "{ name = \"two\", want = \"hold\" } }, " TICK);
	char file[] = "/tmp/neap-test-policy-XXXXXX";
	struct neap_policy *policy = NULL;
	struct neap_error err;
	struct neap_buf out;
	int fd = mkstemp(file);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	neap_buf_init(&out, NEAP_BUF_LINE);
	assert_int_equal(neap_policy_load_file(file, &policy, &err), 0);
	assert_int_equal(neap_policy_run_examples(policy, example_report, &out, &err), 1);
	assert_int_equal(strncmp(out.data, "one\n", 4), 0);
	assert_non_null(
		strstr(out.data, ":3: example 'two': wanted hold; got a list of writes"));
	assert_true(neap_policy_load_file("/nowhere", &policy, &err) < 0);
	neap_policy_free(policy);
	neap_buf_done(&out);
	unlink(file);
}

/* Every allocation may fail: a clean error, nothing leaked (the sanitizers look). */
static void test_torture(void **state)
{
	static const char text[] = POLICY(
		"params = { p = { type = \"percent\", default = 5, doc = \"d\" },\n"
		"l = { type = \"list\", of = \"integer\", default = { 1 }, doc = \"d\" },\n"
		"s = { type = \"selector\", default = { matchLabels = { a = \"b\" } }, doc = \"d\" } },\n"
		"where = { nodeSelector = { pool = \"batch\" } },\n"
		"needs = { \"capacity_milli\", \"topology\", \"workloads\", \"besteffort.cpus\" },\n"
		"examples = { { name = \"e\", node = { capacity_milli = 1, topology = { cores = 2 },\n"
		"workloads = { { id = \"a\" } }, besteffort = { cpus = \"0\" } }, want = {} } }," TICK);
	struct neap_error err;

	(void)state;
	for (uint64_t n = 1; n < 20000; n += n < 300 ? 1 : 7) {
		struct neap_policy *policy = NULL;
		int rc;

		neap_mem_fail_at(n);
		rc = load(text, &policy, &err);
		if (rc == 0)
			rc = neap_policy_run_examples(policy, NULL, NULL, &err);
		neap_mem_fail_at(0);
		neap_policy_free(policy);
		if (rc == 0 && n > 3000)
			break;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bad),     cmocka_unit_test(test_limits),
		cmocka_unit_test(test_info),    cmocka_unit_test(test_rules),
		cmocka_unit_test(test_where),   cmocka_unit_test(test_examples_of_a_file),
		cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
