/* SPDX-License-Identifier: Apache-2.0
 *
 * What controllers do with many large objects at once comes in turns: each takes the
 * steps that it may and those of one object, all that is read and written is counted, and
 * who comes after others in a turn does little. */
#include <event2/event.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "api/task/task.h"
#include "api/task/turns.h"
#include "api/workload/job/jobs_priv.h"
#include "api/workload/node/node_watch_priv.h"
#include "api/workload/replicaset/replicasets_priv.h"
#include "api/workload/reservation/reservations_priv.h"
#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/turns_rig.h"
#include "t/lib/workload_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, kube_rig_setup, kube_rig_teardown)

#define NODES  "/api/v1/nodes"
#define PODS   "/api/v1/namespaces/default/pods"
#define SETS   "/apis/apps/v1/namespaces/default/replicasets"
#define APPS   "/apis/apps/v1/namespaces/default/"
#define JOBS   "/apis/batch/v1/namespaces/default/jobs"
#define LEASES "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
#define KEPT   "/apis/scheduling.koordinator.sh/v1alpha1/reservations"

/* So many of each, with so many bytes in an annotation, and the steps of reading and of
 * writing one. */
#define COUNT   30
#define FILLING 20000
#define READ    (FILLING / 4)
#define WRITE   (NEAP_STEPS_WRITE * READ)

static void must(struct kube_rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->body, "message"));
}

/* COUNT objects: a format of the text before the filling, with the number of the object,
 * and the text after it. */
static void make_many(struct kube_rig *rig, const char *path, const char *before,
		      const char *after)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "POST %s", path);
	for (int i = 0; i < COUNT; i++) {
		neap_auto_buf struct neap_buf body = {0};

		neap_buf_init(&body, 1024 * 1024);
		neap_buf_addf(&body, before, i);
		for (int k = 0; k < FILLING; k++)
			neap_buf_addc(&body, 'x');
		neap_buf_adds(&body, after);
		assert_false(neap_buf_failed(&body));
		must(rig, ask, body.data, 201);
	}
}

/* How many are so. */
static int count_of(struct kube_rig *rig, const char *resource, const char *ns,
		    const char *want)
{
	json_t *list = workload_list(rig, resource, ns), *object;
	int count = 0;
	size_t i;

	json_array_foreach (list, i, object)
		count += kube_differs(object, want) == NULL;
	json_decref(list);
	return count;
}

/* Each object took so many steps, and no turn more than its own and those of one. */
static void took(int64_t all, int64_t most, int64_t each)
{
	assert_in_range(all, COUNT * each, INT_MAX);
	assert_in_range(most, 1, NEAP_STEPS + each * 3 / 2);
}

/* --- the controllers --- */

static void test_replicasets(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	struct neap_replicasets *sets;

	make_many(rig, SETS,
		  "{'metadata':{'name':'s-%d'},'spec':{'replicas':0,'selector':{"
		  "'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'},"
		  "'annotations':{'x':'",
		  "'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}");
	assert_int_equal(neap_replicasets_new(&config, &sets, NULL), 0);
	assert_true(comes_true_in(
		rig->base,
		count_of(rig, RS, "default", "status.observedGeneration=1") == COUNT));
	took(neap_feed_all_steps(sets->feed), neap_feed_most_steps(sets->feed),
	     READ + WRITE);
	neap_replicasets_free(sets);
}

#define FILLED(more)                                                                     \
	"{'metadata':{'name':'s-%d'},'spec':{" more "'selector':{'matchLabels':{'a':"    \
	"'b'}},'template':{'metadata':{'labels':{'a':'b'},'annotations':{'x':'"

/* Each has a revision, which is as large, and what is read of it becomes a digest. */
static void test_statefulsets(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	int64_t all, most;

	make_many(rig, APPS "statefulsets", FILLED("'replicas':0,'serviceName':'s',"),
		  "'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}");
	begin_statefulsets(&config);
	assert_true(comes_true_in(rig->base,
				  count_of(rig, "statefulsets.apps", "default",
					   "status.observedGeneration=1") == COUNT));
	end_statefulsets(&all, &most);
	took(all, most, 6 * READ + 2 * WRITE);
}

