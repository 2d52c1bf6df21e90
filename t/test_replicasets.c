/* SPDX-License-Identifier: Apache-2.0
 *
 * ReplicaSets: their pods, which go first, whose they are, and what the status says. */
#include <event2/event.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/workload/loop/pod_control.h"
#include "api/workload/replicaset/replicasets_priv.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/sets_rig.h"

/* The name of the first pod. */
static const char *first_pod(struct sets_rig *rig)
{
	static char name[256];
	json_t *pods = workload_list(rig->kube, "pods", "default");

	(void)snprintf(name, sizeof(name), "%s", kube_text(pods, "0.metadata.name"));
	json_decref(pods);
	return name;
}

static int count_events(struct sets_rig *rig, const char *reason)
{
	json_t *events = workload_list(rig->kube, "events", "default"), *event;
	int n = 0;
	size_t i;

	json_array_foreach (events, i, event) {
		if (strcmp(kube_text(event, "reason"), reason) == 0)
			n++;
	}
	json_decref(events);
	return n;
}

static void test_pods_and_status(void **state)
{
	struct sets_rig *rig = *state;
	const json_t *pod;

	sets_must(rig, "POST " SETS, SET("web", 3), 201);
	sets_until(rig,
		   (struct kube_step){
			   "GET " SETS "/web",
			   NULL,
			   200,
			   {"status.replicas=3", "status.readyReplicas=3",
			    "status.availableReplicas=3", "status.fullyLabeledReplicas=3",
			    "status.observedGeneration=1", "!status.conditions"}});
	sets_must(rig, "GET " PODS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=3"));
	pod = kube_at(rig->kube->body, "items.0");
	assert_null(kube_differs(pod, "metadata.generateName=web-"));
	assert_null(kube_differs(pod, "metadata.labels={\"a\":\"b\"}"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.kind=ReplicaSet"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.name=web"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.controller=true"));
	assert_null(
		kube_differs(pod, "metadata.ownerReferences.0.blockOwnerDeletion=true"));
	assert_int_equal(strlen(kube_text(pod, "metadata.name")), strlen("web-xxxxx"));
	workload_settle(rig->kube, NULL, NULL);
	assert_int_equal(count_events(rig, "SuccessfulCreate"), 3);
	assert_int_equal(sets_count_pods(rig), 3);
	sets_must(rig, "MERGE " SETS "/web/scale", "{'spec':{'replicas':1}}", 200);
	sets_until(rig,
		   (struct kube_step){"GET " SETS "/web",
				      NULL,
				      200,
				      {"status.replicas=1", "status.availableReplicas=1",
				       "status.observedGeneration=2"}});
	sets_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=1"}});
	workload_settle(rig->kube, NULL, NULL);
	assert_int_equal(count_events(rig, "SuccessfulDelete"), 2);
	sets_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':0}}", 200);
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.replicas=0", "!status.readyReplicas",
					    "!status.availableReplicas"}});
}

/* More than one piece, in both directions. */
static void test_many(void **state)
{
	struct sets_rig *rig = *state;

	sets_must(rig, "POST " SETS, SET("web", 230), 201);
	sets_until(rig, (struct kube_step){
				"GET " SETS "/web",
				NULL,
				200,
				{"status.replicas=230", "status.availableReplicas=230"}});
	assert_int_equal(sets_count_pods(rig), 230);
	sets_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':3}}", 200);
	sets_until(rig, (struct kube_step){
				"GET " SETS "/web", NULL, 200, {"status.replicas=3"}});
	assert_int_equal(sets_count_pods(rig), 3);
}

