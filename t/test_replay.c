/* SPDX-License-Identifier: Apache-2.0
 *
 * Replay: what counts as the same, what is listed, how it ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "lua/replay/replay.h"
#include "lua/value/convert.h"

#define FRAMES 30
#define WRITE(target, key, value)                                                        \
	"{ target = \"" target "\", key = \"" key "\", value = " value ", why = \"w\" }"
#define A WRITE("besteffort", "cpu.max_milli", "2400")
#define B WRITE("burstable", "cpu.shares", "100")
#define C WRITE("besteffort", "cpuset.cpus", "\"0-3,8\"")

struct row {
	const char *name, *older, *newer; /* bodies of tick; older NULL: none */
	int ran, same, faults, listed;
	bool is_complete, is_failed;
	const char *first;       /* the first difference as JSON */
	const char *first_fault; /* part of it */
};

static const struct row rows[] = {
	{.name = "nothing older",
	 .newer = "return {" A "}",
	 .ran = FRAMES,
	 .is_complete = true},
	{.name = "the same",
	 .older = "return {" A "}",
	 .newer = "return {" A "}",
	 .ran = FRAMES,
	 .same = FRAMES,
	 .is_complete = true},
	{.name = "order and why do not count",
	 .older = "return {" A "," B "," C "}",
	 .newer = "local list = {" C "," B "," A "}\nlist[1].why = 'z'\n"
		  "list[1].value = '8,0,1-3'\nreturn list",
	 .ran = FRAMES,
	 .same = FRAMES,
	 .is_complete = true},
	{.name = "another value",
	 .older = "return {" A "}",
	 .newer = "local list = {" A "}\nif node.used_milli == 3 then\n"
		  "list[1].value = 2500 end\nreturn list",
	 .ran = FRAMES,
	 .same = FRAMES - 1,
	 .listed = 1,
	 .is_complete = true,
	 .first = "{\"unix\": 1700000003, \"frame\": 3,"
		  " \"older\": [\"besteffort cpu.max_milli=2400\"],"
		  " \"newer\": [\"besteffort cpu.max_milli=2500\"]}"},
	{.name = "one more, and nothing",
	 .older = "return {}",
	 .newer = "return {" B "," C "}",
	 .ran = FRAMES,
	 .listed = NEAP_REPLAY_DIFFERENCES_MAX,
	 .is_complete = true,
	 .first = "{\"unix\": 1700000000, \"frame\": 0, \"older\": [], \"newer\":"
		  " [\"besteffort cpuset.cpus=0-3,8\", \"burstable cpu.shares=100\"]}"},
	{.name = "hold",
	 .older = "return {" A "}",
	 .newer = "if node.used_milli > 27 then return ctx.hold end\nreturn {" A "}",
	 .ran = FRAMES,
	 .same = 28,
	 .listed = 2,
	 .is_complete = true,
	 .first =
		 "{\"unix\": 1700000028, \"frame\": 28,"
		 " \"older\": [\"besteffort cpu.max_milli=2400\"], \"newer\": \"hold\"}"},
	{.name = "memo goes from frame to frame on each side",
	 .older = "ctx.memo.n = (ctx.memo.n or 0) + 1\n"
		  "return ctx.memo.n > 10 and {} or ctx.hold",
	 .newer = "return node.used_milli >= 10 and {} or ctx.hold",
	 .ran = FRAMES,
	 .same = FRAMES,
	 .is_complete = true},
	{.name = "a fault now and then",
	 .older = "return {}",
	 .newer = "if node.used_milli % 3 == 2 then\nerror('now') end\nreturn {}",
	 .ran = FRAMES,
	 .same = 20,
	 .faults = 10,
	 .listed = 10,
	 .is_complete = true,
	 .first = "{\"unix\": 1700000002, \"frame\": 2, \"older\": [],"
		  " \"newer\": \"error: n.lua:3: in function 'tick': now\"}",
	 .first_fault = "n.lua:3: in function 'tick': now"},
	{.name = "three faults in a row",
	 .older = "return {}",
	 .newer =
		 "if node.used_milli > 20 and node.used_milli < 24 then error('now') end\n"
		 "return {}",
	 .ran = FRAMES,
	 .same = 27,
	 .faults = 3,
	 .listed = 3,
	 .is_complete = true,
	 .is_failed = true,
	 .first_fault = "now"},
	{.name = "faults of both",
	 .older = "local x = nil; return x.y",
	 .newer = "error({})",
	 .ran = FRAMES,
	 .faults = FRAMES,
	 .listed = NEAP_REPLAY_DIFFERENCES_MAX,
	 .is_complete = true,
	 .first_fault = "non-string"},
	{.name = "a wrong result",
	 .older = "return {}",
	 .newer = "return 5",
	 .ran = FRAMES,
	 .faults = FRAMES,
	 .listed = NEAP_REPLAY_DIFFERENCES_MAX,
	 .is_complete = true,
	 .is_failed = true,
	 .first_fault = "tick returned"},
	{.name = "newer spins",
	 .older = "return {}",
	 .newer = "while node.used_milli == 4 do end\nreturn {}",
	 .ran = 5,
	 .same = 4,
	 .faults = 1,
	 .listed = 1,
	 .is_failed = true,
	 .first_fault = "CPU budget"},
	{.name = "older spins",
	 .older = "while node.used_milli == 4 do end\nreturn {}",
	 .newer = "return {}",
	 .ran = FRAMES,
	 .same = 4,
	 .listed = 1,
	 .is_complete = true},
	{.name = "bytes that are no UTF-8",
	 .newer = "error(('\\xff'):rep(3), 0)",
	 .ran = FRAMES,
	 .faults = FRAMES,
	 .is_complete = true,
	 .is_failed = true,
	 .first_fault = "???"},
	{.name = "a target that is no UTF-8",
	 .older = "return {}",
	 .newer = "return {" WRITE("workload:\\xff", "cpu.shares", "9") "}",
	 .ran = FRAMES,
	 .listed = NEAP_REPLAY_DIFFERENCES_MAX,
	 .is_complete = true,
	 .first = "{\"unix\": 1700000000, \"frame\": 0, \"older\": [],"
		  " \"newer\": [\"workload:? cpu.shares=9\"]}"},
};

