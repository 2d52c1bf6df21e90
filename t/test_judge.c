/* SPDX-License-Identifier: Apache-2.0
 *
 * The checks of an upload: what is refused, with which line and words, and what comes
 * out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/policy/judge.h"
#include "engine/base/mem.h"
#include "lua/value/convert.h"

#define HEAD "return {\n  api = 1,\n  kind = \"qos\",\n  name = \"p\",\n"
#define TICK "  tick = function(ctx, node) return {} end,\n"
#define PERCENT                                                                          \
	"  params = {\n    threshold = { type = \"percent\", min = 1, max = 100,"        \
	" default = 65, doc = \"d\" },\n    gone = { type = \"integer\", default = 1,"   \
	" doc = \"d\" },\n  },\n"

#define RESERVATION                                                                      \
	"return {\n  api = 1, kind = \"reservation\", name = \"p\",\n"                   \
	"  match = function() return true end,\n  combine = "
#define REPLACE RESERVATION "\"replace\",\n}"

struct row {
	const char *name, *text;
	size_t len; /* 0: of the text */
	const char *kind, *policy;
	const char *base, *base_value; /* one parameter of the configuration */
	const char *params;            /* JSON */
	bool is_by_editor;
	const char *replacer;
	int code, problems, line;   /* of the first */
	const char *example, *what; /* part of it */
};