/* Pods that fail, are deleted, finish or are evicted are made up for. */
static void test_replaced(void **state)
{
	static const struct {
		const char *name, *phase; /* NULL: it is deleted */
		int left;                 /* of them */
	} rows[] = {
		{"failed", "Failed", 1},
		{"succeeded", "Succeeded", 1},
		{"deleted", NULL, 0},
	};
	struct sets_rig *rig = *state;
	char name[256], ask[512];
	int left = 0;

	sets_must(rig, "POST " SETS, SET("web", 2), 201);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		char items[16];

		sets_until(rig, (struct kube_step){"GET " SETS "/web",
						   NULL,
						   200,
						   {"status.availableReplicas=2"}});
		/* One that runs. */
		sets_must(rig, "GET " PODS "?fieldSelector=status.phase%3DRunning", NULL,
			  200);
		(void)snprintf(name, sizeof(name), "%s",
			       kube_text(rig->kube->body, "items.0.metadata.name"));
		(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s", name);
		if (rows[i].phase)
			workload_set_phase(rig->kube, "default", name, rows[i].phase,
					   "False");
		else
			sets_must(rig, ask, "{'gracePeriodSeconds':0}", 200);
		left += rows[i].left;
		(void)snprintf(items, sizeof(items), "#items=%d", 2 + left);
		sets_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {items}});
	}
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.availableReplicas=2"}});
}

static void test_adopt_and_release(void **state)
{
	struct sets_rig *rig = *state;
	char ask[512];

	sets_must(
		rig, "POST " PODS,
		"{'metadata':{'name':'bare','labels':{'a':'b'}},'spec':{'containers':[{'name':"
		"'c','image':'i'}]}}",
		201);
	sets_must(
		rig, "POST " PODS,
		"{'metadata':{'name':'other','labels':{'a':'c'}},'spec':{'containers':[{'name':"
		"'c','image':'i'}]}}",
		201);
	sets_must(rig, "POST " SETS, SET("web", 1), 201);
	sets_until(rig,
		   (struct kube_step){"GET " PODS "/bare",
				      NULL,
				      200,
				      {"metadata.ownerReferences.0.name=web",
				       "metadata.ownerReferences.0.controller=true"}});
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.availableReplicas=1"}});
	workload_settle(rig->kube, NULL, NULL);
	assert_int_equal(sets_count_pods(rig), 2);
	/* Of another label it is let go, and made up for; with the label again it is one
	 * too many. */
	sets_must(rig, "MERGE " PODS "/bare", "{'metadata':{'labels':{'a':'z'}}}", 200);
	sets_until(rig, (struct kube_step){"GET " PODS "/bare",
					   NULL,
					   200,
					   {"!metadata.ownerReferences"}});
	sets_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=3"}});
	sets_must(rig, "MERGE " PODS "/bare", "{'metadata':{'labels':{'a':'b'}}}", 200);
	sets_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=2"}});
	/* Another ReplicaSet of the same selector does not take what is owned. */
	sets_must(rig, "POST " SETS, SET("second", 1), 201);
	sets_until(rig, (struct kube_step){"GET " SETS "/second",
					   NULL,
					   200,
					   {"status.availableReplicas=1"}});
	workload_settle(rig->kube, NULL, NULL);
	assert_int_equal(sets_count_pods(rig), 3);
	/* Pods that are orphaned go to the next that wants them. */
	sets_must(rig, "DELETE " SETS "/web", "{'propagationPolicy':'Orphan'}", 200);
	sets_until(rig, (struct kube_step){"GET " SETS "/web", NULL, 404, {NULL}});
	sets_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=2"}});
	sets_must(rig, "DELETE " SETS "/second", NULL, 200);
	sets_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=1"}});
	(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s", first_pod(rig));
	sets_must(rig, ask, NULL, 200);
}

/* What is refused is told, and asked for again until it is not. */
static void test_refused(void **state)
{
	struct sets_rig *rig = *state;

	sets_must(
		rig, "POST " SETS,
		"{'metadata':{'name':'web'},'spec':{'replicas':20,'selector':{'matchLabels':{'a':"
		"'b'}},'template':{'metadata':{'labels':{'a':'b'}},'spec':{'priorityClassName':"
		"'high','containers':[{'name':'c','image':'i'}]}}}}",
		201);
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.replicas=0",
					    "status.conditions.0.type=ReplicaFailure",
					    "status.conditions.0.status=True",
					    "status.conditions.0.reason=FailedCreate",
					    "status.conditions.0.message~high"}});
	sets_until(rig, (struct kube_step){
				"GET " EVENTS,
				NULL,
				200,
				{"items.0.reason=FailedCreate", "items.0.type=Warning",
				 "items.0.message~Error creating: ",
				 "items.0.source.component=replicaset-controller",
				 "items.0.involvedObject.kind=ReplicaSet"}});
	assert_int_equal(sets_count_pods(rig), 0);
	sets_must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
		  "{'metadata':{'name':'high'},'value':7}", 201);
	sets_until(rig, (struct kube_step){
				"GET " SETS "/web",
				NULL,
				200,
				{"status.availableReplicas=20", "!status.conditions"}});
}