static struct neap_inputs inputs;

static int open_tape(void **state)
{
	struct neap_record *record = neap_record_new(0, 0);

	(void)state;
	for (int i = 0; record && i < FRAMES; i++) {
		struct neap_sample sample = {0};

		neap_struct_clear(neap_sample_fields, &sample);
		sample.now_unix = 1700000000 + i;
		sample.used_milli = i;
		neap_record_add(record, &sample);
	}
	inputs.samples = record ? neap_record_share(record) : NULL;
	neap_record_free(record);
	return inputs.samples ? 0 : -1;
}

static int close_tape(void **state)
{
	(void)state;
	neap_inputs_done(&inputs);
	return 0;
}

static struct neap_policy *load(const char *tick, const char *origin)
{
	struct neap_policy *policy = NULL;
	struct neap_error err;
	char text[2048];

	(void)snprintf(
		text, sizeof(text),
		"return { api = 1, kind = \"qos\", name = \"p\", "
		"needs = { \"used_milli\" }, tick = function(ctx, node)\n%s\nend }",
		tick);
	if (neap_policy_load(text, strlen(text), origin, &policy, &err) < 0)
		fail_msg("%s", err.msg);
	return policy;
}

static void check_row(const struct row *row, const json_t *replay)
{
	int frames = -1, ran = -1, same = -1, faults = -1, is_complete = -1,
	    is_failed = -1;
	const char *fault = json_string_value(json_object_get(replay, "first_fault"));
	const json_t *differences = json_object_get(replay, "differences");

	assert_int_equal(json_unpack((json_t *)replay, "{s:i, s:i, s:i, s:i, s:b, s:b}",
				     "frames", &frames, "ran", &ran, "same", &same,
				     "faults", &faults, "is_complete", &is_complete,
				     "is_failed", &is_failed),
			 0);
	if (frames != FRAMES || ran != row->ran || same != row->same ||
	    faults != row->faults || is_complete != row->is_complete ||
	    is_failed != row->is_failed ||
	    (int)json_array_size(differences) != row->listed ||
	    (faults > 0) != (fault != NULL) ||
	    (row->first_fault && !strstr(fault, row->first_fault))) {
		json_dumpf(replay, stderr, JSON_INDENT(1));
		fail_msg("%s", row->name);
	}
	if (row->first) {
		json_t *want = json_loads(row->first, 0, NULL);

		assert_non_null(want);
		if (!json_equal(want, json_array_get(differences, 0))) {
			json_dumpf(json_array_get(differences, 0), stderr, 0);
			fail_msg("%s", row->name);
		}
		json_decref(want);
	}
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_policy *older =
			rows[i].older ? load(rows[i].older, "o.lua") : NULL;
		struct neap_policy *newer = load(rows[i].newer, "n.lua");
		struct neap_error err = {0};
		json_t *replay = NULL;

		if (neap_policy_replay(older, newer, &inputs, 1000000, &replay, &err) < 0)
			fail_msg("%s: %s", rows[i].name, err.msg);
		check_row(&rows[i], replay);
		json_decref(replay);
		neap_policy_free(older);
		neap_policy_free(newer);
	}
}