static const struct row rows[] = {
	{.name = "fit", .text = HEAD TICK "}"},
	{.name = "fit under its URL",
	 .text = HEAD TICK "}",
	 .kind = "qos",
	 .policy = "p"},
	{.name = "empty",
	 .text = "",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .what = "empty"},
	{.name = "no text", .code = NEAP_EINVAL, .problems = 1, .what = "empty"},
	{.name = "NUL",
	 .text = "return {\n\0}",
	 .len = 11,
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 2,
	 .what = "NUL byte"},
	{.name = "no UTF-8",
	 .text = "-- \xc3\xa4\n-- \n-- \xe4\n",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 3,
	 .what = "byte 0xe4 is no UTF-8"},
	{.name = "UTF-8 that is cut",
	 .text = "-- \xe2\x82",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 1,
	 .what = "no UTF-8"},
	{.name = "surrogate",
	 .text = "-- \xed\xa0\x80",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 1,
	 .what = "no UTF-8"},
	{.name = "bytecode",
	 .text = "\x1bLua\x54\0\x19\x93",
	 .len = 8,
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 1,
	 .what = "compiled Lua; the source"},
	{.name = "syntax",
	 .text = "return {\n  api = = 1\n}",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 2,
	 .what = "unexpected symbol"},
	{.name = "chunk raises",
	 .text = "\n\nerror('no')",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 3,
	 .what = "no"},
	{.name = "endless chunk",
	 .text = "local x\nwhile true do x = 1 end",
	 .code = NEAP_EBUDGET,
	 .problems = 1,
	 .line = 2,
	 .what = "belongs into the function"},
	{.name = "memory bomb in the chunk",
	 .text = "local t = {}\nfor i = 1, 1e9 do t[i] = {i} end",
	 .code = NEAP_ELIMIT,
	 .problems = 1,
	 .line = 2,
	 .what = "must fit into it"},
	{.name = "no table", .text = "return 1", .code = NEAP_EINVAL, .problems = 1},
	{.name = "unknown field",
	 .text = HEAD TICK "  paramz = {},\n}",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 6,
	 .what = "known: api"},
	{.name = "kind of the URL",
	 .text = HEAD TICK "}",
	 .kind = "score",
	 .policy = "p",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 3,
	 .what = "uploaded as \"score\""},
	{.name = "name of the URL",
	 .text = HEAD TICK "}",
	 .kind = "qos",
	 .policy = "q",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 4,
	 .what = "name = \"p\", and it is uploaded as \"q\""},
	{.name = "both of the URL",
	 .text = HEAD TICK "}",
	 .kind = "a",
	 .policy = "q",
	 .code = NEAP_EINVAL,
	 .problems = 2,
	 .line = 3},
	{.name = "parameters that fit",
	 .text = HEAD PERCENT TICK "}",
	 .base = "threshold",
	 .base_value = "70",
	 .params = "{\"threshold\": 80, \"gone\": null}"},
	{.name = "a parameter out of range",
	 .text = HEAD PERCENT TICK "}",
	 .params = "{\"threshold\": 200}",
	 .code = NEAP_ECONFLICT,
	 .problems = 1,
	 .line = 6,
	 .what = "params.threshold is set to 200; this version takes a whole percentage from "
		 "1 to 100: PATCH it first, null takes the setting back"},
	{.name = "a parameter of the wrong type",
	 .text = HEAD PERCENT TICK "}",
	 .params = "{\"threshold\": \"much\"}",
	 .code = NEAP_ECONFLICT,
	 .problems = 1,
	 .line = 6,
	 .what = "params.threshold is set to \"much\"; this version takes a whole"},
	{.name = "parameters that went",
	 .text = HEAD TICK "}",
	 .base = "threshold",
	 .base_value = "70",
	 .params = "{\"gone\": 3}",
	 .code = NEAP_ECONFLICT,
	 .problems = 2,
	 .what = "parameter threshold is set to 70; this version has no such parameter: the "
		 "configuration does that"},
	{.name = "an example that fails",
	 .text = HEAD TICK
	 "  examples = {\n    { name = \"one\", node = {}, want = {} },\n"
	 "    { name = \"two\", node = {}, want = \"hold\" },\n  },\n}",
	 .code = NEAP_ECONFLICT,
	 .problems = 1,
	 .line = 8,
	 .example = "two",
	 .what = "wanted hold; got a list of writes"},
	{.name = "all that fail are listed",
	 .text = HEAD TICK
	 "  examples = {\n    { name = \"one\", node = {}, want = \"skip\" },\n"
	 "    { name = \"two\", node = {}, want = {} },\n"
	 "    { name = \"three\", nodes = {}, want = {} },\n"
	 "    { name = \"four\", node = {}, want = \"hold\" },\n  },\n}",
	 .code = NEAP_ECONFLICT,
	 .problems = 3,
	 .line = 7,
	 .example = "one",
	 .what = "wanted skip"},
	{.name = "examples go on after a kill",
	 .text = HEAD
	 "  needs = { \"used_milli\" },\n"
	 "  tick = function(ctx, node)\n    while node.used_milli == 1 do end\n"
	 "    return {}\n  end,\n  examples = {\n"
	 "    { name = \"spins\", node = { used_milli = 1 }, want = {} },\n"
	 "    { name = \"fine\", node = { used_milli = 2 }, want = {} },\n"
	 "    { name = \"wrong\", node = { used_milli = 2 }, want = \"hold\" },\n  },\n}",
	 .code = NEAP_EBUDGET,
	 .problems = 2,
	 .line = 7,
	 .example = "spins",
	 .what = "in one call; less work is wanted"},
	{.name = "memory bomb in an example",
	 .text = HEAD "  tick = function()\n    local s = \"x\"\n"
		      "    while true do s = s .. s end\n  end,\n"
		      "  examples = { { name = \"one\", node = {}, want = {} } },\n}",
	 .code = NEAP_ELIMIT,
	 .problems = 1,
	 .line = 7,
	 .example = "one",
	 .what = "the memory limit"},
	{.name = "pattern bomb in an example",
	 .text = HEAD "  tick = function()\n"
		      "    return (\"a\"):rep(60000):find(\".-.-.-b\")\n  end,\n"
		      "  examples = { { name = \"one\", node = {}, want = {} } },\n}",
	 .code = -1,
	 .problems = 1,
	 .example = "one"},
	{.name = "an undeclared field",
	 .text = HEAD "  tick = function(ctx, node)\n    return node.used_milli\n  end,\n"
		      "  examples = { { name = \"one\", node = {}, want = {} } },\n}",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 6,
	 .example = "one",
	 .what = "add it to needs"},
	{.name = "examples have the defaults",
	 .text = HEAD PERCENT
	 "  tick = function(ctx) return ctx.params.threshold == 65 and {} or ctx.hold end,\n"
	 "  examples = { { name = \"one\", node = {}, want = {} } },\n}",
	 .params = "{\"threshold\": 80}"},
	{.name = "replace by an admin", .text = REPLACE},
	{.name = "replace, another version of it", .text = REPLACE, .replacer = "p"},
	{.name = "replace by an editor",
	 .text = REPLACE,
	 .is_by_editor = true,
	 .code = NEAP_EFORBIDDEN,
	 .problems = 1,
	 .line = 4,
	 .what = "only an admin may load it"},
	{.name = "a second one that replaces",
	 .text = REPLACE,
	 .replacer = "q",
	 .code = NEAP_ECONFLICT,
	 .problems = 1,
	 .line = 4,
	 .what = "reservation/q, which is in service: one can have it"},
	{.name = "narrow by an editor",
	 .text = RESERVATION
	 "\"narrow\",\n  examples = { { name = \"one\", want = true } } }",
	 .is_by_editor = true,
	 .replacer = "q"},
	{.name = "an example of a reservation that fails",
	 .text = RESERVATION
	 "\"narrow\",\n  params = { open = { type = \"boolean\", default = true, doc = \"d\" } },\n"
	 "  examples = {\n    { name = \"one\", reservation = { owners = {} }, want = true },\n"
	 "    { name = \"two\", params = { open = false }, want = { rank = 5 } } } }",
	 .code = NEAP_EINVAL,
	 .problems = 1,
	 .line = 8,
	 .example = "two",
	 .what = "the policy has no rank"},
};