static void test_daemonsets(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	int64_t all, most;

	make_many(rig, APPS "daemonsets", FILLED(""),
		  "'}},'spec':{'containers':[{'name':'c','image':'i'}]}}}}");
	begin_daemonsets(&config);
	assert_true(comes_true_in(rig->base,
				  count_of(rig, "daemonsets.apps", "default",
					   "status.observedGeneration=1") == COUNT));
	end_daemonsets(&all, &most);
	took(all, most, 6 * READ + 2 * WRITE);
}

/* Nodes are read, and judged, in some turns. */
static void test_judged(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	int64_t all, most;

	make_many(rig, NODES, "{'metadata':{'name':'n-%d','annotations':{'x':'", "'}}}");
	must(rig, "POST " APPS "daemonsets",
	     "{'metadata':{'name':'ds'},'spec':{'selector':{'matchLabels':{'a':'b'}},"
	     "'template':{'metadata':{'labels':{'a':'b'}},'spec':{'containers':[{'name':"
	     "'c','image':'i'}]}}}}",
	     201);
	begin_daemonsets(&config);
	assert_true(comes_true_in(rig->base,
				  count_of(rig, "daemonsets.apps", "default",
					   "status.currentNumberScheduled=30") == 1));
	end_daemonsets(&all, &most);
	assert_in_range(all, COUNT * READ, INT_MAX);
	assert_in_range(most, 1, NEAP_STEPS + 2 * READ);
}

static void test_jobs(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	struct neap_jobs *jobs;

	make_many(
		rig, JOBS, "{'metadata':{'name':'j-%d','annotations':{'x':'",
		"'}},'spec':{'suspend':true,'template':{'spec':{'restartPolicy':'Never',"
		"'containers':[{'name':'c','image':'i'}]}}}}");
	assert_int_equal(neap_jobs_new(&config, &jobs, NULL), 0);
	assert_true(comes_true_in(rig->base, count_of(rig, "jobs.batch", "default",
						      "#status.conditions=1") == COUNT));
	took(neap_feed_all_steps(jobs->feed), neap_feed_most_steps(jobs->feed),
	     2 * READ + WRITE);
	neap_jobs_free(jobs);
}

/* The Reservations run out at once. */
static void test_reservations(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_workload_config config = workload_config(rig);
	struct neap_reservations *reservations;

	make_many(rig, KEPT, "{'metadata':{'name':'r-%d','annotations':{'x':'",
		  "'}},'spec':{'expires':'2020-01-01T00:00:00Z','owners':[{'object':{"
		  "'name':'p'}}],'template':{'spec':{'containers':[{'name':'c','image':"
		  "'i'}]}}}}");
	assert_int_equal(neap_reservations_new(&config, 0, &reservations, NULL), 0);
	assert_true(comes_true_in(rig->base, count_of(rig, RESERVATIONS, NULL,
						      "status.phase=Failed") == COUNT));
	took(neap_feed_all_steps(reservations->feed),
	     neap_feed_most_steps(reservations->feed), 2 * READ + WRITE);
	neap_reservations_free(reservations);
}

/* --- nodes --- */

static int64_t test_now(void)
{
	return kube_now;
}

#define GRACE INT64_C(400000)

static struct neap_node_watch *watch_start(struct kube_rig *rig)
{
	static const struct neap_log log = {.fd = -1, .program = "test"};
	struct neap_workload_config config = workload_config(rig);
	struct neap_node_watch *watch;

	config.now = test_now;
	config.log = &log;
	assert_int_equal(neap_node_watch_new(&config, GRACE, &watch, NULL), 0);
	/* All are seen before time goes on, by less than what counts as an absence. */
	assert_true(comes_true_in(rig->base, watch->looks > 1 && !watch->is_passing));
	for (int i = 0; i < 4; i++) {
		uint64_t looks = watch->looks;

		kube_now += GRACE / 2;
		assert_true(comes_true_in(rig->base, watch->looks > looks + 1));
	}
	return watch;
}

