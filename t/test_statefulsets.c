/* SPDX-License-Identifier: Apache-2.0
 *
 * StatefulSets: their pods in order and at once, under the same names; whose they are,
 * and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/ordered_rig.h"

/* --- pods --- */

static void test_ordered(void **state)
{
	struct ordered_rig *rig = *state;
	const json_t *pod;

	ordered_must(rig, "POST " SETS, SET("web", 3, "", "i"), 201);
	workload_settle(rig->kube, ordered_unready, NULL);
	assert_string_equal(ordered_names(rig), "web-0");
	ordered_settle(rig);
	assert_string_equal(ordered_names(rig), "web-0 web-1 web-2");
	ordered_must(rig, "GET " PODS "/web-1", NULL, 200);
	pod = rig->kube->body;
	assert_null(kube_differs(pod, "metadata.generateName=web-"));
	assert_null(kube_differs(pod, "spec.hostname=web-1"));
	assert_null(kube_differs(pod, "spec.subdomain=s"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.kind=StatefulSet"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.controller=true"));
	assert_string_equal(
		json_string_value(json_object_get(kube_at(pod, "metadata.labels"),
						  "statefulset.kubernetes.io/pod-name")),
		"web-1");
	assert_string_equal(
		json_string_value(json_object_get(kube_at(pod, "metadata.labels"),
						  "apps.kubernetes.io/pod-index")),
		"1");
	ordered_until(rig,
		      (struct kube_step){
			      "GET " SETS "/web",
			      NULL,
			      200,
			      {"status.replicas=3", "status.readyReplicas=3",
			       "status.availableReplicas=3", "status.currentReplicas=3",
			       "status.updatedReplicas=3", "status.collisionCount=0",
			       "status.observedGeneration=1"}});
	assert_string_equal(kube_text(rig->kube->body, "status.currentRevision"),
			    kube_text(rig->kube->body, "status.updateRevision"));
	assert_int_equal(ordered_events(rig, "SuccessfulCreate"), 3);
	/* Down again, from the highest number. */
	ordered_must(rig, "MERGE " SETS "/web/scale", "{'spec':{'replicas':1}}", 200);
	ordered_settle(rig);
	assert_string_equal(ordered_names(rig), "web-0");
	assert_int_equal(ordered_events(rig, "SuccessfulDelete"), 2);
	ordered_must(rig, "MERGE " SETS "/web/scale", "{'spec':{'replicas':0}}", 200);
	ordered_until(rig,
		      (struct kube_step){"GET " SETS "/web",
					 NULL,
					 200,
					 {"status.replicas=0", "!status.readyReplicas",
					  "!status.currentReplicas",
					  "status.availableReplicas=0"}});
}

/* One that is not well holds up what comes behind it, in both directions. */
static void test_waits(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS, SET("web", 3, "", "i"), 201);
	ordered_settle(rig);
	workload_set_phase(rig->kube, "default", "web-1", "Running", "False");
	ordered_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':4}}", 200);
	workload_settle(rig->kube, ordered_unready, (void *)(uintptr_t) "web-1");
	assert_string_equal(ordered_names(rig), "web-0 web-1 web-2");
	ordered_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':2}}", 200);
	workload_settle(rig->kube, ordered_unready, (void *)(uintptr_t) "web-1");
	assert_string_equal(ordered_names(rig), "web-0 web-1 web-2");
	ordered_settle(rig);
	assert_string_equal(ordered_names(rig), "web-0 web-1");
	/* The first of those that go may be unwell: nothing helps it. */
	ordered_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':1}}", 200);
	workload_set_phase(rig->kube, "default", "web-1", "Running", "False");
	workload_settle(rig->kube, ordered_unready, (void *)(uintptr_t) "web-1");
	assert_string_equal(ordered_names(rig), "web-0");
}

static void test_parallel(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS,
		     SET("web", 4,
			 "'podManagementPolicy':'Parallel','ordinals':{'start':5},", "i"),
		     201);
	workload_settle(rig->kube, ordered_unready, NULL);
	assert_string_equal(ordered_names(rig), "web-5 web-6 web-7 web-8");
	ordered_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':1}}", 200);
	workload_settle(rig->kube, ordered_unready, NULL);
	assert_string_equal(ordered_names(rig), "web-5");
	/* More than one look asks for. */
	ordered_must(rig, "MERGE " SETS "/web",
		     "{'spec':{'replicas':230,'ordinals':{'start':0}}}", 200);
	ordered_until(rig, (struct kube_step){"GET " SETS "/web",
					      NULL,
					      200,
					      {"status.readyReplicas=230"}});
	ordered_must(rig, "MERGE " SETS "/web", "{'spec':{'replicas':2}}", 200);
	ordered_until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=2"}});
	assert_string_equal(ordered_names(rig), "web-0 web-1");
}

