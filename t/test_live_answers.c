/* SPDX-License-Identifier: Apache-2.0
 *
 * Live policies: what is answered, in which order. */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/live_rig.h"
#include "t/lib/patience.h"
#include "t/lib/policy_rule.h"

static const char *text_at(const json_t *body, const char *member)
{
	const char *text = json_string_value(json_object_get(body, member));

	return text != NULL ? text : "";
}

static json_t *row_of(struct live_rig *rig, const char *name)
{
	struct neap_error err;
	char version[12];
	json_t *row = NULL;

	return neap_live_row(rig->live, "qos", name, &row, version, &err) == 0 ? row
									       : NULL;
}

/* --- refusals --- */

static const struct {
	const char *name, *text, *what; /* what: all of problems[0].what */
	int status, line;
} refused[] = {
	{"a syntax error", "return {\n  api = = 1 }", "unexpected symbol near '='", 422,
	 2},
	{"another name",
	 "return {\n api = 1, kind = \"qos\",\n name = \"two\", tick = function() end }",
	 NULL, 422, 0},
	{"bytes in an error", "error(\"\\xff\\xfe\")", NULL, 422, 1},
	{"no text", "", NULL, 422, 0},
};

/* A refused text leaves registry, disk and wishes, and is told in the row without its
 * file name. */
static void test_refused(void **state)
{
	struct live_rig *rig = live_open(state);
	struct neap_live_counts counts;
	size_t i;

	live_play(rig, "one", "+A:uA*");
	live_tick(rig);
	for (i = 0; i < NEAP_ARRAY_LEN(refused); i++) {
		const json_t *problem, *told;
		json_t *row;
		int status = live_put(rig, "one", refused[i].text);

		if (status != refused[i].status)
			fail_msg("%s: %d", refused[i].name, status);
		problem =
			json_array_get(json_object_get(rig->answer.body, "problems"), 0);
		row = row_of(rig, "one");
		told = json_object_get(row, "refused");
		if (!text_at(problem, "what")[0] || !text_at(told, "message")[0] ||
		    strstr(text_at(problem, "what"), "one.lua") ||
		    strstr(text_at(told, "message"), "one.lua") ||
		    json_integer_value(json_object_get(problem, "line")) !=
			    (refused[i].line ? refused[i].line
					     : json_integer_value(
						       json_object_get(told, "line"))) ||
		    (refused[i].what != NULL &&
		     strcmp(text_at(problem, "what"), refused[i].what) != 0))
			fail_msg("%s: %s", refused[i].name, text_at(problem, "what"));
		assert_string_equal(text_at(row, "version"), rig->answer.version);
		json_decref(row);
		assert_string_equal(live_state(rig, "one"), "uA*");
		assert_int_equal(live_active(rig, "one"), 'A');
		assert_int_equal(
			neap_registry_find(rig->registry, "qos", "one")->wish_count, 1);
	}
	neap_live_count(rig->live, &counts);
	assert_int_equal(counts.refused, NEAP_ARRAY_LEN(refused));
	/* A dry run offers nothing. */
	live_play(rig, "one", "+A");
	{
		json_t *row = row_of(rig, "one");

		assert_null(json_object_get(row, "refused"));
		json_decref(row);
	}
	/* Of a name without a policy the row has nothing else. */
	assert_int_equal(live_put(rig, "new", "return {"), 422);
	{
		json_t *row = row_of(rig, "new"), *all = neap_live_rows(rig->live);

		assert_string_equal(text_at(row, "state"), "refused");
		assert_null(json_object_get(row, "version"));
		assert_int_equal(json_array_size(all), 2);
		json_decref(row);
		json_decref(all);
	}
	live_teardown(state);
}

/* The message of a failure is cut in the same way, and says who. */
static void test_said(void **state)
{
	struct live_rig *rig = live_open(state);
	const json_t *told;
	json_t *row;

	live_play(rig, "one", "+A +B p300 !B x");
	assert_non_null(strstr(rig->notes, ": live, one.lua (by uid 7)\n"));
	assert_non_null(strstr(rig->notes, "live, in place of "));
	assert_non_null(strstr(rig->notes, ": parameters: {\"milli\":300} (by uid 7)\n"));
	assert_non_null(
		strstr(rig->notes,
		       " by itself: one.lua:7: in function 'tick': boom B (by neapd)\n"));
	assert_non_null(
		strstr(rig->notes, ": gone; what it set is given back (by uid 7)\n"));
	live_play(rig, "one", "+A +B !B");
	row = row_of(rig, "one");
	told = json_object_get(row, "refused");
	assert_string_equal(text_at(told, "message"),
			    "failed in service: in function 'tick': boom B");
	assert_int_equal(json_integer_value(json_object_get(told, "line")), 7);
	json_decref(row);
	live_teardown(state);
}

/* --- conditions --- */

