/* SPDX-License-Identifier: Apache-2.0 */
#include "t/lib/trace_rig_priv.h"

#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/client/client.h"
#include "api/schedule/schedule_priv.h"
#include "engine/base/mem.h"
#include "engine/decide/queue.h"

/* What is remembered for those that are behind: all of a step. */
#define HISTORY_BYTES ((size_t)48 * 1024 * 1024)
#define SETTLE_TURNS  1000000
#define MARK_TURNS    100000
#define ROUNDS_MAX    60
/* All that waits is tried again after that. */
#define RETRY_USEC (NEAP_QUEUE_PARK_MAX_USEC + 1000000)

/* --- the books --- */

/* What a node's agent does: a pod that is to go goes. */
static void play_agent(struct trace *trace, const struct neap_object *object)
{
	struct neap_client_ask ask;

	if (!object->is_deleting)
		return;
	ask = trace_ask_of(trace, "pods", object->name);
	neap_client_delete(trace->rig->client, &ask, object->uid, 0);
}

static void enter(struct trace *trace, struct neap_store_watch *watch,
		  const struct neap_store_event *event)
{
	const struct neap_object *object = event->object;
	bool is_gone = event->what == NEAP_STORE_DELETED;
	json_t *tree;

	if (is_gone && watch == trace->reservations)
		book_drop_reservation(trace->book, object->name);
	else if (is_gone && watch == trace->nodes)
		book_drop_node(trace->book, object->name);
	else if (is_gone && watch == trace->topologies)
		book_drop_topology(trace->book, object->name);
	else if (is_gone)
		book_drop_pod(trace->book, object->ns, object->name);
	if (is_gone)
		return;
	tree = neap_object_tree(object);
	assert_non_null(tree);
	if (watch == trace->nodes) {
		book_set_node(trace->book, tree);
	} else if (watch == trace->topologies) {
		book_set_topology(trace->book, tree);
	} else if (watch == trace->reservations) {
		book_set_reservation(trace->book, tree);
	} else {
		book_set_pod(trace->book, tree);
		play_agent(trace, object);
	}
	json_decref(tree);
}

static void see(struct trace *trace)
{
	struct neap_store_watch *const watches[] = {trace->nodes, trace->topologies,
						    trace->pods, trace->reservations};
	struct neap_store_event *event;
	const char *trouble;
	struct neap_error err;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(watches); i++)
		for (;;) {
			int ret = neap_store_watch_next(watches[i], &event, &err);

			if (ret < 0)
				fail_msg("%s", err.msg);
			if (ret == 0)
				break;
			enter(trace, watches[i], event);
		}
	trouble = book_check(trace->book);
	if (trouble)
		fail_msg("after %zu bindings: %s", book_bindings(trace->book), trouble);
}

void trace_run(struct trace *trace, int turns)
{
	while (turns-- > 0) {
		assert_true(event_base_loop(trace->rig->base, EVLOOP_NONBLOCK) >= 0);
		see(trace);
	}
}

/* --- rest --- */

static bool is_idle(const struct neap_scheduler *scheduler)
{
	if (scheduler->is_lost || scheduler->is_reading || scheduler->bind_count ||
	    neap_queue_due(scheduler->queue, kube_now) <= kube_now)
		return false;
	for (size_t i = 0; i < SOURCES; i++)
		if (scheduler->sources[i].is_ready)
			return false;
	return true;
}

static bool are_idle(const struct trace *trace)
{
	for (int i = 0; i < TRACE_SCHEDULERS; i++)
		if (trace->schedulers[i] && !is_idle(trace->schedulers[i]))
			return false;
	return true;
}

struct mark {
	bool is_told;
	int64_t version;
};

static void told_mark(void *arg, struct neap_object *object,
		      const struct neap_client_failure *failure)
{
	struct mark *mark = arg;

	mark->is_told = true;
	if (!failure)
		mark->version = object->version;
}

/* A write of its own: what was accepted before is durable when this is. It also wakes who
 * sleeps. */
static int64_t write_mark(struct trace *trace)
{
	struct mark mark = {0};
	const struct neap_client_ask ask = {.resource = "namespaces",
					    .ns = "",
					    .name = "default",
					    .told = told_mark,
					    .arg = &mark};
	char text[32];

	(void)snprintf(text, sizeof(text), "%zu", ++trace->asked);
	neap_client_patch_take(
		trace->rig->client, &ask, false,
		json_pack("{s:{s:{s:s}}}", "metadata", "annotations", "mark", text));
	/* The disk may be slow: a minute and more. */
	for (int i = 0; i < MARK_TURNS && !mark.is_told; i++) {
		trace_run(trace, 1);
		if (i > 1000)
			(void)usleep(1000);
	}
	assert_true(mark.is_told);
	return mark.version;
}