static void test_min_ready(void **state)
{
	struct sets_rig *rig = *state;

	sets_must(rig, "POST " SETS,
		  "{'metadata':{'name':'web'},'spec':{'replicas':2,'minReadySeconds':30,"
		  "'selector':{'matchLabels':{'a':'b'}}," TEMPLATE "}}",
		  201);
	sets_until(rig, (struct kube_step){
				"GET " SETS "/web",
				NULL,
				200,
				{"status.readyReplicas=2", "!status.availableReplicas"}});
	kube_now += 29 * SECOND;
	sets_must(rig, "MERGE " SETS "/web", "{'metadata':{'annotations':{'n':'1'}}}",
		  200);
	workload_settle(rig->kube, NULL, NULL);
	sets_must(rig, "GET " SETS "/web", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "!status.availableReplicas"));
	/* The look that is due then comes by itself. */
	sets_must(rig, "MERGE " SETS "/web", "{'metadata':{'annotations':{'n':'2'}}}",
		  200);
	kube_run(rig->kube, 50);
	kube_now += SECOND;
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.availableReplicas=2"}});
}

/* A controller that begins anew at any moment makes no pod twice. */
static void test_restarts(void **state)
{
	struct sets_rig *rig = *state;

	sets_must(rig, "POST " SETS, SET("web", 40), 201);
	for (int i = 0; i < 30; i++) {
		kube_run(rig->kube, i);
		sets_restart(rig);
		assert_in_range(sets_count_pods(rig), 0, 40);
	}
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.availableReplicas=40"}});
	sets_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':10}}", 200);
	for (int i = 0; i < 30; i++) {
		kube_run(rig->kube, i);
		sets_restart(rig);
		assert_in_range(sets_count_pods(rig), 10, 40);
	}
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.availableReplicas=10"}});
	workload_settle(rig->kube, NULL, NULL);
	assert_int_equal(sets_count_pods(rig), 10);
	sets_must(rig, "DELETE " SETS "/web", NULL, 200);
	sets_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=0"}});
}

/* --- which go first --- */

struct ranked {
	const char *name;
	/* a goes before b; both begin as ready, running on a node, for an hour. */
	struct neap_pod_facts a, b;
	size_t rank_a, rank_b;
};

#define NOW (INT64_C(1790000000) * SECOND)
/* Ready and made so many seconds ago. */
#define AGED(ready, made)                                                                \
	.phase = NEAP_POD_RUNNING, .is_active = true, .is_ready = true, .node = "n",     \
	.ready_usec = NOW - (ready)*SECOND, .created_usec = NOW - (made)*SECOND
#define GOOD AGED(3600, 7200)

