/* SPDX-License-Identifier: Apache-2.0
 *
 * A policy that nothing ran yet, as its name is new or it has no examples: what is
 * recorded of this node is played to it, or an input is made up for its kind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/policy/judge.h"
#include "lua/value/convert.h"
#include "t/lib/patience.h"

#define HEAD "return {\n  api = 1,\n  kind = 'qos',\n  name = 'p',\n"
#define TICK "  tick = function(ctx, node) return {} end,\n"
#define WRONG                                                                               \
	"  tick = function() return { { target = 'best-effort', key = 'cpu.idle', value = " \
	"1, why = 'w' } } end,\n"
#define OTHER(kind) "return {\n  api = 1, kind = '" kind "', name = 'p',\n"

static struct neap_tape *make_tape(void)
{
	struct neap_record *record = neap_record_new(0, 0);
	struct neap_tape *tape;

	assert_non_null(record);
	for (int i = 0; i < 20; i++) {
		struct neap_sample sample = {0};

		neap_struct_clear(neap_sample_fields, &sample);
		sample.now_unix = 1700000000 + i;
		neap_record_add(record, &sample);
	}
	tape = neap_record_share(record);
	neap_record_free(record);
	assert_non_null(tape);
	return tape;
}

static const struct {
	const char *name, *text;
	bool has_tape, is_made, is_replayed;
	int code, line;
	const char *what;
} rows[] = {
	{"recorded", HEAD TICK "}", true, false, true, NEAP_OK, 0, ""},
	{"faults on what is recorded", HEAD "  tick = function() error('no') end,\n}",
	 true, false, true, NEAP_EINVAL, 5, "20 of 20 recorded inputs"},
	{"a target that is none, recorded", HEAD WRONG "}", true, false, true,
	 NEAP_EINVAL, 5, "there is no 'best-effort'"},
	{"nothing recorded", HEAD TICK "}", false, true, false, NEAP_OK, 0, ""},
	{"a target that is none", HEAD WRONG "}", false, true, false, NEAP_EINVAL, 5,
	 "there is no 'best-effort'"},
	{"a target that is none, in an example",
	 HEAD WRONG "  examples = { { name = 'e', want = {} } },\n}", false, false, false,
	 NEAP_EINVAL, 5, "there is no 'best-effort'"},
	{"a target that is none, wanted by an example",
	 HEAD TICK
	 "  examples = { { name = \"e\", want = { { target = 'best-effort', key = "
	 "'cpu.idle', value = 1 } } } },\n}",
	 false, false, false, NEAP_EINVAL, 6, "there is no 'best-effort'"},
	{"examples", HEAD TICK "  examples = { { name = 'e', want = {} } },\n}", false,
	 false, false, NEAP_OK, 0, ""},
	{"a score",
	 OTHER("score") "  needs = { 'pod.namespace' },\n"
			"  plan = function() error('seen') end,\n}",
	 true, true, true, NEAP_EINVAL, 4, "seen"},
	{"a filter", OTHER("filter") "  allow = function() error('seen') end,\n}", true,
	 true, true, NEAP_EINVAL, 3, "seen"},
	{"a reservation",
	 OTHER("reservation") "  match = function() error('seen') end,\n}", true, true,
	 true, NEAP_EINVAL, 3, "seen"},
	{"its rank",
	 OTHER("reservation") "  match = function() return true end,\n"
			      "  rank = function() return 500 end,\n}",
	 true, true, true, NEAP_EINVAL, 4, "rank returned"},
	{"one that is fit",
	 OTHER("reservation") "  match = function() return true end,\n}", true, true,
	 true, NEAP_OK, 0, ""},
};

static void test_rows(void **state)
{
	struct neap_tape *tape = make_tape();
	const struct neap_inputs inputs = {tape};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		struct neap_judge_input input = {.newer = {.text = rows[i].text,
							   .len = strlen(rows[i].text),
							   .origin = "p.lua"},
						 .inputs = rows[i].has_tape ? &inputs
									    : NULL};
		struct neap_judgement verdict;
		struct neap_error err = {0};
		int rc = neap_judge(&input, &verdict, &err);

		if (-rc != rows[i].code || verdict.is_made != rows[i].is_made ||
		    (verdict.replay != NULL) != rows[i].is_replayed ||
		    verdict.problems[0].line != rows[i].line ||
		    !strstr(err.msg, rows[i].what))
			fail_msg("%s: %d, made %d, replayed %d, line %d: %s",
				 rows[i].name, -rc, verdict.is_made,
				 verdict.replay != NULL, verdict.problems[0].line,
				 err.msg);
		neap_judgement_done(&verdict);
	}
	(void)neap_tape_unref(tape);
}

static void expect_seen(const char *needs)
{
	char text[6000];
	const struct neap_judge_input input = {
		.newer = {.text = text, .origin = "p.lua"}};
	struct neap_judge_input asked = input;
	struct neap_judgement verdict;
	struct neap_error err = {0};

	(void)snprintf(text, sizeof(text),
		       HEAD
		       "  needs = { %s },\n  tick = function() error('seen') end,\n}",
		       needs);
	asked.newer.len = strlen(text);
	assert_true(neap_judge(&asked, &verdict, &err) < 0);
	if (!strstr(err.msg, "seen"))
		fail_msg("%s: %s", needs, err.msg);
	neap_judgement_done(&verdict);
}

/* Nothing that a policy can ask for is missing: it would be skipped, and that proves
 * nothing. */
static void test_nothing_is_missing(void **state)
{
	(void)state;
	for (const struct neap_field *f = neap_sample_fields; f->name; f++) {
		char needs[200];

		(void)snprintf(needs, sizeof(needs), "'%s'", f->name);
		expect_seen(needs);
		if (f->type != NEAP_FIELD_STRUCT)
			continue;
		for (const struct neap_field *in = f->fields; in->name; in++) {
			(void)snprintf(needs, sizeof(needs), "'%s.%s'", f->name,
				       in->name);
			expect_seen(needs);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_nothing_is_missing),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
