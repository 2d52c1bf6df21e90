/* SPDX-License-Identifier: Apache-2.0
 *
 * A kube-scheduler that filters and binds through the extender beside the loop, its own
 * pods and at times the loop's: what was fine at the filter may be gone at the binding,
 * nodes and pods go between, the store refuses, neapd is killed before its answer. No pod
 * gets a second place, no CPU is had twice, every binding is answered truly, and what was
 * not bound is free again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/schedule/view.h"
#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "t/lib/trace_races.h"

#define NODES     40
#define CALLS_MAX 8192

/* What the kube-scheduler decided. */
struct call {
	const struct trace *trace;
	char pod[32], uid[NEAP_OBJECT_UID], node[NEAP_OBJECT_NAME];
	bool is_answered;
};

struct client {
	struct call calls[CALLS_MAX];
	size_t count, bound, refused, lost; /* lost: neapd ended before it knew */
};

static struct client client;

static void start(struct trace *trace, uint32_t seed)
{
	client = (struct client){0};
	trace_start(trace, seed);
	trace->has_cpus = true;
	trace->is_mild = true;
	trace->has_others = true;
	trace_open(trace, NODES);
}

/* --- the calls --- */

/* A node that the pod fits onto now, by chance; false: it has a place, or there is
 * none. */
static bool filter(struct trace *trace, int i, struct call *ret)
{
	uint32_t rows[NODES * 2];
	struct neap_schedule_view view;
	struct neap_verdict verdict;
	const struct neap_columns *columns;
	const struct neap_pod *pod;
	struct neap_error err;
	size_t count = 0;

	if (!trace->schedulers[0] || !neap_scheduler_view(trace->schedulers[0], &view))
		return false;
	trace_name_pod(i, ret->pod);
	pod = neap_cluster_find_pod(view.cluster, "default", ret->pod);
	if (!pod || pod->seat.node)
		return false;
	columns = neap_cluster_settle(view.cluster);
	for (uint32_t row = 0; row < columns->rows && count < NEAP_ARRAY_LEN(rows); row++)
		if (columns->flags[row] & NEAP_ROW_IS_THERE)
			rows[count++] = row;
	assert_int_equal(neap_decide_rows(view.decide, pod, rows, count, &verdict, &err),
			 0);
	if (!verdict.count)
		return false;
	(void)snprintf(ret->node, sizeof(ret->node), "%s",
		       columns->nodes[verdict.rows[trace_some(trace, (int)verdict.count)]]
			       ->name);
	(void)snprintf(ret->uid, sizeof(ret->uid), "%s", pod->object->uid);
	ret->trace = trace;
	ret->is_answered = false;
	return true;
}

static bool is_waiting(struct trace *trace, int i)
{
	char name[32];

	trace_name_pod(i, name);
	return !*book_node_of(trace->book, "default", name);
}

static void told(void *arg, const char *trouble)
{
	struct call *call = arg;
	const struct neap_object *newest;

	assert_false(call->is_answered);
	call->is_answered = true;
	if (trouble) {
		*(strcmp(trouble, "neapd is ending") == 0 ? &client.lost
							  : &client.refused) += 1;
		return;
	}
	client.bound++;
	newest = neap_store_newest(call->trace->rig->store.store, "pods", "default",
				   call->pod);
	if (newest && strcmp(newest->uid, call->uid) == 0)
		assert_string_equal(neap_object_field(newest, "spec.nodeName"),
				    call->node);
}

static void bind(struct trace *trace, const struct call *what)
{
	struct call *call = &client.calls[client.count++];
	struct neap_schedule_binding binding = {.ns = "default",
						.name = call->pod,
						.uid = call->uid,
						.node = call->node,
						.told = told,
						.arg = call};

	assert_true(client.count < CALLS_MAX);
	*call = *what;
	neap_scheduler_bind(trace->schedulers[0], &binding);
}

/* Room is left: the kube-scheduler's pods go where they fit, and those of the loop that
 * still wait say truly why, so that nothing is kept for bindings that failed. All was
 * answered. */
static void end(struct trace *trace, size_t least)
{
	for (int i = 1; i < trace->pod_count; i += 4)
		trace_delete_pod(trace, i);
	trace_settle(trace);
	for (int i = 0; i < trace->pod_count; i++) {
		struct call call;

		if (filter(trace, i, &call)) {
			bind(trace, &call);
			/* However seldom the loop was quicker: the second is refused. */
			bind(trace, &call);
		}
		trace_run(trace, 1);
	}
	trace_settle(trace);
	for (int i = 0; i < trace->pod_count; i += 2)
		if (is_waiting(trace, i))
			trace_delete_pod(trace, i);
	trace_check_waiting(trace);
	print_message(
		"# %zu bindings, %zu with CPUs; of %zu calls %zu bound, %zu refused, "
		"%zu lost\n",
		book_bindings(trace->book), book_cpu_bindings(trace->book), client.count,
		client.bound, client.refused, client.lost);
	assert_int_equal(client.bound + client.refused + client.lost, client.count);
	assert_true(client.bound > least && client.refused > 10);
	trace_stop(trace);
}