/* A pod comes again under its name: after it failed, ended, or was deleted, and not
 * before it is gone. */
static void test_again(void **state)
{
	static const char *const phases[] = {"Failed", "Succeeded", NULL};
	struct ordered_rig *rig = *state;
	char uid[64];

	ordered_must(rig, "POST " SETS, SET("web", 2, "", "i"), 201);
	ordered_settle(rig);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(phases); i++) {
		ordered_must(rig, "GET " PODS "/web-0", NULL, 200);
		(void)neap_strcopy(uid, sizeof(uid),
				   kube_text(rig->kube->body, "metadata.uid"));
		if (phases[i])
			workload_set_phase(rig->kube, "default", "web-0", phases[i],
					   "False");
		else
			ordered_must(rig, "DELETE " PODS "/web-0", NULL, 200);
		ordered_settle(rig);
		ordered_until(rig, (struct kube_step){"GET " SETS "/web",
						      NULL,
						      200,
						      {"status.readyReplicas=2"}});
		ordered_must(rig, "GET " PODS "/web-0", NULL, 200);
		assert_string_not_equal(uid, kube_text(rig->kube->body, "metadata.uid"));
	}
	assert_int_equal(ordered_events(rig, "RecreatingFailedPod"), 1);
	assert_int_equal(ordered_events(rig, "RecreatingTerminatedPod"), 1);
	/* As long as nobody ends it, it stays. */
	ordered_must(rig, "GET " PODS "/web-1", NULL, 200);
	(void)neap_strcopy(uid, sizeof(uid), kube_text(rig->kube->body, "metadata.uid"));
	ordered_must(rig, "DELETE " PODS "/web-1", NULL, 200);
	kube_run(rig->kube, 100);
	ordered_must(rig, "GET " PODS "/web-1", NULL, 200);
	assert_string_equal(uid, kube_text(rig->kube->body, "metadata.uid"));
	assert_null(
		kube_differs(rig->kube->body, "metadata.deletionGracePeriodSeconds=30"));
}

static void test_min_ready(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS, SET("web", 2, "'minReadySeconds':30,", "i"), 201);
	ordered_settle(rig);
	assert_string_equal(ordered_names(rig), "web-0");
	ordered_until(rig, (struct kube_step){"GET " SETS "/web",
					      NULL,
					      200,
					      {"status.readyReplicas=1",
					       "status.availableReplicas=0"}});
	kube_now += 31 * SECOND;
	ordered_must(rig, "MERGE " SETS "/web", "{'metadata':{'annotations':{'n':'1'}}}",
		     200);
	ordered_settle(rig);
	assert_string_equal(ordered_names(rig), "web-0 web-1");
}