/* The memo is empty before and after, whatever it held. */
static void test_memo(void **state)
{
	static const char tick[] =
		"ctx.memo.n = (ctx.memo.n or 0) + 1\n"
		"if ctx.memo.n == 1 then return ctx.hold end return {}";
	struct neap_policy *policy = load(tick, "n.lua");
	struct neap_policy_wish *wishes = NULL;
	struct neap_sample sample = {.used_milli = 1};
	struct neap_error err;
	json_t *replay = NULL;
	size_t count;

	(void)state;
	assert_int_equal(neap_policy_tick(policy, &sample, &wishes, &count, &err),
			 NEAP_TICK_HOLD);
	for (int i = 0; i < 2; i++) {
		struct neap_policy *older =
			load("return node.used_milli == 0 and ctx.hold or {}", "o.lua");

		assert_int_equal(neap_policy_replay(older, policy, &inputs, 1000000,
						    &replay, &err),
				 0);
		assert_int_equal(json_integer_value(json_object_get(replay, "same")),
				 FRAMES);
		json_decref(replay);
		neap_policy_free(older);
	}
	assert_int_equal(neap_policy_tick(policy, &sample, &wishes, &count, &err),
			 NEAP_TICK_HOLD);
	neap_policy_free(policy);
}

static void test_skip(void **state)
{
	struct neap_policy *older = load("return {}", "o.lua"), *newer = NULL;
	static const char text[] =
		"return { api = 1, kind = \"qos\", name = \"p\", needs = "
		"{ \"used_cores\" }, tick = function() return {} end }";
	struct neap_error err;
	json_t *replay = NULL;
	const json_t *first;

	(void)state;
	assert_int_equal(neap_policy_load(text, strlen(text), "n.lua", &newer, &err), 0);
	assert_int_equal(
		neap_policy_replay(older, newer, &inputs, 1000000, &replay, &err), 0);
	first = json_array_get(json_object_get(replay, "differences"), 0);
	assert_string_equal(json_string_value(json_object_get(first, "newer")), "skip");
	assert_int_equal(json_integer_value(json_object_get(replay, "faults")), 0);
	json_decref(replay);
	neap_policy_free(older);
	neap_policy_free(newer);
}

/* A long answer is cut in the list, but not in the comparison. */
static void test_long(void **state)
{
	static const char tick[] = "local list = {}\nfor i = 1, 100 do list[i] = "
				   "{ target = 'workload:' .. i, key = 'cpu.shares',"
				   " value = %d + i // 100, why = 'w' } end\nreturn list";
	char newer_tick[400], older_tick[400];
	struct neap_policy *older, *newer;
	struct neap_error err;
	json_t *replay = NULL;
	const json_t *list, *row;

	(void)state;
	(void)snprintf(older_tick, sizeof(older_tick), tick, 100);
	(void)snprintf(newer_tick, sizeof(newer_tick), tick, 101);
	older = load(older_tick, "o.lua");
	newer = load(newer_tick, "n.lua");
	assert_int_equal(
		neap_policy_replay(older, newer, &inputs, 10000000, &replay, &err), 0);
	row = json_array_get(json_object_get(replay, "differences"), 0);
	list = json_object_get(row, "newer");
	assert_int_equal(json_array_size(list), 65);
	assert_string_equal(json_string_value(json_array_get(list, 64)), "and 36 more");
	json_decref(replay);
	neap_policy_free(older);
	neap_policy_free(newer);
}

static int64_t cpu_usec(void)
{
	struct timespec now;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now); /* cannot fail */
	return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

/* Budgets: past it the replay ends early and says so. */
static void test_budget(void **state)
{
	struct neap_policy *newer =
		load("for i = 1, 10000 do local x = i .. '' end return {}", "n.lua");
	static const int64_t budgets[] = {0, -5, 3000};
	struct neap_error err;

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(budgets); i++) {
		int64_t start = cpu_usec();
		json_t *replay = NULL;

		assert_int_equal(neap_policy_replay(NULL, newer, &inputs, budgets[i],
						    &replay, &err),
				 0);
		assert_true(json_is_false(json_object_get(replay, "is_complete")));
		assert_true(json_integer_value(json_object_get(replay, "ran")) < FRAMES);
		assert_true(cpu_usec() - start < 100000);
		json_decref(replay);
	}
	neap_policy_free(newer);
}

static void test_torture(void **state)
{
	int rc = -1;

	(void)state;
	for (uint64_t n = 1; rc < 0 && n < 5000; n += 3) {
		struct neap_policy *older = load("return {" A "}", "o.lua");
		struct neap_policy *newer = load("return {" B "}", "n.lua");
		json_t *replay = NULL;
		uint64_t before = neap_mem_count();
		struct neap_error err;

		neap_mem_fail_at(n);
		rc = neap_policy_replay(older, newer, &inputs, 10000000, &replay, &err);
		neap_mem_fail_at(0);
		assert_true(rc == 0 || rc == -NEAP_ENOMEM);
		assert_true((rc == 0) == (replay != NULL));
		if (rc == 0 && neap_mem_count() - before >= n)
			rc = -1; /* a script's: it is a fault of the script then */
		json_decref(replay);
		neap_policy_free(older);
		neap_policy_free(newer);
	}
	assert_int_equal(rc, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),   cmocka_unit_test(test_memo),
		cmocka_unit_test(test_skip),   cmocka_unit_test(test_long),
		cmocka_unit_test(test_budget), cmocka_unit_test(test_torture),
	};

	return cmocka_run_group_tests(tests, open_tape, close_tape);
}