/* --- the tests --- */

/* Nothing comes between filter and binding: then no node is ever too full. Some are bound
 * a second time, elsewhere. */
static void test_beside_the_loop(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace, 11);
	for (int i = 0; i < 200; i++) {
		trace_add_burst(&trace, 16);
		/* So that there is room for some, all the time. */
		for (int n = trace_some(&trace, 12); n > 0; n--)
			trace_delete_pod(&trace, trace_some(&trace, trace.pod_count));
		for (int n = 0; n < 8; n++) {
			struct call call, again;
			int pod = trace.pod_count - 1 - trace_some(&trace, 24);

			if (pod >= 0 && filter(&trace, pod, &call)) {
				again = call;
				for (int t = 0; t < 8 && !strcmp(again.node, call.node);
				     t++)
					(void)filter(&trace, pod, &again);
				bind(&trace, &call);
				if (strcmp(again.node, call.node) != 0)
					bind(&trace, &again);
			}
			trace_run(&trace, trace_some(&trace, 2));
		}
		kube_now += 500000;
	}
	end(&trace, 100);
}

/* Binds what was filtered a while ago; its room may be somebody else's by then, its CPUs
 * never. */
static void bind_late(struct trace *trace, struct call *calls, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		book_blind(trace->book, "default", calls[i].pod);
		bind(trace, &calls[i]);
	}
}

static size_t filter_some(struct trace *trace, struct call calls[8])
{
	size_t count = 0;

	for (int n = 0; n < 8; n++) {
		int pod = trace->pod_count - 1 - trace_some(trace, 24);

		if (pod >= 0)
			count += filter(trace, pod, &calls[count]);
	}
	return count;
}

/* Others bind meanwhile, nodes and pods go, and pods of the same name come again. */
static void test_between_filter_and_bind(void **state)
{
	struct trace trace;

	(void)state;
	start(&trace, 12);
	book_allow_races(trace.book);
	for (int i = 0; i < 150; i++) {
		struct call calls[8];
		size_t count = filter_some(&trace, calls);

		trace_add_burst(&trace, 12);
		trace_replace_some(&trace, 3);
		trace_run(&trace, trace_some(&trace, 4));
		bind_late(&trace, calls, count);
		trace_run(&trace, trace_some(&trace, 4));
		kube_now += 300000;
		if (trace_some(&trace, 3))
			continue;
		trace_rest(&trace);
	}
	trace_bring_node_back(&trace);
	end(&trace, 50);
}

/* neapd is killed after it counted the pods on their nodes, and the next one starts from
 * what is written. */
static void test_killed(void **state)
{
	struct trace trace;
	size_t cut = 0; /* calls that were on their way then */

	(void)state;
	start(&trace, 13);
	book_allow_races(trace.book);
	for (int i = 0; i < 100; i++) {
		struct call calls[8];
		size_t count, answered;

		trace_add_burst(&trace, 24);
		trace_run(&trace, trace_some(&trace, 3));
		count = filter_some(&trace, calls);
		bind_late(&trace, calls, count);
		trace_run(&trace, trace_some(&trace, 2));
		answered = client.bound + client.refused + client.lost;
		cut += client.count - answered;
		trace_kill_scheduler(&trace, 0);
		trace_rest(&trace);
		trace_start_scheduler(&trace, 0);
		trace_run(&trace, 1 + trace_some(&trace, 6));
		/* The kube-scheduler asks again for what it was not told of. */
		for (size_t n = client.count - count; count && n < client.count; n++)
			if (client.calls[n].is_answered && !trace_some(&trace, 2)) {
				struct call again = client.calls[n];

				again.is_answered = false;
				bind_late(&trace, &again, 1);
				count--;
			}
		trace_rest(&trace);
		kube_now += 300000;
	}
	assert_true(cut > 20);
	end(&trace, 50);
}

/* Bindings are accepted, and then the disk does not take them. */
static void test_full_disk(void **state)
{
	struct crash_vfs *vfs = crash_vfs_new(5);
	struct trace trace;

	(void)state;
	start(&trace, 14);
	book_allow_races(trace.book);
	for (int i = 0; i < 1500 && (i < 100 || client.refused <= 40 ||
				     client.bound <= 100 || crash_vfs_failed(vfs) <= 20);
	     i++) {
		struct call calls[8];

		trace_add_burst(&trace, 12);
		trace_run(&trace, trace_some(&trace, 3));
		trace_fill_disk(&trace, vfs);
		bind_late(&trace, calls, filter_some(&trace, calls));
		trace_run(&trace, trace_some(&trace, 6));
		kube_now += 300000;
	}
	crash_vfs_fail(vfs, CRASH_WRITE, 0, 0, 0);
	assert_true(crash_vfs_failed(vfs) > 20);
	end(&trace, 50);
	crash_vfs_free(vfs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_beside_the_loop),
		cmocka_unit_test(test_between_filter_and_bind),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_full_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