static void test_ranking(void **state)
{
	static const struct ranked rows[] = {
		{"unassigned", {.phase = NEAP_POD_PENDING}, {GOOD}, 0, 0},
		{"pending before unknown",
		 {.phase = NEAP_POD_PENDING, .node = "n"},
		 {.phase = NEAP_POD_UNKNOWN, .node = "n"},
		 0,
		 0},
		{"unknown before running",
		 {.phase = NEAP_POD_UNKNOWN, .node = "n", .cost = 5},
		 {.phase = NEAP_POD_RUNNING, .node = "n"},
		 0,
		 0},
		{"not ready before cheap",
		 {.phase = NEAP_POD_RUNNING, .node = "n", .cost = 100},
		 {GOOD, .cost = -100},
		 0,
		 0},
		{"cost before double", {GOOD, .cost = -1}, {GOOD}, 1, 9},
		{"double before time", {GOOD}, {AGED(1, 7200)}, 2, 1},
		{"ready for less", {AGED(1, 7200)}, {GOOD, .restarts = 9}, 1, 1},
		{"not known since when",
		 {.phase = NEAP_POD_RUNNING,
		  .is_ready = true,
		  .node = "n",
		  .ready_usec = NEAP_MISSING},
		 {AGED(1, 7200)},
		 1,
		 1},
		{"about as long: by uid",
		 {AGED(3601, 7200)},
		 {GOOD, .restarts = 9},
		 1,
		 1},
		{"more restarts", {GOOD, .restarts = 1}, {GOOD}, 1, 1},
		{"younger", {AGED(3600, 3600)}, {GOOD}, 1, 1},
	};
	struct neap_object *one = NULL, *two = NULL;
	struct neap_error err;

	(void)state;
	assert_int_equal(neap_object_new_take(json_pack("{s:{s:s,s:s}}", "metadata",
							"name", "one", "uid", "1"),
					      NULL, 1, &one, &err),
			 0);
	assert_int_equal(neap_object_new_take(json_pack("{s:{s:s,s:s}}", "metadata",
							"name", "two", "uid", "2"),
					      NULL, 1, &two, &err),
			 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		for (int turn = 0; turn < 2; turn++) {
			struct neap_ranked_pod pods[2];

			pods[turn] =
				(struct neap_ranked_pod){one, &rows[i].a, rows[i].rank_a};
			pods[!turn] =
				(struct neap_ranked_pod){two, &rows[i].b, rows[i].rank_b};
			neap_pods_rank(pods, 2, NOW);
			if (pods[0].pod != one)
				fail_msg("%s", rows[i].name);
		}
	neap_object_unref(one);
	neap_object_unref(two);
}

/* The cheaper goes, as the annotation says. */
static void test_cost(void **state)
{
	struct sets_rig *rig = *state;
	char name[256], ask[512];

	sets_must(rig, "POST " SETS, SET("web", 4), 201);
	sets_until(rig, (struct kube_step){"GET " SETS "/web",
					   NULL,
					   200,
					   {"status.availableReplicas=4"}});
	for (int i = 0; i < 3; i++) {
		json_t *pods = workload_list(rig->kube, "pods", "default");

		(void)snprintf(
			name, sizeof(name), "%s",
			kube_text(json_array_get(pods, (size_t)i + 1), "metadata.name"));
		json_decref(pods);
		(void)snprintf(ask, sizeof(ask), "MERGE " PODS "/%s", name);
		sets_must(rig, ask,
			  "{'metadata':{'annotations':{'controller.kubernetes.io/"
			  "pod-deletion-cost':'7'}}}",
			  200);
	}
	(void)snprintf(name, sizeof(name), "%s", first_pod(rig));
	sets_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':3}}", 200);
	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	sets_until(rig, (struct kube_step){ask, NULL, 404, {NULL}});
	assert_int_equal(sets_count_pods(rig), 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, sets_setup, sets_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pods_and_status),   TEST(many),    TEST(replaced),
		TEST(adopt_and_release), TEST(refused), TEST(min_ready),
		TEST(restarts),          TEST(cost),    cmocka_unit_test(test_ranking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