static void test_conditions(void **state)
{
	static const struct {
		const char *name, *match;
		bool if_none, is_there;
		int status;
	} rows[] = {
		{"none, new", NULL, true, false, 201},
		{"none, there", NULL, true, true, 412},
		{"star, there", "*", false, true, 200},
		{"star, new", "*", false, false, 412},
		{"the version", "A", false, true, 200},
		{"another", "00000000", false, true, 412},
	};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct live_rig *rig = live_open(state);
		struct neap_live_change change;
		struct neap_error err = {0};
		char version[12];

		if (rows[i].is_there)
			live_play(rig, "one", "+A");
		change = live_change(rig, "one");
		live_version("one", 'A', version);
		change.if_none = rows[i].if_none;
		change.if_match = rows[i].match != NULL && rows[i].match[0] == 'A'
					  ? version
					  : rows[i].match;
		if (live_ask(rig,
			     neap_live_put(rig->live, &change, live_text("one", 'B'),
					   strlen(live_text("one", 'B')), &err),
			     &err) != rows[i].status)
			fail_msg("%s: %d", rows[i].name, rig->answer.status);
		live_teardown(state);
	}
}

static void test_names(void **state)
{
	static const struct {
		const char *kind, *name;
		int status;
	} rows[] = {{"magic", "one", 404}, {"", "one", 404},   {"qos", "One", 422},
		    {"qos", "", 422},      {"qos", "-a", 422}, {"qos", "../x", 422},
		    {"qos", "a/b", 422}};
	struct live_rig *rig = live_open(state);
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_live_change change = live_change(rig, rows[i].name);
		struct neap_error err = {0};

		change.kind = rows[i].kind;
		if (live_ask(rig, neap_live_delete(rig->live, &change, &err), &err) !=
		    rows[i].status)
			fail_msg("%s/%s", rows[i].kind, rows[i].name);
	}
	live_teardown(state);
}

/* --- versions --- */

static json_t *versions_of(struct live_rig *rig, const char *version)
{
	struct neap_live_change change = live_change(rig, "one");
	struct neap_error err = {0};

	(void)live_ask(rig, neap_live_list_versions(rig->live, &change, version, &err),
		       &err);
	return rig->answer.body;
}

static void test_versions(void **state)
{
	struct live_rig *rig = live_open(state);
	const json_t *body, *row;
	char version[12];

	assert_null(versions_of(rig, ""));
	assert_int_equal(rig->answer.status, 404);
	live_play(rig, "one", "cD");
	body = versions_of(rig, "");
	live_version("one", 'D', version);
	assert_string_equal(text_at(body, "active"), version);
	assert_true(json_is_null(json_object_get(body, "before")));
	row = json_array_get(json_object_get(body, "versions"), 0);
	assert_string_equal(text_at(row, "version"), version);
	assert_string_equal(text_at(row, "layer"), "configured");
	assert_true(json_is_true(json_object_get(row, "is_active")));
	assert_int_equal(json_integer_value(json_object_get(row, "bytes")),
			 strlen(live_text("one", 'D')));
	body = versions_of(rig, version);
	assert_string_equal(text_at(body, "text"), live_text("one", 'D'));

	live_play(rig, "one", "+A");
	body = versions_of(rig, "");
	assert_string_equal(text_at(body, "before"), version);
	assert_int_equal(json_array_size(json_object_get(body, "versions")), 2);
	live_play(rig, "one", "+B");
	body = versions_of(rig, "");
	live_version("one", 'A', version);
	assert_string_equal(text_at(body, "before"), version);
	live_play(rig, "one", "<:uA*");
	body = versions_of(rig, "");
	live_version("one", 'B', version);
	assert_string_equal(text_at(body, "before"), version);
	(void)versions_of(rig, "12345678");
	assert_int_equal(rig->answer.status, 404);
	live_teardown(state);
}

/* --- order --- */

struct seen {
	char order[64];
	int count;
};

struct one {
	struct seen *seen;
	char letter;
};

static void see(void *arg, int status, json_t *body, const char *version,
		const struct neap_error *err)
{
	const struct one *one = arg;

	(void)status;
	(void)version;
	(void)err;
	json_decref(body);
	one->seen->order[one->seen->count++] = one->letter;
}

/* Sixteen wait, in order; one more is refused. Who goes away is not called. */
static void test_queue(void **state)
{
	struct live_rig *rig = live_open(state);
	struct neap_live_change change = live_change(rig, "one");
	struct neap_error err = {0};
	struct seen seen = {{0}, 0};
	struct one ones[16];
	const char *text, *want = "BCDEFGHIKLMNOP";
	int i, before;

	change.done = see;
	for (i = 0; i < 16; i++) {
		before = seen.count;
		ones[i] = (struct one){&seen, (char)('A' + i)};
		change.arg = &ones[i];
		text = live_text("one", i == 5 ? 'A' : (char)('A' + i));
		assert_int_equal(
			neap_live_put(rig->live, &change, text, strlen(text), &err), 0);
		assert_int_equal(seen.count, before); /* not before the call returns */
		if (i == 0)                           /* at work from now on */
			(void)event_base_loop(rig->base, EVLOOP_NONBLOCK);
	}
	if (seen.count == 0) {
		assert_int_equal(neap_live_delete(rig->live, &change, &err),
				 -NEAP_EUNAVAILABLE);
		neap_live_forget(rig->live, &ones[0]);
	} else {
		want = "ABCDEFGHIKLMNOP"; /* A was done in that turn of the loop */
	}
	neap_live_forget(rig->live, &ones[9]);
	live_settle(rig);
	assert_string_equal(seen.order, want);
	assert_string_equal(live_state(rig, "one"), "uP*");
	assert_int_equal(rig->live->waiting, 0);
	live_teardown(state);
}

