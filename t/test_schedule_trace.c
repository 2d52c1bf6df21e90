/* SPDX-License-Identifier: Apache-2.0
 *
 * Four thousand pods on two hundred nodes, in bursts, with pods and nodes that go in
 * between. Whoever checks (the books) knows nothing of the scheduler and reads
 * objects: at no moment is more on a node than it has; and whenever nothing moves any
 * more, each pod that waits says truly why. NEAP_TRACE_PODS: so many pods, and a node
 * for twenty. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "t/lib/trace_rig.h"

#define PODS       4000
#define PODS_SMALL 1200
#define CHECKS     4 /* of those that wait, in all */

static int pods_wanted(int otherwise)
{
	const char *text = getenv("NEAP_TRACE_PODS");
	long pods = text ? strtol(text, NULL, 10) : otherwise;

	return pods < PODS_SMALL || pods > TRACE_PODS_MAX ? otherwise : (int)pods;
}

/* Nodes that are gone at the moment; some come back with what stood on them, of others
 * the pods are deleted. */
struct gone {
	int nodes[8];
	int count;
};

static void move_nodes(struct trace *trace, struct gone *gone)
{
	if (gone->count < (int)NEAP_ARRAY_LEN(gone->nodes) && !trace_roll(trace, 6)) {
		int node = (int)trace_roll(trace, (uint32_t)trace->node_count);

		gone->nodes[gone->count++] = node;
		trace_delete_node(trace, node);
	}
	if (gone->count && !trace_roll(trace, 6))
		trace_add_node(trace, gone->nodes[--gone->count]);
}

static void step(struct trace *trace, struct gone *gone, int pods)
{
	uint32_t burst = 1 + trace_roll(trace, 120);
	uint32_t leaving = trace_roll(trace, 70);

	while (burst-- && trace->pod_count < pods)
		trace_add_pod(trace);
	while (leaving--)
		trace_delete_pod(trace,
				 (int)trace_roll(trace, (uint32_t)trace->pod_count));
	move_nodes(trace, gone);
	trace_run(trace, (int)trace_roll(trace, 40));
	kube_now += (int64_t)trace_roll(trace, 3) * 500000;
}

static void run(struct trace *trace, int pods)
{
	struct gone gone = {0};
	int check = 1;

	for (int i = 0; i < pods / 20; i++)
		trace_add_node(trace, i);
	trace_settle(trace);
	trace_start_scheduler(trace, 0);
	while (trace->pod_count < pods) {
		step(trace, &gone, pods);
		if (trace->pod_count < (int64_t)pods * check / CHECKS)
			continue;
		trace_check_waiting(trace);
		check++;
	}
	while (gone.count)
		trace_add_node(trace, gone.nodes[--gone.count]);
	trace_check_waiting(trace);
	print_message("# %zu bindings, %zu with CPUs, %zu pods have a place, %zu wait\n",
		      book_bindings(trace->book), book_cpu_bindings(trace->book),
		      book_bound(trace->book), book_waiting(trace->book));
	assert_true(book_bindings(trace->book) > (size_t)pods / 3);
	assert_true(book_waiting(trace->book) > (size_t)pods / 500);
}

static void test_plain(void **state)
{
	struct trace trace;

	(void)state;
	trace_start(&trace, 42);
	run(&trace, pods_wanted(PODS));
	trace_stop(&trace);
}

/* Nobody goes, so that what is even is so at every moment. */
static void test_spread(void **state)
{
	struct trace trace;

	(void)state;
	trace_start(&trace, 7);
	for (int i = 0; i < 200; i++)
		trace_add_node(&trace, i);
	trace_settle(&trace);
	trace_start_scheduler(&trace, 0);
	book_watch_spread(trace.book);
	trace.is_spread = true;
	while (trace.pod_count < 1000) {
		for (uint32_t n = trace_roll(&trace, 60); n--;)
			trace_add_pod(&trace);
		trace_run(&trace, (int)trace_roll(&trace, 10));
	}
	trace_check_waiting(&trace);
	print_message("# %zu bindings, %zu wait\n", book_bindings(trace.book),
		      book_waiting(trace.book));
	assert_true(book_bindings(trace.book) > 600);
	trace_stop(&trace);
}

static void test_cpus(void **state)
{
	struct trace trace;

	(void)state;
	trace_start(&trace, 43);
	trace.has_cpus = true;
	run(&trace, pods_wanted(2000));
	assert_true(book_cpu_bindings(trace.book) > (size_t)trace.pod_count / 12);
	trace_stop(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spread),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_cpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