void trace_settle(struct trace *trace)
{
	int64_t before = 0, version;

	/* Nothing was accepted between two marks, and nobody had anything to do at the
	 * second. */
	for (int i = 0; i < SETTLE_TURNS; i++) {
		bool were_idle = are_idle(trace);

		version = write_mark(trace);
		if (were_idle && version == before + 1 && are_idle(trace))
			return;
		before = version;
		trace_run(trace, 3);
	}
	fail_msg("it does not come to rest");
}

/* Something moved since they were tried, and their pause is not over. */
static bool are_paused(const struct trace *trace)
{
	for (int i = 0; i < TRACE_SCHEDULERS; i++)
		if (trace->schedulers[i] &&
		    neap_queue_count(trace->schedulers[i]->queue).paused)
			return true;
	return false;
}

void trace_check_waiting(struct trace *trace)
{
	const char *trouble;
	size_t before;
	int i = 0;

	trace_settle(trace);
	do {
		before = book_moves(trace->book);
		kube_now += RETRY_USEC;
		trace_settle(trace);
		/* Making room takes several tries where many nodes may give it. All
		 * come to their end before the first is tried anew. */
		for (int64_t n = NEAP_QUEUE_PARK_MAX_USEC / NEAP_QUEUE_PAUSE_MAX_USEC;
		     n > 1 && are_paused(trace); n--) {
			kube_now += NEAP_QUEUE_PAUSE_MAX_USEC;
			trace_settle(trace);
		}
		assert_true(++i < ROUNDS_MAX);
	} while (book_moves(trace->book) != before || are_paused(trace));
	book_rest(trace->book);
	trouble = book_check_waiting(trace->book);
	if (trouble)
		fail_msg("after %zu bindings: %s", book_bindings(trace->book), trouble);
}

/* --- its life --- */

static int64_t now(void)
{
	return kube_now;
}

void trace_start_scheduler(struct trace *trace, int which)
{
	static const char *const names[] = {"koord-scheduler", "neap-scheduler", NULL};
	static const struct neap_log log = {
		.fd = 2, .level = NEAP_LOG_ERROR, .program = "test"};
	const struct neap_scheduler_config config = {.base = trace->rig->base,
						     .client = trace->rig->client,
						     .names = names,
						     .now = now,
						     .log = &log};
	struct neap_error err = {0};

	if (neap_scheduler_new(&config, &trace->schedulers[which], &err) < 0)
		fail_msg("%s", err.msg);
}

void trace_kill_scheduler(struct trace *trace, int which)
{
	neap_scheduler_free(trace->schedulers[which]);
	trace->schedulers[which] = NULL;
}

/* It is looked after each turn. */
static void ready(void *arg)
{
	(void)arg;
}

static struct neap_store_watch *watch(struct trace *trace, const char *resource)
{
	struct neap_store *store = trace->rig->store.store;
	struct neap_store_watch *ret = NULL;
	struct neap_error err = {0};

	if (neap_store_watch_new(store, resource, neap_store_version(store), ready, NULL,
				 &ret, &err) < 0)
		fail_msg("%s", err.msg);
	return ret;
}

void trace_start(struct trace *trace, uint32_t seed)
{
	static const struct {
		const char *name;
		int value;
	} classes[] = {{"low", 10}, {"middle", 100}, {"high", 1000}};

	*trace = (struct trace){.seed = seed, .gone = -1};
	trace->rig = kube_rig_start_with("127.0.0.1:0", KUBE_CRDS, HISTORY_BYTES);
	trace->book = book_new(1);
	trace->nodes = watch(trace, "nodes");
	trace->topologies = watch(trace, TRACE_TOPOLOGIES);
	trace->pods = watch(trace, "pods");
	trace->reservations = watch(trace, TRACE_RESERVATIONS);
	trace_create_take(trace, "namespaces",
			  json_pack("{s:{s:s}}", "metadata", "name", "default"));
	for (size_t i = 0; i < NEAP_ARRAY_LEN(classes); i++)
		trace_create_take(trace, "priorityclasses.scheduling.k8s.io",
				  json_pack("{s:{s:s}, s:i}", "metadata", "name",
					    classes[i].name, "value", classes[i].value));
	trace_settle(trace);
	assert_int_equal(trace->refused, 0);
}

void trace_stop(struct trace *trace)
{
	void *rig = trace->rig;

	for (int i = 0; i < TRACE_SCHEDULERS; i++)
		trace_kill_scheduler(trace, i);
	trace_kill_controller(trace);
	neap_store_watch_free(trace->reservations);
	neap_store_watch_free(trace->nodes);
	neap_store_watch_free(trace->topologies);
	neap_store_watch_free(trace->pods);
	book_free(trace->book);
	(void)kube_rig_teardown(&rig);
}
