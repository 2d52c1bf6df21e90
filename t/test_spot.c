/* SPDX-License-Identifier: Apache-2.0
 *
 * Where it went wrong: every way in which a script can fail is told with file, line and
 * function, wherever it is shown: in service (the log and the status), in an example, in
 * a replay, in the answer to an upload. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/policy/judge.h"
#include "lua/value/convert.h"
#include "t/lib/patience.h"

#define IN_TICK "p.lua:4: in function 'tick': "

/* The body begins in line 4. */
static const struct row {
	const char *name, *body, *want;
} rows[] = {
	{"error with a text", "error('oh no')", IN_TICK "oh no"},
	{"error at level 0", "error('oh no', 0)", IN_TICK "oh no"},
	{"error at level 2", "local function f() error('oh no', 2) end\nf()\n",
	 "p.lua:5: in function 'tick': oh no"},
	{"error of a table", "error({})", IN_TICK "non-string error, a table"},
	{"error of nothing", "error()", IN_TICK "non-string error, a nil"},
	{"error of a number", "error(42)", IN_TICK "42"},
	{"assert", "assert(false)", IN_TICK "assertion failed!"},
	{"assert with a text", "assert(nil, 'it is not so')", IN_TICK "it is not so"},
	{"index of nil", "local x; return x.y",
	 IN_TICK "attempt to index a nil value (local 'x')"},
	{"arithmetic", "return 1 + {}",
	 IN_TICK "attempt to perform arithmetic on a table value"},
	{"call of nil", "local x = {}; x.f()",
	 IN_TICK "attempt to call a nil value (field 'f')"},
	{"format of a fraction", "return string.format('%d', 1.5)",
	 IN_TICK "bad argument #2 to 'format' (number has no integer representation)"},
	{"format as a method", "local s = ('%d'):format('x') return s",
	 IN_TICK "bad argument #2 to 'format' (number expected, got string)"},
	{"ipairs of nil", "for _ in ipairs(nil) do end", IN_TICK},
	{"pairs of nil", "for _ in pairs(nil) do end", IN_TICK},
	{"sort of what has no order", "table.sort({ 1, {}, 2 })",
	 IN_TICK "attempt to compare"},
	{"sort with a function",
	 "table.sort({ 1, 2 }, function(a, b)\nreturn a.x < b.x end)",
	 "p.lua:5: in the function of line 4: attempt to index a number value (local 'a')"},
	{"a function of its own", "local function half(x)\nreturn x / {} end\nhalf(1)\n",
	 "p.lua:5: in function 'half': attempt to perform arithmetic"},
	{"a tail call", "local function half(x)\nreturn x / {} end\nreturn half(1)\n",
	 "p.lua:5: in the function of line 4: attempt to perform arithmetic"},
	{"a metamethod",
	 "local t = setmetatable({}, { __add = function()\nerror('no sum') end })\n"
	 "local _ = t + 1",
	 "p.lua:5: in metamethod 'add': no sum"},
	{"raised again", "local ok, e = pcall(string.rep)\nerror(e, 0)",
	 "p.lua:5: in function 'tick': bad argument #1 to"},
	{"raised again with its place",
	 "local ok, e = pcall(function() error('x') end)\nerror(e, 0)",
	 "p.lua:5: in function 'tick': p.lua:4: x"},
	{"in a pattern", "return ('x'):find('[')", IN_TICK "malformed pattern"},
	{"in a field of the sample", "return node.used_milli",
	 IN_TICK "node.used_milli is not declared"},
	{"in ctx", "ctx.log(5 .. {})", IN_TICK "attempt to concatenate"},
	{"a cpu set", "return ctx.cpuset({})", IN_TICK "bad argument #1 to 'cpuset'"},
	{"a global", "x = 1", IN_TICK "global 'x' is not allowed"},
	{"memory",
	 "local t, s = {}, ('x'):rep(1000) for i = 1, 1e9 do t[i] = s:rep(60) end",
	 IN_TICK "the memory limit of 4096 KiB is reached"},
	{"memory of a long text", "local s = 'x' while true do s = s .. s end",
	 IN_TICK "the memory limit of one text"},
	/* Memory or, where a sanitizer slows it down, time. */
	{"recursion without end", "local function f() return 1 + f() end f()",
	 "p.lua:4: in function 'f': "},
	{"time", "while true do end", IN_TICK "stopped: its CPU budget"},
	{"time in a function of C", "while true do pcall(string.rep, 'x', 9) end",
	 IN_TICK "stopped: its CPU budget"},
	{"time in a function", "local function f() while true do end end\nf()",
	 "p.lua:4: in function 'f': stopped: its CPU budget"},
	/* What it returns is read when it has ended: the function's own line. */
	{"a wrong result", "return 5",
	 "p.lua:3: in function 'tick': tick returned: a list"},
	{"a wrong write", "return { 5 }",
	 "p.lua:3: in function 'tick': tick returned: write 1: a table"},
	{"a memo that keeps too much", "ctx.memo.f = tick or ctx return {}",
	 "p.lua:4: in function 'tick': there is no 'tick' here"},
	{"a memo that cannot be kept", "ctx.memo.f = ctx.log return {}",
	 "p.lua:3: in function 'tick': ctx.memo holds a function"},
};

static const char text_of[] =
	"return { api = 1, kind = 'qos', name = 'p',\n"
	"needs = { 'capacity_milli' },\ntick = function(ctx, node)\n%s\nend,\n%s}\n";