/* All nodes are lost at once. */
static void test_nodes(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_node_watch *watch;
	char body[256];

	must(rig, "POST /api/v1/namespaces", "{'metadata':{'name':'kube-node-lease'}}",
	     201);
	make_many(rig, NODES, "{'metadata':{'name':'n-%d','annotations':{'x':'",
		  "'}},'status':{'conditions':[{'type':'Ready','status':'True'}]}}");
	for (int i = 0; i < COUNT; i++) {
		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'n-%d'},'spec':{'holderIdentity':'n',"
			       "'renewTime':'2026-09-21T13:33:20.000000Z'}}",
			       i);
		must(rig, "POST " LEASES, body, 201);
	}
	watch = watch_start(rig);
	assert_true(comes_true_in(
		rig->base, count_of(rig, "nodes", NULL, "#spec.taints=2") == COUNT));
	/* It is read, and written that it is lost, and that it is tainted. */
	took(watch->steps.all, watch->steps.most, 2 * (READ + WRITE));
	neap_node_watch_free(watch);
}

/* The node of all pods is not there. */
static void test_pods(void **state)
{
	struct kube_rig *rig = *state;
	struct neap_node_watch *watch;

	make_many(rig, PODS, "{'metadata':{'name':'p-%d','annotations':{'x':'",
		  "'}},'spec':{'nodeName':'n','containers':[{'name':'c','image':'i'}]}}");
	watch = watch_start(rig);
	assert_true(comes_true_in(rig->base,
				  count_of(rig, "pods", "default", "kind=Pod") == 0));
	took(watch->steps.all, watch->steps.most, READ + 2 * WRITE);
	neap_node_watch_free(watch);
}

/* --- beside others in one turn --- */

struct beside {
	struct neap_tasks *tasks;
	int64_t share;
	int slices;
};

/* Works for longer than all may in a turn; the loop's clock is some milliseconds off. */
static void burn(evutil_socket_t fd, short what, void *arg)
{
	int64_t until = neap_clock_steady() + 2 * NEAP_TURN_SHARED_USEC;

	(void)fd;
	(void)what;
	(void)arg;
	while (neap_clock_steady() <= until)
		;
}

static void ask_share(evutil_socket_t fd, short what, void *arg)
{
	struct beside *beside = arg;

	(void)fd;
	(void)what;
	beside->share = neap_turn_share(neap_tasks_base(beside->tasks), NEAP_STEPS_USEC);
}

static enum neap_task_next slice(void *arg)
{
	struct beside *beside = arg;
	int64_t until = neap_clock_steady() + NEAP_TASK_SLICE_USEC;

	beside->slices++;
	while (neap_clock_steady() < until)
		;
	return NEAP_TASK_GOES_ON;
}

static void test_beside(void **state)
{
	struct kube_rig *rig = *state;
	struct beside beside = {.tasks = neap_kube_tasks(rig->kube)};
	struct event *others = event_new(rig->base, -1, 0, burn, NULL);
	struct event *one = event_new(rig->base, -1, 0, ask_share, &beside);
	struct neap_task *task = neap_task_new(beside.tasks, "one", slice, &beside);
	struct neap_steps steps = {0};
	int64_t late;
	int slices;

	assert_true(others && one && task);
	while (!kube_is_at_rest(rig))
		;
	event_active(others, EV_TIMEOUT, 0);
	event_active(one, EV_TIMEOUT, 0);
	(void)event_base_loop(rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	late = beside.share;
	/* What is active already comes before timers that are due. */
	neap_task_wake(task);
	while (!beside.slices) {
		event_active(others, EV_TIMEOUT, 0);
		(void)event_base_loop(rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
	}
	slices = beside.slices;
	neap_task_free(task);
	/* In a turn that nobody else had there is all. */
	while (steps.left < NEAP_STEPS) {
		event_active(one, EV_TIMEOUT, 0);
		(void)event_base_loop(rig->base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
		if (beside.share == NEAP_STEPS_USEC)
			neap_steps_begin(&steps, beside.tasks);
	}
	event_free(one);
	event_free(others);
	assert_int_equal(late, NEAP_STEPS_USEC / NEAP_TURN_LEAST_PART);
	assert_int_equal(slices, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(replicasets), TEST(statefulsets), TEST(daemonsets),
		TEST(judged),      TEST(jobs),         TEST(reservations),
		TEST(nodes),       TEST(pods),         TEST(beside),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
