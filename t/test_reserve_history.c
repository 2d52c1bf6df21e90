/* SPDX-License-Identifier: Apache-2.0
 *
 * Nothing is ever promised twice: Reservations, pods, and pods in operating mode, which
 * act as Reservations, come, use one another, are resized, finish, expire and go at
 * random, with nodes that are lost and come back, schedulers and the controller of
 * statuses killed at any moment, others who write without looking, and a disk that
 * refuses. Whoever checks (the books, cluster_book.h) reads objects alone: after every
 * turn of the loop, what pods use and what is kept and not in use fits, and no CPU has
 * two owners; at each rest every status says truly who uses it, and what the scheduler
 * has counted equals a plain recount. NEAP_HISTORY_STEPS: so many steps of each history;
 * NEAP_HISTORY_SEED: others, by a number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "t/lib/crash_vfs.h"
#include "t/lib/trace_rig.h"

#define STEPS 200
#define NODES 24
/* As far back as anybody looks for somebody to do something to. */
#define RECENT 60

enum {
	HAS_CPUS = 1,
	HAS_NODES_LOST = 2,
	HAS_KILLS = 4,
	HAS_OTHERS = 8,  /* who write without looking */
	HAS_SECOND = 16, /* a second scheduler */
	HAS_BAD_DISK = 32,
};

struct history {
	struct trace trace;
	struct crash_vfs *vfs;
	int has;
	int gone; /* a node; -1: none */
	int rests;
};

static int some(struct history *history, int count)
{
	return (int)trace_roll(&history->trace, (uint32_t)count);
}

static bool is_one_of(struct history *history, int of)
{
	return some(history, of) == 0;
}

static int recent(struct history *history, int count)
{
	int back = count < RECENT ? count : RECENT;

	return back ? count - 1 - some(history, back) : 0;
}

static int recent_pod(struct history *history)
{
	return recent(history, history->trace.pod_count);
}

static int recent_kept(struct history *history)
{
	return recent(history, history->trace.kept_count);
}

static void restart_controller(struct history *history)
{
	trace_kill_controller(&history->trace);
	trace_start_controller(&history->trace);
}

/* --- steps --- */

/* Pods in operating mode are as Reservations when they are Ready, which nobody here makes
 * them but this. */
static void move_room(struct history *history)
{
	struct trace *trace = &history->trace;

	if (is_one_of(history, 3)) {
		trace_add_room(trace);
		return;
	}
	trace_turn_room(trace, some(history, TRACE_ROOMS));
	trace_run(trace, some(history, 20));
	trace_add_user(trace);
}

static void move_node(struct history *history)
{
	if (history->gone >= 0) {
		trace_add_node(&history->trace, history->gone);
		history->gone = -1;
	} else {
		history->gone = some(history, NODES);
		trace_delete_node(&history->trace, history->gone);
	}
}

static void kill_somebody(struct history *history)
{
	struct trace *trace = &history->trace;

	if (is_one_of(history, 3)) {
		restart_controller(history);
		return;
	}
	trace_kill_scheduler(trace, 0);
	if (is_one_of(history, 2))
		trace_run(trace, some(history, 5));
	trace_settle(trace);
	trace_start_scheduler(trace, 0);
}

static void write_blindly(struct history *history)
{
	struct trace *trace = &history->trace;

	switch (some(history, 5)) {
	case 0:
		trace_resize(trace, recent_kept(history));
		break;
	case 1:
		trace_move_user(trace, recent_pod(history));
		break;
	case 2:
		trace_touch_pod(trace, recent_pod(history));
		break;
	case 3:
		trace_close(trace, recent_kept(history));
		break;
	default:
		trace_scribble(trace, recent_kept(history));
	}
}

static void end_something(struct history *history)
{
	struct trace *trace = &history->trace;

	switch (some(history, 6)) {
	case 0:
		trace_delete_reservation(trace, recent_kept(history));
		break;
	case 1:
	case 2:
		trace_finish_pod(trace, recent_pod(history));
		break;
	default:
		trace_delete_pod(trace, recent_pod(history));
	}
}

/* Time goes by at once, for a controller that begins anew and so looks at all. */
static void let_expire(struct history *history)
{
	static const int64_t seconds[] = {30, 301, 301, 3601};

	kube_now += seconds[some(history, 4)] * 1000000;
	restart_controller(history);
}

