/* SPDX-License-Identifier: Apache-2.0
 *
 * Work in slices: who has the next one, what goes on at once, and what may happen to a
 * task within its step. */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/task/task.h"

#define TASKS_MAX 8

struct rig {
	struct event_base *base;
	struct neap_tasks *tasks;
	char done[64]; /* letters of those that had a slice */
};

struct work {
	struct rig *rig;
	struct neap_task *task;
	char letter;
	int left;      /* slices */
	bool is_freed; /* by itself, at the end */
};

static enum neap_task_next step(void *arg)
{
	struct work *work = arg;
	size_t len = strlen(work->rig->done);

	if (len + 1 < sizeof(work->rig->done))
		work->rig->done[len] = work->letter;
	if (--work->left > 0)
		return NEAP_TASK_GOES_ON;
	if (!work->is_freed)
		return NEAP_TASK_WAITS;
	neap_task_free(work->task);
	work->task = NULL;
	return NEAP_TASK_IS_OVER;
}

static int begin(void **state)
{
	struct rig *rig = calloc(1, sizeof(*rig));

	assert_non_null(rig);
	rig->base = event_base_new();
	rig->tasks = neap_tasks_new(rig->base);
	assert_non_null(rig->tasks);
	*state = rig;
	return 0;
}

static int end(void **state)
{
	struct rig *rig = *state;

	neap_tasks_free(rig->tasks);
	event_base_free(rig->base);
	free(rig);
	return 0;
}

static void start(struct rig *rig, const char *peer, char letter, int left,
		  struct work *work)
{
	*work = (struct work){.rig = rig, .letter = letter, .left = left};
	work->task = neap_task_new(rig->tasks, peer, step, work);
	assert_non_null(work->task);
}

/* --- whose turn it is --- */

static void test_share(void **state)
{
	static const struct {
		const char *name;
		const char *peers[TASKS_MAX]; /* of the tasks a, b, c ... */
		int slices[TASKS_MAX];
		const char *want;
	} rows[] = {
		{"one alone", {"x"}, {3}, "aaa"},
		{"two of one take turns", {"x", "x"}, {2, 2}, "abab"},
		{"two peers take turns", {"x", "y"}, {2, 2}, "abab"},
		{"who asks for much waits for himself",
		 {"x", "x", "x", "y"},
		 {2, 2, 2, 2},
		 "adbdcabc"},
		{"neapd is one of them", {"x", "x", ""}, {1, 1, 2}, "acbc"},
	};
	struct rig *rig = *state;

	/* One slice a turn of the loop, so that nothing depends on the time. */
	neap_tasks_set_times(rig->tasks, 0, 0);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct work works[TASKS_MAX] = {0};
		size_t count = 0;

		memset(rig->done, 0, sizeof(rig->done));
		for (; count < TASKS_MAX && rows[i].peers[count]; count++) {
			start(rig, rows[i].peers[count], (char)('a' + count),
			      rows[i].slices[count], &works[count]);
			neap_task_go(works[count].task);
		}
		assert_string_equal(rig->done, ""); /* no time: later */
		(void)event_base_dispatch(rig->base);
		if (strcmp(rig->done, rows[i].want) != 0)
			fail_msg("%s: %s, not %s", rows[i].name, rig->done, rows[i].want);
		while (count--)
			neap_task_free(works[count].task);
	}
}

/* --- at once --- */

static void test_at_once(void **state)
{
	struct rig *rig = *state;
	struct work first, second;

	neap_tasks_set_times(rig->tasks, 1000000, 1000000);
	start(rig, "x", 'a', 3, &first);
	start(rig, "y", 'b', 2, &second);
	neap_task_go(first.task);
	assert_string_equal(rig->done, "aaa"); /* nobody waits, and there is time */
	first.left = 1;
	neap_task_wake(second.task);
	assert_string_equal(rig->done, "aaa");
	neap_task_go(first.task);
	assert_string_equal(rig->done, "aaa"); /* somebody waits */
	(void)event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "aaabab");
	neap_task_free(first.task);
	neap_task_free(second.task);
}

/* A turn that was used up leaves the rest to the next one. */
static enum neap_task_next burn(void *arg)
{
	struct work *work = arg;

	while (neap_task_has_time(work->task))
		;
	return step(arg);
}

static void test_turn_is_spent(void **state)
{
	struct rig *rig = *state;
	struct work work = {.rig = rig, .letter = 'a', .left = 5};

	neap_tasks_set_times(rig->tasks, 2000, 2000);
	work.task = neap_task_new(rig->tasks, "x", burn, &work);
	neap_task_go(work.task);
	assert_string_equal(rig->done, "a");
	(void)event_base_loop(rig->base, EVLOOP_ONCE);
	assert_string_equal(rig->done, "aa");
	(void)event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "aaaaa");
	assert_int_equal(neap_tasks_count(rig->tasks), 5);
	neap_task_free(work.task);
}

/* --- ends --- */

static void test_frees_itself(void **state)
{
	struct rig *rig = *state;
	struct work one, other;

	start(rig, "x", 'a', 2, &one);
	start(rig, "x", 'b', 3, &other);
	one.is_freed = true;
	neap_task_wake(one.task);
	neap_task_wake(other.task);
	neap_task_wake(other.task); /* twice is once */
	(void)event_base_dispatch(rig->base);
	assert_null(one.task);
	assert_string_equal(rig->done, "ababb");
	neap_task_wake(other.task);
	neap_task_free(other.task); /* due, and gone */
	(void)event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "ababb");
}

static void test_later(void **state)
{
	struct rig *rig = *state;
	struct work work;

	start(rig, "x", 'a', 1, &work);
	neap_task_wake_later(work.task, 1000);
	(void)event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "a");
	/* One that was woken before does not come twice. */
	work.left = 1;
	neap_task_wake_later(work.task, 50000);
	neap_task_wake(work.task);
	(void)event_base_dispatch(rig->base);
	assert_string_equal(rig->done, "aa");
	neap_task_free(work.task);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_share, begin, end),
		cmocka_unit_test_setup_teardown(test_at_once, begin, end),
		cmocka_unit_test_setup_teardown(test_turn_is_spent, begin, end),
		cmocka_unit_test_setup_teardown(test_frees_itself, begin, end),
		cmocka_unit_test_setup_teardown(test_later, begin, end),
	};

	return cmocka_run_group_tests_name("task", tests, NULL, NULL);
}