static void test_adopt_and_release(void **state)
{
	struct ordered_rig *rig = *state;
	static const char pod[] =
		"{'metadata':{'name':'%s','labels':{'a':'b'}},'spec':{'containers':[{"
		"'name':'c','image':'i'}]}}";
	static const char *const made[] = {"web-0", "web-x", "web-01", "other-0"};
	char body[512];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(made); i++) {
		(void)snprintf(body, sizeof(body), pod, made[i]);
		ordered_must(rig, "POST " PODS, body, 201);
	}
	/* Only what has a name of its own is taken over. */
	ordered_must(rig, "POST " SETS,
		     SET("web", 1, "'updateStrategy':{'type':'OnDelete'},", "i"), 201);
	ordered_until(rig,
		      (struct kube_step){
			      "GET " PODS "/web-0",
			      NULL,
			      200,
			      {"metadata.ownerReferences.0.name=web",
			       "metadata.ownerReferences.0.controller=true",
			       "metadata.labels~\"statefulset.kubernetes.io/pod-name\":"
			       "\"web-0\""}});
	ordered_settle(rig);
	for (size_t i = 1; i < NEAP_ARRAY_LEN(made); i++) {
		(void)snprintf(body, sizeof(body), "GET " PODS "/%s", made[i]);
		ordered_must(rig, body, NULL, 200);
		assert_null(kube_differs(rig->kube->body, "!metadata.ownerReferences"));
	}
	/* Of another label it is let go; its name stays taken until it has gone. */
	ordered_must(rig, "MERGE " PODS "/web-0", "{'metadata':{'labels':{'a':'z'}}}",
		     200);
	ordered_until(rig, (struct kube_step){"GET " PODS "/web-0",
					      NULL,
					      200,
					      {"!metadata.ownerReferences"}});
	ordered_must(rig, "DELETE " PODS "/web-0?gracePeriodSeconds=0", NULL, 200);
	ordered_until(rig, (struct kube_step){"GET " PODS "/web-0",
					      NULL,
					      200,
					      {"metadata.ownerReferences.0.name=web"}});
	/* Orphaned pods and revisions go to the next of that name. */
	ordered_must(rig, "DELETE " SETS "/web", "{'propagationPolicy':'Orphan'}", 200);
	ordered_until(rig, (struct kube_step){"GET " SETS "/web", NULL, 404, {NULL}});
	ordered_settle(rig);
	ordered_must(rig, "POST " SETS, SET("web", 1, "", "i"), 201);
	ordered_until(rig, (struct kube_step){"GET " SETS "/web",
					      NULL,
					      200,
					      {"status.updatedReplicas=1"}});
	ordered_must(rig, "GET " REVISIONS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=1"));
	/* And with it go its pods. */
	ordered_must(rig, "DELETE " SETS "/web", NULL, 200);
	ordered_until(rig, (struct kube_step){"GET " PODS "/web-0", NULL, 404, {NULL}});
	ordered_until(rig, (struct kube_step){"GET " REVISIONS, NULL, 200, {"#items=0"}});
}

/* --- trouble --- */

/* What is refused is told, and asked for again until it is not. */
static void test_refused(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(
		rig, "POST " SETS,
		"{'metadata':{'name':'web'},'spec':{'replicas':2,'serviceName':'s',"
		"'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{"
		"'a':'b'}},'spec':{'priorityClassName':'high','containers':[{'name':'c',"
		"'image':'i'}]}}}}",
		201);
	ordered_until(
		rig,
		(struct kube_step){
			"GET " EVENTS,
			NULL,
			200,
			{"items.0.reason=FailedCreate", "items.0.type=Warning",
			 "items.0.message~create Pod web-0 in StatefulSet web failed "
			 "error: ",
			 "items.0.source.component=statefulset-controller"}});
	ordered_until(rig, (struct kube_step){
				   "GET " SETS "/web", NULL, 200, {"status.replicas=0"}});
	ordered_must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
		     "{'metadata':{'name':'high'},'value':7}", 201);
	ordered_until(rig,
		      (struct kube_step){
			      "GET " SETS "/web", NULL, 200, {"status.readyReplicas=2"}});
}

/* A controller that begins anew at any moment makes no pod twice, and no revision. */
static void test_restarts(void **state)
{
	struct ordered_rig *rig = *state;

	ordered_must(rig, "POST " SETS,
		     SET("web", 20, VOLUME "'podManagementPolicy':'Parallel',", "i"),
		     201);
	for (int i = 0; i < 30; i++) {
		kube_run(rig->kube, i);
		neap_statefulsets_free(rig->sets);
		ordered_start(rig);
		if (i == 15)
			ordered_must(rig, "MERGE " SETS "/web", IMAGE("j"), 200);
		(void)workload_play(rig->kube, NULL, NULL);
	}
	ordered_until(rig, (struct kube_step){"GET " SETS "/web",
					      NULL,
					      200,
					      {"status.readyReplicas=20",
					       "status.updatedReplicas=20",
					       "status.currentReplicas=20"}});
	ordered_must(rig, "GET " REVISIONS, NULL, 200);
	assert_in_range(json_array_size(kube_at(rig->kube->body, "items")), 1, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, ordered_setup, ordered_teardown)
		TEST(test_ordered), TEST(test_waits),     TEST(test_parallel),
		TEST(test_again),   TEST(test_min_ready), TEST(test_adopt_and_release),
		TEST(test_refused), TEST(test_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