static void step(struct history *history)
{
	struct trace *trace = &history->trace;
	int what = some(history, 30);

	if (what < 6)
		trace_add_reservation(trace);
	else if (what < 13)
		for (int n = 1 + some(history, 4); n--;)
			trace_add_user(trace);
	else if (what < 18)
		end_something(history);
	else if (what >= 24)
		move_room(history);
	else if (what == 18)
		let_expire(history);
	else if (what == 19 && (history->has & HAS_NODES_LOST))
		move_node(history);
	else if (what == 20 && (history->has & HAS_KILLS))
		kill_somebody(history);
	else if (what < 23 && (history->has & HAS_OTHERS))
		write_blindly(history);
	else if (history->has & HAS_BAD_DISK)
		crash_vfs_fail(history->vfs, CRASH_WRITE, 1 + trace_roll(trace, 8), 1,
			       SQLITE_FULL);
	if (is_one_of(history, 2))
		trace_run(trace, some(history, 8));
	kube_now += (int64_t)some(history, 3) * 400000;
}

/* --- a history --- */

static int wanted(const char *name, int otherwise)
{
	const char *text = getenv(name);
	long number = text ? strtol(text, NULL, 10) : otherwise;

	return number < 0 || number > 1000000 ? otherwise : (int)number;
}

static int steps_wanted(void)
{
	return wanted("NEAP_HISTORY_STEPS", STEPS);
}

static void rest(struct history *history)
{
	if (history->vfs)
		crash_vfs_fail(history->vfs, CRASH_WRITE, 0, 0, 0);
	trace_settle_kept(&history->trace);
	history->rests++;
}

/* Of all histories: pods that were bound to use one in operating mode. */
static size_t room_uses;

/* Nothing is kept any more, and all that wait say truly why. */
static void end(struct history *history)
{
	struct trace *trace = &history->trace;

	if (history->gone >= 0)
		move_node(history);
	rest(history);
	print_message("# %d rests, %zu bindings, %zu of them use one of %zu that were "
		      "placed or one of %d pods (%zu), %zu with CPUs, %zu of %zu "
		      "requests refused\n",
		      history->rests, book_bindings(trace->book), book_uses(trace->book),
		      book_available(trace->book), trace->room_count,
		      book_room_uses(trace->book), book_cpu_bindings(trace->book),
		      trace->refused, trace->asked);
	assert_true(book_available(trace->book) > (size_t)steps_wanted() / 20);
	assert_true(book_uses(trace->book) > (size_t)steps_wanted() / 20);
	room_uses += book_room_uses(trace->book);
	for (int i = 0; i < trace->kept_count; i++)
		trace_delete_reservation(trace, i);
	for (int i = 0; i < trace->pod_count; i++)
		if (i % 3)
			trace_delete_pod(trace, i);
	rest(history);
	assert_int_equal(book_reservations(trace->book), 0);
}

static void run(uint32_t seed, int has)
{
	struct history history = {.has = has, .gone = -1};
	struct trace *trace = &history.trace;
	int steps = steps_wanted();

	seed += 100 * (uint32_t)wanted("NEAP_HISTORY_SEED", 0);
	if (has & HAS_BAD_DISK)
		history.vfs = crash_vfs_new(seed);
	trace_start(trace, seed);
	trace->has_cpus = (has & HAS_CPUS) != 0;
	for (int i = 0; i < NODES; i++)
		trace_add_node(trace, i);
	trace_settle(trace);
	trace_start_scheduler(trace, 0);
	trace_start_controller(trace);
	if (has & HAS_SECOND) {
		trace->is_mild = true;
		trace_start_scheduler(trace, 1);
		book_allow_races(trace->book);
	}
	for (int i = 0; i < steps; i++) {
		step(&history);
		if (is_one_of(&history, 6))
			rest(&history);
	}
	end(&history);
	trace_stop(trace);
	if (history.vfs)
		crash_vfs_free(history.vfs);
}

static void test_plain(void **state)
{
	(void)state;
	run(1, 0);
}

static void test_cpus(void **state)
{
	(void)state;
	run(2, HAS_CPUS | HAS_NODES_LOST);
}

static void test_killed(void **state)
{
	(void)state;
	run(3, HAS_CPUS | HAS_KILLS | HAS_NODES_LOST);
}

static void test_others(void **state)
{
	(void)state;
	run(4, HAS_CPUS | HAS_OTHERS | HAS_KILLS);
}

static void test_second_scheduler(void **state)
{
	(void)state;
	run(5, HAS_CPUS | HAS_SECOND);
}

static void test_bad_disk(void **state)
{
	(void)state;
	run(6, HAS_CPUS | HAS_KILLS | HAS_BAD_DISK);
}

static void test_rooms_were_used(void **state)
{
	(void)state;
	assert_true(room_uses > (size_t)steps_wanted() / 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_cpus),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_second_scheduler),
		cmocka_unit_test(test_bad_disk),
		cmocka_unit_test(test_rooms_were_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
