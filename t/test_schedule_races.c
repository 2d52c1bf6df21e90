/* SPDX-License-Identifier: Apache-2.0
 *
 * More than one who binds: two schedulers on one store, somebody who binds without
 * looking, pods and nodes that go between decision and binding, schedulers that are
 * killed. No pod gets a second place; a node is too full only where two did not know of
 * each other, and nothing more comes to it then; what was refused is free again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "t/lib/trace_races.h"

#define NODES 80

static void start(struct trace *trace, uint32_t seed, bool is_mild)
{
	trace_start(trace, seed);
	trace->has_cpus = true;
	trace->is_mild = is_mild;
	trace_open(trace, NODES);
}

/* Room is left, and all that wait had their try: those that still do say truly why. */
static void end(struct trace *trace, size_t least)
{
	for (int i = 0; i < trace->pod_count; i += 2)
		trace_delete_pod(trace, i);
	trace_check_waiting(trace);
	print_message("# %zu bindings, %zu with CPUs, %zu wait, %zu of %zu requests "
		      "refused\n",
		      book_bindings(trace->book), book_cpu_bindings(trace->book),
		      book_waiting(trace->book), trace->refused, trace->asked);
	assert_true(book_bindings(trace->book) > least);
	trace_stop(trace);
}

/* Both take the same pods, at the same time. */
static void test_two_schedulers(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace, 1, true);
	trace_start_scheduler(&trace, 1);
	book_allow_races(trace.book);
	for (int i = 0; i < 25; i++) {
		trace_add_burst(&trace, 60);
		trace_run(&trace, trace_some(&trace, 30));
		kube_now += 500000;
		trace_rest(&trace);
	}
	end(&trace, 300);
}

/* The names are those of pods that wait, have a place, or are gone. */
static void test_blind_client(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace, 2, true);
	book_allow_races(trace.book);
	for (int i = 0; i < 40; i++) {
		trace_add_burst(&trace, 50);
		for (int n = 0; n < 12; n++) {
			trace_bind(&trace, trace.pod_count - 1 - trace_some(&trace, 60),
				   trace_some(&trace, NODES));
			trace_run(&trace, trace_some(&trace, 3));
		}
		kube_now += 500000;
		if (trace_some(&trace, 3))
			continue;
		trace_rest(&trace);
	}
	end(&trace, 300);
}

/* What was decided for a pod or a node does not fit what there is when it is written:
 * pods that are others of the same name, or have changed, and nodes that went. */
static void test_conflicts(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace, 3, false);
	for (int i = 0; i < 150; i++) {
		trace_add_burst(&trace, 16);
		trace_run(&trace, trace_some(&trace, 4));
		trace_replace_some(&trace, 1);
		trace_run(&trace, trace_some(&trace, 6));
		kube_now += 300000;
	}
	trace_bring_node_back(&trace);
	assert_true(trace.refused > 20);
	end(&trace, 300);
}

/* The next one finds what was done, and what is on its way. */
static void test_killed(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace, 4, false);
	for (int i = 0; i < 40; i++) {
		trace_add_burst(&trace, 40);
		trace_run(&trace, trace_some(&trace, 12));
		trace_kill_scheduler(&trace, 0);
		trace_touch_pod(&trace, trace_some(&trace, trace.pod_count));
		/* What was accepted becomes durable, as it is when a process starts. */
		trace_settle(&trace);
		trace_start_scheduler(&trace, 0);
		kube_now += 300000;
	}
	end(&trace, 300);
}

/* Bindings are accepted, and then the disk does not take them. */
static void test_full_disk(void **state)
{
	struct crash_vfs *vfs = crash_vfs_new(5);
	struct trace trace;

	(void)state;
	start(&trace, 5, false);
	/* How much of it is refused is a matter of when the disk is written. */
	for (int i = 0; i < 3000 && (i < 120 || book_bindings(trace.book) <= 300 ||
				     crash_vfs_failed(vfs) <= 20);
	     i++) {
		trace_add_burst(&trace, 24);
		trace_run(&trace, trace_some(&trace, 6));
		trace_fill_disk(&trace, vfs);
		trace_run(&trace, trace_some(&trace, 6));
		kube_now += 300000;
	}
	crash_vfs_fail(vfs, CRASH_WRITE, 0, 0, 0);
	assert_true(crash_vfs_failed(vfs) > 20);
	assert_true(trace.refused > 20);
	end(&trace, 300);
	crash_vfs_free(vfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_schedulers),
		cmocka_unit_test(test_blind_client),
		cmocka_unit_test(test_conflicts),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
