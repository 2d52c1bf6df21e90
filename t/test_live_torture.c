/* SPDX-License-Identifier: Apache-2.0
 *
 * Live policies where disk or memory fail at each step in turn, on the loop and on the
 * policy thread. */
#include <errno.h>
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

#include "api/policy/folder.h"
#include "engine/base/mem.h"
#include "t/lib/live_rig.h"
#include "t/lib/patience.h"

/* --- disk --- */

struct fault {
	uint64_t at;
	int errnum;
};

static void set_fault(void *arg)
{
	const struct fault *fault = arg;

	neap_folder_fail_at(fault->at, fault->errnum);
}

static void ignore(void *arg)
{
	(void)arg;
}

/* The next step on disk of the policy thread fails. */
static void fail_disk(struct live_rig *rig, uint64_t at)
{
	struct fault fault = {at, ENOSPC};

	assert_int_equal(
		neap_thread_give(rig->live->thread, set_fault, ignore, &fault, NULL), 0);
	assert_true(comes_true_in(rig->base, neap_thread_count(rig->live->thread) == 0));
}

/* Each step of each change in turn: what acts is what is on disk, or it says that it is
 * not. */
static void test_disk(void **state)
{
	static const char *const changes[] = {"+B", "x", "<", "p500"};
	size_t i;
	uint64_t n;

	for (i = 0; i < NEAP_ARRAY_LEN(changes); i++) {
		for (n = 1; n < 60; n++) {
			struct live_rig *rig = live_open(state);
			bool is_through;

			live_play(rig, "one", "+C +A p300");
			fail_disk(rig, n);
			switch (changes[i][0]) {
			case '+':
				(void)live_put(rig, "one", live_text("one", 'B'));
				break;
			case 'p':
				(void)live_set(rig, "{\"milli\": 500}");
				break;
			default: {
				struct neap_live_change change = live_change(rig, "one");
				struct neap_error err = {0};
				int rc = changes[i][0] == 'x'
						 ? neap_live_delete(rig->live, &change,
								    &err)
						 : neap_live_rollback(rig->live, &change,
								      "", &err);

				(void)live_ask(rig, rc, &err);
			}
			}
			is_through = rig->answer.status == 200;
			fail_disk(rig, 0);
			if (!is_through && (rig->answer.status < 500 ||
					    !strstr(rig->answer.err.msg, rig->dir)))
				fail_msg("%s, step %d: %d: %s", changes[i], (int)n,
					 rig->answer.status, rig->answer.err.msg);
			if (!is_through) {
				assert_string_equal(live_state(rig, "one"), "uA*");
				assert_int_equal(live_milli(rig), 300);
			}
			assert_int_equal(live_active(rig, "one"),
					 live_state(rig, "one")[0] == '-'
						 ? '-'
						 : live_state(rig, "one")[1]);
			live_play(rig, "one", "+A:uA* +B:uB*");
			live_teardown(state);
			if (is_through && n > 40)
				break;
		}
	}
}

/* --- memory --- */

static void set_memory(void *arg)
{
	neap_mem_fail_at(*(uint64_t *)arg);
}

static void fail_memory(struct live_rig *rig, bool is_thread, uint64_t n)
{
	if (!is_thread) {
		neap_mem_fail_at(n);
		return;
	}
	assert_int_equal(
		neap_thread_give(rig->live->thread, set_memory, ignore, &n, NULL), 0);
	assert_true(comes_true_in(rig->base, neap_thread_count(rig->live->thread) == 0));
}

/* On either thread every allocation fails in turn: the old or the new acts, and the next
 * change goes through. */
static void torture(void **state, const char *word, bool is_thread)
{
	uint64_t n, step = 1;

	for (n = 1; n < 6000; n += step) {
		struct live_rig *rig = live_open(state);
		struct neap_error err = {0};
		struct neap_live_change change;
		int rc = 0, i;
		bool is_over;

		step = 1 + n / 16;
		live_play(rig, "one", "+C +A p300");
		change = live_change(rig, "one");
		fail_memory(rig, is_thread, n);
		if (word[0] == '+') {
			const char *text = live_text("one", 'B');

			rc = neap_live_put(rig->live, &change, text, strlen(text), &err);
		} else if (word[0] == '<') {
			rc = neap_live_rollback(rig->live, &change, "", &err);
		} else if (word[0] == 'x') {
			rc = neap_live_delete(rig->live, &change, &err);
		} else if (word[0] == 'v') {
			rc = neap_live_list_versions(rig->live, &change, "", &err);
		} else if (word[0] == '!') {
			rig->sample.capacity_milli = live_bit('A');
			for (i = 0; i < NEAP_POLICY_FAULTS_MAX; i++)
				live_tick(rig);
			rig->sample.capacity_milli = 0;
		}
		live_settle(rig);
		fail_memory(rig, is_thread, 0);
		assert_int_equal(rig->answer.calls, rc < 0 || word[0] == '!' ? 0 : 1);
		is_over = rc == 0 && (word[0] == '!' ? live_state(rig, "one")[1] == 'C'
						     : rig->answer.status == 200);
		if (!is_over && word[0] != '!')
			assert_string_equal(live_state(rig, "one"), "uA*");
		assert_int_equal(rig->live->waiting, 0);
		live_play(rig, "one", "+D:uD* !D");
		live_teardown(state);
	}
}

/* A file that could not be taken is when it changes next. */
static void torture_file(void **state, bool is_thread)
{
	uint64_t n, step = 1;

	for (n = 1; n < 6000; n += step) {
		struct live_rig *rig = live_open(state);
		const char *is;

		step = 1 + n / 16;
		rig->has_dir = true;
		live_play(rig, "one", "R dA:dA*");
		fail_memory(rig, is_thread, n);
		live_file(rig, "one.lua", live_text("one", 'B'));
		fail_memory(rig, is_thread, 0);
		is = live_state(rig, "one");
		if (strcmp(is, "dA*") != 0 && strcmp(is, "dB*") != 0)
			fail_msg("allocation %d: %s", (int)n, is);
		live_play(rig, "one", "dC:dC*");
		fail_memory(rig, is_thread, n);
		live_file(rig, "one.lua", NULL);
		fail_memory(rig, is_thread, 0);
		live_play(rig, "one", "dD:dD*");
		live_teardown(state);
	}
}

static void test_torture(void **state)
{
	static const char *const words[] = {"+", "<", "x", "v", "!"};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(words); i++) {
		torture(state, words[i], false);
		torture(state, words[i], true);
	}
	torture_file(state, false);
	torture_file(state, true);
}

/* The start itself: what is there afterwards is whole, or the start says what it
 * lacks. */
static void test_torture_start(void **state)
{
	uint64_t n, step = 1;

	for (n = 1; n < 6000; n += step) {
		struct live_rig *rig = live_open(state);
		struct neap_error err = {0};
		int rc;

		step = 1 + n / 16;
		live_play(rig, "one", "cD +C +A p300");
		live_stop(rig);
		neap_mem_fail_at(n);
		rc = live_start(rig, &err);
		neap_mem_fail_at(0);
		if (rc == 0) {
			live_play(rig, "one", "+B:uB*");
			/* No version is held to be bad because of it. */
			live_play(rig, "one", "R:uB <A:uA* R:uA <C");
		}
		live_teardown(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_disk),
		cmocka_unit_test(test_torture),
		cmocka_unit_test(test_torture_start),
	};

	patience_with_scripts();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