static const char example[] =
	"examples = { { name = 'e', node = { capacity_milli = 1 }, want = {} } }";

static struct neap_policy *load(const char *text)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;

	if (neap_policy_load(text, strlen(text), "p.lua", &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static void expect(const struct row *row, const char *place, const char *got)
{
	if (!got || strncmp(got, row->want, strlen(row->want)) != 0)
		fail_msg("%s, %s: \"%s\"", row->name, place, got ? got : "nothing");
}

static void make_sample(struct neap_sample *sample)
{
	neap_struct_clear(neap_sample_fields, sample);
	sample->capacity_milli = 1000;
}

static void in_service(const struct row *row, const char *text)
{
	struct neap_policy *policy = load(text);
	struct neap_sample sample = {0};
	struct neap_policy_wish *wishes = NULL;
	struct neap_error err = {0};
	size_t count = 0;

	make_sample(&sample);
	assert_in_range(neap_policy_tick(policy, &sample, &wishes, &count, &err),
			NEAP_TICK_SKIPPED + 1, NEAP_TICK_WRONG);
	expect(row, "in service", err.msg);
	neap_struct_done(neap_sample_fields, &sample);
	neap_policy_free(policy);
}

static void in_example(const struct row *row, const char *text)
{
	struct neap_policy *policy = load(text);
	struct neap_error err = {0};
	const char *at;

	assert_int_equal(neap_policy_run_examples(policy, NULL, NULL, &err), 1);
	at = strstr(err.msg, "example 'e': ");
	expect(row, "in an example", at ? at + strlen("example 'e': ") : err.msg);
	neap_policy_free(policy);
}

/* The line is told apart from the words. */
static void at_upload(const struct row *row, const char *text, struct neap_tape *tape)
{
	const struct neap_inputs inputs = {tape};
	const struct neap_judge_input input = {
		.newer = {.text = text, .len = strlen(text), .origin = "p.lua"},
		.inputs = tape ? &inputs : NULL};
	struct neap_judgement verdict;
	struct neap_error err = {0};
	char told[400];

	assert_true(neap_judge(&input, &verdict, &err) < 0);
	(void)snprintf(told, sizeof(told), "p.lua:%d: %s", verdict.problems[0].line,
		       verdict.problems[0].what);
	expect(row, tape ? "in a replay" : "at an upload", told);
	neap_judgement_done(&verdict);
}

static void test_rows(void **state)
{
	struct neap_record *record = neap_record_new(0, 0);
	struct neap_tape *tape;

	(void)state;
	for (int i = 0; i < 5; i++) {
		struct neap_sample sample = {0};

		make_sample(&sample);
		neap_record_add(record, &sample);
		neap_struct_done(neap_sample_fields, &sample);
	}
	tape = neap_record_share(record);
	assert_non_null(tape);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char with[1000], without[1000];

		(void)snprintf(with, sizeof(with), text_of, rows[i].body, example);
		(void)snprintf(without, sizeof(without), text_of, rows[i].body, "");
		in_service(&rows[i], without);
		in_example(&rows[i], with);
		at_upload(&rows[i], with, NULL);
		at_upload(&rows[i], without, tape);
	}
	neap_tape_unref(tape);
	neap_record_free(record);
}

/* The functions of the other kinds, in examples. */
static const struct row kinds[] = {
	{"plan",
	 "return { api = 1, kind = 'score', name = 'p',\nplan = function(ctx, pod)\n"
	 "return string.format('%d', 1.5) end,\nexamples = { { name = 'e', nodes = { a = {} }, "
	 "want = {} } } }",
	 "p.lua:3: in function 'plan': bad argument #2 to 'format'"},
	{"a wrong plan",
	 "return { api = 1, kind = 'score', name = 'p',\nplan = function(ctx, pod)\n"
	 "return { 5 } end,\nexamples = { { name = 'e', nodes = { a = {} }, want = {} } } }",
	 "p.lua:2: in function 'plan': plan returned: [1]: term"},
	{"allow",
	 "return { api = 1, kind = 'filter', name = 'p',\nallow = function(ctx, pod, node)\n"
	 "error({}) end,\nexamples = { { name = 'e', nodes = { a = {} }, want = { a = true } } } }",
	 "p.lua:3: in function 'allow': non-string error"},
	{"a wrong answer",
	 "return { api = 1, kind = 'filter', name = 'p',\nallow = function(ctx, pod, node)\n"
	 "return 5 end,\nexamples = { { name = 'e', nodes = { a = {} }, want = { a = true } } } }",
	 "p.lua:2: in function 'allow': allow returned a number"},
	{"match",
	 "return { api = 1, kind = 'reservation', name = 'p',\nmatch = function(ctx, pod, r)\n"
	 "for _ in ipairs(nil) do end end,\nexamples = { { name = 'e', want = true } } }",
	 "p.lua:3: in function 'match': "},
	{"a wrong match",
	 "return { api = 1, kind = 'reservation', name = 'p',\nmatch = function(ctx, pod, r)\n"
	 "return 5 end,\nexamples = { { name = 'e', want = true } } }",
	 "p.lua:2: in function 'match': match returned a number"},
};

static void test_kinds(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kinds); i++)
		in_example(&kinds[i], kinds[i].body);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_kinds),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