static void judge_row(const struct row *row)
{
	struct neap_param_text base = {0};
	json_t *params = row->params ? json_loads(row->params, 0, NULL) : NULL;
	struct neap_judge_input input = {
		.newer = {.text = row->text, .origin = "p.lua", .params = params},
		.kind = row->kind,
		.name = row->policy,
		.is_by_editor = row->is_by_editor,
		.replacer = row->replacer,
	};
	const struct neap_problem *first;
	struct neap_judgement verdict;
	struct neap_error err = {0};
	int rc;

	input.newer.len = row->len ? row->len : row->text ? strlen(row->text) : 0;
	if (row->base) {
		(void)neap_strcopy(base.name, sizeof(base.name), row->base);
		(void)neap_strcopy(base.value, sizeof(base.value), row->base_value);
		input.newer.base = &base;
		input.newer.base_count = 1;
	}
	rc = neap_judge(&input, &verdict, &err);
	first = &verdict.problems[0];
	if (rc < 0 && getenv("NEAP_SHOW"))
		print_message("# %s: %s\n", row->name, verdict.err.msg);
	if (verdict.problem_count != row->problems || (rc == 0) != !row->problems ||
	    (rc == 0) != (verdict.policy != NULL) || (row->code >= 0 && -rc != row->code))
		fail_msg("%s: %d problems, code %d: %s", row->name, verdict.problem_count,
			 -rc, err.msg);
	if (rc < 0 &&
	    ((row->line && first->line != row->line) ||
	     (row->what && !strstr(first->what, row->what)) ||
	     (row->example && strcmp(first->example, row->example) != 0) ||
	     strncmp(err.msg, "p.lua:", 6) != 0 || strstr(first->what, "p.lua")))
		fail_msg("%s: line %d, example '%s': %s (%s)", row->name, first->line,
			 first->example, first->what, err.msg);
	neap_judgement_done(&verdict);
	json_decref(params);
}

static void test_rows(void **state)
{
	const char *only = getenv("CASE");

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		if (!only || !*only || strcmp(only, rows[i].name) == 0)
			judge_row(&rows[i]);
}

static int judge_text(const char *text, size_t len, struct neap_judgement *ret)
{
	const struct neap_judge_input input = {
		.newer = {.text = text, .len = len, .origin = "p.lua"}};

	return neap_judge(&input, ret, NULL);
}

static void test_size(void **state)
{
	static char text[NEAP_UPLOAD_BYTES + 1];
	struct neap_judgement verdict;

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, HEAD TICK "}", strlen(HEAD TICK "}"));
	assert_int_equal(judge_text(text, NEAP_UPLOAD_BYTES, &verdict), 0);
	neap_judgement_done(&verdict);
	assert_int_equal(judge_text(text, NEAP_UPLOAD_BYTES + 1, &verdict),
			 -NEAP_ETOOLARGE);
	assert_non_null(strstr(verdict.err.msg, "at most 262144"));
	neap_judgement_done(&verdict);
}

/* What comes out never ran a tick: neither memo nor upvalues know of the examples. */
static void test_fresh(void **state)
{
	static const char text[] =
		"local calls = 0\n" HEAD PERCENT
		"  tick = function(ctx)\n    calls = calls + 1\n"
		"    if calls == 1 and not ctx.memo.was and ctx.params.threshold == 80 then\n"
		"      ctx.memo.was = true\n      return ctx.hold\n    end\n    return {}\n"
		"  end,\n  examples = { { name = \"a\", node = {}, want = {} },\n"
		"    { name = \"b\", node = {}, want = {} } },\n}";
	json_t *params = json_pack("{s:i}", "threshold", 80);
	const struct neap_judge_input input = {.newer = {.text = text,
							 .len = strlen(text),
							 .origin = "p.lua",
							 .params = params}};
	struct neap_policy_wish *wishes = NULL;
	struct neap_sample sample = {0};
	struct neap_judgement verdict;
	struct neap_policy_info info;
	struct neap_error err;
	size_t count = 0;

	(void)state;
	if (neap_judge(&input, &verdict, &err) < 0)
		fail_msg("%s", err.msg);
	assert_int_equal(verdict.examples, 2);
	assert_int_equal(verdict.examples_failed, 0);
	assert_null(verdict.replay);
	neap_policy_get_info(verdict.policy, &info);
	assert_string_equal(info.origin, "p.lua");
	assert_int_equal(neap_policy_tick(verdict.policy, &sample, &wishes, &count, &err),
			 NEAP_TICK_HOLD);
	neap_judgement_done(&verdict);
	json_decref(params);
}