/* Free while one is at work and others wait. */
static void test_end(void **state)
{
	struct live_rig *rig = live_open(state);
	struct neap_live_change change = live_change(rig, "one");
	struct neap_error err = {0};
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(neap_live_put(rig->live, &change,
					       live_text("one", (char)('A' + i)),
					       strlen(live_text("one", 'A')), &err),
				 0);
	(void)event_base_loop(rig->base, EVLOOP_NONBLOCK);
	live_stop(rig);
	live_teardown(state);
}

/* --- parameters --- */

static void test_params(void **state)
{
	static const struct {
		const char *name, *text, *field;
		int status, milli;
	} rows[] = {
		{"set", "{\"milli\": 300}", "", 200, 300},
		{"out of range", "{\"milli\": 3}", "milli", 422, 300},
		{"unknown", "{\"milli\": 500, \"nope\": 3}", "nope", 422, 300},
		{"unknown null", "{\"milli\": 500, \"nope\": null}", "nope", 422, 300},
		{"a wrong type", "{\"milli\": [1]}", "milli", 422, 300},
		{"nothing", "{}", "", 200, 300},
		{"the same", "{\"milli\": 300}", "", 200, 300},
		{"another", "{\"milli\": 400}", "", 200, 400},
		{"back", "{\"milli\": null}", "", 200, 100},
		{"and again", "{\"milli\": 700}", "", 200, 700},
	};
	struct live_rig *rig = live_open(state);
	size_t i;

	assert_int_equal(live_set(rig, "{\"milli\": 300}"), 404);
	live_play(rig, "one", "+A");
	for (i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		if (live_set(rig, rows[i].text) != rows[i].status ||
		    live_milli(rig) != rows[i].milli ||
		    strcmp(rig->answer.err.field, rows[i].field) != 0)
			fail_msg("%s: %d, %d: %s", rows[i].name, rig->answer.status,
				 (int)live_milli(rig), rig->answer.err.msg);
	}
	live_play(rig, "one", "R:uA +B:uB*");
	assert_int_equal(live_milli(rig), 700);
	live_teardown(state);
}

/* A state that a busy machine killed comes back, and its text does not run on the
 * loop. */
static void test_renewed(void **state)
{
	static const char text[] =
		"local n = 0 for i = 1, 100000 do n = n + 1 end\n"
		"return { api = 1, kind = 'qos', name = 'one',\n"
		"  params = { milli = { type = 'integer', default = 1, doc = 'n' } },\n"
		"  rules = { spin = function() while true do end end },\n"
		"  tick = function(ctx) return {} end }";
	struct live_rig *rig = live_open(state);
	struct neap_registry_slot *slot;
	struct neap_policy *before;
	json_t *none = json_null(), *got = NULL;
	struct neap_error err = {0};
	int i;

	assert_int_equal(live_put(rig, "one", text), 201);
	assert_int_equal(live_set(rig, "{\"milli\": 7}"), 200);
	slot = neap_registry_find(rig->registry, "qos", "one");
	before = slot->policy;
	assert_true(neap_policy_call_rule(before, "spin", none, &got, &err) < 0);
	assert_true(neap_vm_is_dead(neap_policy_vm(before)));
	for (i = 0; i < 3; i++) /* asked for once, however often it is called */
		assert_false(neap_registry_note(slot, NEAP_TICK_STARVED, &err, 9));
	assert_ptr_equal(slot->policy, before);
	assert_true(neap_vm_is_dead(neap_policy_vm(before)));
	live_settle(rig);
	assert_false(neap_vm_is_dead(neap_policy_vm(slot->policy)));
	assert_int_equal(live_milli(rig), 7);
	assert_int_equal(slot->stats.starved, 3);
	live_play(rig, "one", "x");
	/* What is gone is not brought back. */
	assert_int_equal(live_put(rig, "one", text), 201);
	slot = neap_registry_find(rig->registry, "qos", "one");
	(void)neap_policy_call_rule(slot->policy, "spin", none, &got, &err);
	assert_false(neap_registry_note(slot, NEAP_TICK_STARVED, &err, 9));
	neap_registry_remove(rig->registry, "qos", "one");
	live_settle(rig);
	assert_null(neap_registry_find(rig->registry, "qos", "one"));
	live_teardown(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),    cmocka_unit_test(test_said),
		cmocka_unit_test(test_conditions), cmocka_unit_test(test_names),
		cmocka_unit_test(test_versions),   cmocka_unit_test(test_queue),
		cmocka_unit_test(test_end),        cmocka_unit_test(test_params),
		cmocka_unit_test(test_renewed),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