static void test_many_problems(void **state)
{
	char text[8192];
	struct neap_judgement verdict;
	int len = snprintf(text, sizeof(text), "%s  examples = {\n", HEAD TICK);

	(void)state;
	for (int i = 0; i < 40; i++)
		len += snprintf(text + len, sizeof(text) - (size_t)len,
				"{ name = \"row %d\", node = {}, want = \"hold\" },\n",
				i);
	len += snprintf(text + len, sizeof(text) - (size_t)len, "} }");
	assert_int_equal(judge_text(text, (size_t)len, &verdict), -NEAP_ECONFLICT);
	assert_int_equal(verdict.problem_count, NEAP_PROBLEMS_MAX);
	assert_int_equal(verdict.examples, 40);
	assert_int_equal(verdict.examples_failed, 40);
	neap_judgement_done(&verdict);

	struct neap_judge_input input = {
		.newer = {.text = text, .len = (size_t)len, .origin = "p.lua"},
		.has_examples_off = true};

	assert_int_equal(neap_judge(&input, &verdict, NULL), 0);
	assert_int_equal(verdict.examples, 0);
	neap_judgement_done(&verdict);
}

/* Examples that are each in their budget, but too many in all. */
static void test_budget_of_all(void **state)
{
	static const char text[] = HEAD
		"  tick = function()\n    for i = 1, 400 do local x = i .. \"\" end\n"
		"    return {}\n  end,\n  examples = (function()\n    local rows = {}\n"
		"    local steps = {}\n"
		"    for i = 1, 1000 do steps[i] = { want = {} } end\n"
		"    for i = 1, 1000 do rows[i] = { name = \"r\" .. i, node = {},"
		" steps = steps } end\n    return rows\n  end)(),\n}";
	struct neap_judgement verdict;

	(void)state;
	assert_int_equal(judge_text(text, strlen(text), &verdict), -NEAP_EBUDGET);
	print_message("# %d rows in %lld ms of CPU time: %s\n", verdict.examples,
		      (long long)verdict.cpu_usec / 1000, verdict.err.msg);
	assert_true(verdict.cpu_usec < 6000000);
	assert_true(verdict.examples < 1000);
	assert_int_equal(verdict.examples_failed, verdict.problem_count);
	neap_judgement_done(&verdict);
}

static const struct {
	const char *message, *origin, *rest;
	int line;
} cuts[] = {
	{"p.lua:12: what", "p.lua", "what", 12},
	{"p.lua: what", "p.lua", "what", 0},
	{"p.lua:12:what", "p.lua", "what", 12},
	{"other.lua:12: what", "p.lua", "other.lua:12: what", 0},
	{"p.lua:x: what", "p.lua", "x: what", 0},
	{"p.lua:1: p.lua:2: what", "p.lua", "p.lua:2: what", 1},
	{"/long/p.lua: ...ng/p.lua:7: what: 8: x", "/long/p.lua", "what: 8: x", 7},
	{"...g:er/p.lua:9: what", "/long:er/p.lua", "what", 9},
	{"", "p.lua", "", 0},
	{"p.lua:", "p.lua", "", 0},
	{"...", "p.lua", "...", 0},
	{"p.lua:99999999999: x", "p.lua", "99999999999: x", 0},
};

static void test_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cuts); i++) {
		const char *rest = NULL;
		int line = neap_problem_cut(cuts[i].message, cuts[i].origin, &rest);

		if (line != cuts[i].line || strcmp(rest, cuts[i].rest) != 0)
			fail_msg("'%s': %d, '%s'", cuts[i].message, line, rest);
	}
}

/* --- recorded inputs --- */

static struct neap_tape *make_tape(int frames)
{
	struct neap_record *record = neap_record_new(0, 0);
	struct neap_tape *tape;

	assert_non_null(record);
	for (int i = 0; i < frames; i++) {
		struct neap_sample sample = {0};

		neap_struct_clear(neap_sample_fields, &sample);
		sample.now_unix = 1700000000 + i;
		sample.used_milli = i;
		neap_record_add(record, &sample);
	}
	tape = neap_record_share(record);
	neap_record_free(record);
	assert_non_null(tape);
	return tape;
}

static const struct {
	const char *name, *tick;
	int code, line;
	const char *what;
	int same, faults;
} replays[] = {
	{"the same", "if node.used_milli > 5 then return {} end\nreturn ctx.hold",
	 NEAP_OK, 0, NULL, 20, 0},
	{"differs", "return ctx.hold", NEAP_OK, 0, NULL, 6, 0},
	{"one fault", "if node.used_milli == 3 then error(\"no\") end\nreturn {}",
	 NEAP_OK, 0, NULL, 14, 1},
	{"raises each time", "local x = nil\nreturn x.y", NEAP_EINVAL, 8,
	 "(20 of 20 recorded inputs", 0, 20},
	{"spins", "\nwhile true do end", NEAP_EINVAL, 8, "CPU budget", 0, 1},
	{"undeclared field", "return node.used_cores", NEAP_EINVAL, 7, "add it to needs",
	 0, 20},
};

static void judge_replayed(struct neap_tape *tape, size_t row)
{
	static const char format[] = HEAD
		"  needs = { \"used_milli\" },\n  tick = function(ctx, node)\n%s end,\n}";
	char older[512], newer[512];
	const struct neap_inputs inputs = {tape};
	struct neap_judge_input input = {.inputs = &inputs};
	struct neap_judgement verdict;
	struct neap_error err = {0};
	json_int_t same = 0, faults = 0;
	int rc;

	(void)snprintf(older, sizeof(older), format, replays[0].tick);
	(void)snprintf(newer, sizeof(newer), format, replays[row].tick);
	input.older = (struct neap_judge_side){
		.text = older, .len = strlen(older), .origin = "older.lua"};
	input.newer = (struct neap_judge_side){
		.text = newer, .len = strlen(newer), .origin = "p.lua"};
	rc = neap_judge(&input, &verdict, &err);
	assert_non_null(verdict.replay);
	assert_int_equal(json_unpack(verdict.replay, "{s:I, s:I}", "same", &same,
				     "faults", &faults),
			 0);
	if (-rc != replays[row].code || same != replays[row].same ||
	    faults != replays[row].faults ||
	    verdict.problems[0].line != replays[row].line ||
	    (replays[row].what && !strstr(verdict.problems[0].what, replays[row].what)))
		fail_msg("%s: code %d, same %lld, faults %lld, line %d: %s",
			 replays[row].name, -rc, (long long)same, (long long)faults,
			 verdict.problems[0].line, err.msg);
	neap_judgement_done(&verdict);
}

static void test_replay(void **state)
{
	struct neap_tape *tape = make_tape(20);

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(replays); i++)
		judge_replayed(tape, i);
	(void)neap_tape_unref(tape);
}

/* Every allocation may fail. Those of Lua are among them, so not each single one is
 * tried. */
static void test_torture(void **state)
{
	static const char text[] =
		HEAD PERCENT "  needs = { \"used_milli\" },\n" TICK
			     "  examples = { { name = \"one\", node = { used_milli = 1 },"
			     " want = {} } },\n}";
	struct neap_tape *tape = make_tape(2);
	const struct neap_inputs inputs = {tape};
	json_t *params = json_pack("{s:i}", "threshold", 80);
	const struct neap_judge_side side = {
		.text = text, .len = strlen(text), .origin = "p.lua", .params = params};
	const struct neap_judge_input input = {
		.newer = side, .older = side, .inputs = &inputs};
	uint64_t n = 1, tries = 0;
	int rc = -1;

	(void)state;
	for (; rc < 0 || n < 40; n += n < 40 ? 1 : 17) {
		uint64_t before = neap_mem_count();
		struct neap_judgement verdict;

		neap_mem_fail_at(n);
		rc = neap_judge(&input, &verdict, NULL);
		neap_mem_fail_at(0);
		assert_true((rc == 0) == (verdict.policy != NULL));
		assert_true((rc < 0) == (verdict.problem_count > 0));
		if (rc == 0 && neap_mem_count() - before >= n)
			rc = -1; /* one failed, and it was made up for */
		neap_judgement_done(&verdict);
		tries++;
	}
	print_message("# %llu tries up to allocation %llu\n", (unsigned long long)tries,
		      (unsigned long long)n);
	json_decref(params);
	(void)neap_tape_unref(tape);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_size),
		cmocka_unit_test(test_fresh),  cmocka_unit_test(test_many_problems),
		cmocka_unit_test(test_replay), cmocka_unit_test(test_budget_of_all),
		cmocka_unit_test(test_cut),    cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
