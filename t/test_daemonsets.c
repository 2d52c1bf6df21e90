/* SPDX-License-Identifier: Apache-2.0
 *
 * DaemonSets: a pod on each node where it belongs, nodes that come, go and change,
 * updates with and without surge, pods that fail, revisions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "t/lib/patience.h"
#include "t/lib/workload_rig.h"

#define APPS      "/apis/apps/v1/namespaces/default/"
#define SETS      APPS "daemonsets"
#define REVISIONS APPS "controllerrevisions"
#define PODS      "/api/v1/namespaces/default/pods"
#define NODES     "/api/v1/nodes"
#define EVENTS    "/api/v1/namespaces/default/events"
#define SECOND    INT64_C(1000000)
/* spec, pod: members, with a comma behind each. */
#define SET(name, spec, pod, image)                                                      \
	"{'metadata':{'name':'" name "'},'spec':{" spec                                  \
	"'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':"    \
	"'b'}},'spec':{" pod "'containers':[{'name':'c','image':'" image "'}]}}}}"
#define IMAGE(image)                                                                     \
	"{'spec':{'template':{'spec':{'containers':[{'name':'c','image':'" image "'}]}}}}"
#define ROLLING(more) "'updateStrategy':{'rollingUpdate':{" more "}},"

struct daemon_rig {
	struct kube_rig *kube;
	struct neap_daemonsets *sets;
};

static void start(struct daemon_rig *rig)
{
	struct neap_workload_config config = workload_config(rig->kube);
	struct neap_error err = {0};

	assert_int_equal(neap_daemonsets_new(&config, &rig->sets, &err), 0);
}

static int setup(void **state)
{
	struct daemon_rig *rig = neap_alloc(sizeof(*rig));

	assert_non_null(rig);
	assert_int_equal(kube_rig_setup((void **)&rig->kube), 0);
	start(rig);
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct daemon_rig *rig = *state;

	neap_daemonsets_free(rig->sets);
	(void)kube_rig_teardown((void **)&rig->kube);
	free(rig);
	return 0;
}

static void must(struct daemon_rig *rig, const char *ask, const char *body, int status)
{
	int got = kube_ask(rig->kube, ask, body);

	if (got != status)
		fail_msg("%s: %d: %s", ask, got, kube_text(rig->kube->body, "message"));
}

static void until(struct daemon_rig *rig, struct kube_step step)
{
	workload_until(rig->kube, &step);
}

static void settle(struct daemon_rig *rig)
{
	workload_settle(rig->kube, NULL, NULL);
}

static void add_nodes(struct daemon_rig *rig, int from, int count)
{
	char body[256];

	for (int i = from; i < from + count; i++) {
		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'name':'m%d','labels':{'n':'%d','kind':"
			       "'%s'}}}",
			       i, i, i % 2 ? "odd" : "even");
		must(rig, "POST " NODES, body, 201);
	}
}

static int by_text(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* "m0:i m1:i": where the pods are, in order, and one member of them. */
static const char *where(struct daemon_rig *rig, const char *path)
{
	static char text[4096];
	char rows[64][128];
	json_t *pods = workload_list(rig->kube, "pods", "default"), *pod;
	size_t i, count = json_array_size(pods);

	assert_in_range(count, 0, 64);
	json_array_foreach (pods, i, pod) {
		(void)snprintf(rows[i], sizeof(rows[i]), "%s:%s",
			       kube_text(pod, "spec.nodeName"), kube_text(pod, path));
	}
	json_decref(pods);
	qsort(rows, count, sizeof(rows[0]), by_text);
	text[0] = '\0';
	for (i = 0; i < count; i++) {
		size_t len = strlen(text);

		(void)snprintf(text + len, sizeof(text) - len, "%s%s", i ? " " : "",
			       rows[i]);
	}
	return text;
}

static const char *images(struct daemon_rig *rig)
{
	return where(rig, "spec.containers.0.image");
}

static int count_events(struct daemon_rig *rig, const char *reason)
{
	json_t *events = workload_list(rig->kube, "events", "default"), *event;
	int n = 0;
	size_t i;

	json_array_foreach (events, i, event) {
		if (strcmp(kube_text(event, "reason"), reason) == 0)
			n += (int)json_integer_value(json_object_get(event, "count"));
	}
	json_decref(events);
	return n;
}

/* Those of the image do not become ready. */
static enum workload_fate bad_image(void *arg, const json_t *pod)
{
	return strcmp(kube_text(pod, "spec.containers.0.image"), arg) == 0
		       ? WORKLOAD_UNREADY
		       : WORKLOAD_RUN;
}

static void settle_bad(struct daemon_rig *rig, const char *image)
{
	workload_settle(rig->kube, bad_image, (void *)(uintptr_t)image);
}

/* --- pods --- */

static void test_pods(void **state)
{
	static const char *const tolerated[] = {"not-ready",     "unreachable",
						"disk-pressure", "memory-pressure",
						"pid-pressure",  "unschedulable"};
	struct daemon_rig *rig = *state;
	char text[4096] = "";
	const json_t *pod;
	char *dump;

	add_nodes(rig, 0, 3);
	must(rig, "POST " SETS, SET("ds", "", "", "i"), 201);
	settle(rig);
	assert_string_equal(images(rig), "m0:i m1:i m2:i");
	until(rig, (struct kube_step){
			   "GET " SETS "/ds",
			   NULL,
			   200,
			   {"status.desiredNumberScheduled=3",
			    "status.currentNumberScheduled=3", "status.numberReady=3",
			    "status.numberAvailable=3", "status.updatedNumberScheduled=3",
			    "status.numberMisscheduled=0", "!status.numberUnavailable",
			    "status.observedGeneration=1", "!status.collisionCount"}});
	must(rig, "GET " PODS, NULL, 200);
	pod = kube_at(rig->kube->body, "items.0");
	assert_null(kube_differs(pod, "metadata.generateName=ds-"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.kind=DaemonSet"));
	assert_null(kube_differs(pod, "metadata.ownerReferences.0.controller=true"));
	dump = json_dumps(kube_at(pod, "spec.tolerations"), JSON_COMPACT);
	assert_non_null(dump);
	(void)snprintf(text, sizeof(text), "%s", dump);
	free(dump);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(tolerated); i++)
		assert_non_null(strstr(text, tolerated[i]));
	assert_null(strstr(text, "network-unavailable"));
	assert_int_equal(count_events(rig, "SuccessfulCreate"), 3);
	/* Nodes come and go. */
	add_nodes(rig, 3, 2);
	settle(rig);
	assert_string_equal(images(rig), "m0:i m1:i m2:i m3:i m4:i");
	must(rig, "DELETE " SETS "/ds", NULL, 200);
	until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=0"}});
	until(rig, (struct kube_step){"GET " REVISIONS, NULL, 200, {"#items=0"}});
}

/* Where pods belong. */
static void test_places(void **state)
{
	static const struct {
		const char *body, *where;
	} rows[] = {
		{SET("ds", "", "'nodeSelector':{'kind':'odd'},", "i"), "m1:i"},
		{SET("ds", "", "'nodeSelector':{'kind':'odd','n':'2'},", "i"), ""},
		{SET("ds", "", "'nodeName':'m2',", "i"), "m2:i"},
		{SET("ds", "",
		     "'affinity':{'nodeAffinity':{"
		     "'requiredDuringSchedulingIgnoredDuringExecution':{"
		     "'nodeSelectorTerms':[{'matchExpressions':[{'key':'n','operator':"
		     "'NotIn','values':['0']}]},{'matchFields':[{'key':'metadata.name',"
		     "'operator':'In','values':['m0']}]}]}}},",
		     "i"),
		 "m0:i m1:i m2:i"},
		{SET("ds", "",
		     "'affinity':{'nodeAffinity':{"
		     "'requiredDuringSchedulingIgnoredDuringExecution':{"
		     "'nodeSelectorTerms':[{'matchExpressions':[{'key':'n','operator':"
		     "'Gt','values':['1']}]}]}}},",
		     "i"),
		 "m2:i"},
		/* The taints of m3, of which the second needs no toleration. */
		{SET("ds", "", "'tolerations':[{'key':'k','operator':'Exists'}],", "i"),
		 "m0:i m1:i m2:i m3:i"},
		{SET("ds", "",
		     "'tolerations':[{'key':'k','value':'v','effect':'NoSchedule'}],",
		     "i"),
		 "m0:i m1:i m2:i m3:i"},
		{SET("ds", "",
		     "'tolerations':[{'key':'k','value':'w','effect':'NoSchedule'}],",
		     "i"),
		 "m0:i m1:i m2:i"},
	};
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 3);
	must(rig, "POST " NODES,
	     "{'metadata':{'name':'m3','labels':{'n':'0'}},'spec':{'unschedulable':true,"
	     "'taints':[{'key':'k','value':'v','effect':'NoSchedule'},{'key':'p',"
	     "'effect':'PreferNoSchedule'},{'key':'node.kubernetes.io/unschedulable',"
	     "'effect':'NoSchedule'}]}}",
	     201);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		must(rig, "POST " SETS, rows[i].body, 201);
		settle(rig);
		assert_string_equal(images(rig), rows[i].where);
		must(rig, "DELETE " SETS "/ds", NULL, 200);
		until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=0"}});
	}
}

/* What becomes of a pod when its node changes. */
static void test_node_changes(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 2);
	must(rig, "POST " SETS, SET("ds", "", "'nodeSelector':{'kind':'even'},", "i"),
	     201);
	settle(rig);
	assert_string_equal(images(rig), "m0:i");
	must(rig, "MERGE " NODES "/m1", "{'metadata':{'labels':{'kind':'even'}}}", 200);
	settle(rig);
	assert_string_equal(images(rig), "m0:i m1:i");
	must(rig, "MERGE " NODES "/m0", "{'metadata':{'labels':{'kind':'odd'}}}", 200);
	settle(rig);
	assert_string_equal(images(rig), "m1:i");
	/* NoSchedule keeps new ones away, NoExecute the old ones too. */
	must(rig, "MERGE " NODES "/m1",
	     "{'spec':{'taints':[{'key':'k','effect':'NoSchedule'}]}}", 200);
	until(rig, (struct kube_step){"GET " SETS "/ds",
				      NULL,
				      200,
				      {"status.desiredNumberScheduled=0",
				       "status.numberMisscheduled=1"}});
	settle(rig);
	assert_string_equal(images(rig), "m1:i");
	must(rig, "MERGE " NODES "/m1",
	     "{'spec':{'taints':[{'key':'k','effect':'NoExecute'}]}}", 200);
	settle(rig);
	assert_string_equal(images(rig), "");
	must(rig, "MERGE " NODES "/m1", "{'spec':{'taints':null}}", 200);
	settle(rig);
	assert_string_equal(images(rig), "m1:i");
}

/* A pod that waits for a node that has gone leaves. */
static void test_lost_node(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 1);
	must(rig, "POST " SETS, SET("ds", "", "", "i"), 201);
	kube_run(rig->kube, 100);
	until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=1"}});
	must(rig, "DELETE " PODS "?fieldSelector=spec.nodeName%3Dm0&gracePeriodSeconds=0",
	     NULL, 200);
	must(rig, "DELETE " NODES "/m0", NULL, 200);
	until(rig,
	      (struct kube_step){
		      "GET " SETS "/ds", NULL, 200, {"status.desiredNumberScheduled=0"}});
}

static void test_again(void **state)
{
	struct daemon_rig *rig = *state;
	char name[64];

	add_nodes(rig, 0, 1);
	must(rig, "POST " SETS, SET("ds", "", "", "i"), 201);
	settle(rig);
	for (int i = 0; i < 3; i++) {
		must(rig, "GET " PODS, NULL, 200);
		(void)neap_strcopy(name, sizeof(name),
				   kube_text(rig->kube->body, "items.0.metadata.name"));
		workload_set_phase(rig->kube, "default", name,
				   i == 2 ? "Succeeded" : "Failed", "False");
		if (i == 1) {
			char ask[128];

			/* The second in a row has to wait. */
			settle(rig);
			(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
			must(rig, ask, NULL, 200);
			kube_now += 2 * SECOND;
			must(rig, "MERGE " SETS "/ds",
			     "{'metadata':{'annotations':{'n':'1'}}}", 200);
		}
		settle(rig);
		must(rig, "GET " PODS, NULL, 200);
		assert_null(kube_differs(rig->kube->body, "#items=1"));
		assert_string_not_equal(
			name, kube_text(rig->kube->body, "items.0.metadata.name"));
	}
	assert_int_equal(count_events(rig, "FailedDaemonPod"), 2);
	assert_int_equal(count_events(rig, "SucceededDaemonPod"), 1);
}

static void test_adopt(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 2);
	must(rig, "POST " PODS,
	     "{'metadata':{'name':'bare','labels':{'a':'b'}},'spec':{'nodeName':'m0',"
	     "'containers':[{'name':'c','image':'i'}]}}",
	     201);
	must(rig, "POST " SETS,
	     SET("ds", "'updateStrategy':{'type':'OnDelete'},", "", "i"), 201);
	settle(rig);
	assert_string_equal(where(rig, "metadata.ownerReferences.0.name"), "m0:ds m1:ds");
	must(rig, "MERGE " PODS "/bare", "{'metadata':{'labels':{'a':'z'}}}", 200);
	settle(rig);
	assert_string_equal(where(rig, "metadata.ownerReferences.0.name"),
			    "m0: m0:ds m1:ds");
	/* With the label again it is one too many, and the oldest. */
	must(rig, "MERGE " PODS "/bare", "{'metadata':{'labels':{'a':'b'}}}", 200);
	settle(rig);
	assert_string_equal(where(rig, "metadata.ownerReferences.0.name"), "m0:ds m1:ds");
}

static void test_many(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 230);
	must(rig, "POST " SETS, SET("ds", "", "", "i"), 201);
	until(rig, (struct kube_step){
			   "GET " SETS "/ds", NULL, 200, {"status.numberAvailable=230"}});
	must(rig, "MERGE " SETS "/ds",
	     "{'spec':{'template':{'spec':{'nodeSelector':{'n':'7'}}}}}", 200);
	until(rig, (struct kube_step){"GET " PODS, NULL, 200, {"#items=1"}});
}

/* --- updates --- */

static void test_update(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 4);
	must(rig, "POST " SETS, SET("ds", ROLLING("'maxUnavailable':'50%'"), "", "i"),
	     201);
	settle(rig);
	must(rig, "MERGE " SETS "/ds", IMAGE("j"), 200);
	settle_bad(rig, "j");
	assert_int_equal(strlen(images(rig)), strlen("m0:i m1:i m2:j m3:j"));
	must(rig, "GET " SETS "/ds", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "status.updatedNumberScheduled=2"));
	assert_null(kube_differs(rig->kube->body, "status.numberUnavailable=2"));
	assert_null(kube_differs(rig->kube->body, "status.numberReady=2"));
	settle(rig);
	assert_string_equal(images(rig), "m0:j m1:j m2:j m3:j");
	/* Back: the old revision is the newest again. */
	must(rig, "MERGE " SETS "/ds", IMAGE("i"), 200);
	settle(rig);
	assert_string_equal(images(rig), "m0:i m1:i m2:i m3:i");
	must(rig, "GET " REVISIONS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=2"));
	assert_int_equal(
		json_integer_value(kube_at(rig->kube->body, "items.0.revision")) +
			json_integer_value(kube_at(rig->kube->body, "items.1.revision")),
		5);
}

/* A new pod comes beside the old one, which stays until that is ready. */
static void test_surge(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 3);
	must(rig, "POST " SETS,
	     SET("ds", ROLLING("'maxUnavailable':0,'maxSurge':1"), "", "i"), 201);
	settle(rig);
	kube_now += SECOND; /* the status is of the oldest pod on a node */
	must(rig, "MERGE " SETS "/ds", IMAGE("bad"), 200);
	settle_bad(rig, "bad");
	must(rig, "GET " SETS "/ds", NULL, 200);
	assert_null(kube_differs(rig->kube->body, "status.numberAvailable=3"));
	must(rig, "GET " PODS, NULL, 200);
	assert_null(kube_differs(rig->kube->body, "#items=4"));
	must(rig, "MERGE " SETS "/ds", IMAGE("j"), 200);
	settle(rig);
	assert_string_equal(images(rig), "m0:j m1:j m2:j");
	/* A pod that is deleted is made up for at once. */
	must(rig, "GET " PODS, NULL, 200);
	workload_set_phase(rig->kube, "default",
			   kube_text(rig->kube->body, "items.0.metadata.name"), "Failed",
			   "False");
	settle(rig);
	assert_string_equal(images(rig), "m0:j m1:j m2:j");
}

static void test_on_delete(void **state)
{
	struct daemon_rig *rig = *state;
	char ask[128];

	add_nodes(rig, 0, 2);
	must(rig, "POST " SETS,
	     SET("ds", "'updateStrategy':{'type':'OnDelete'},", "", "i"), 201);
	settle(rig);
	must(rig, "MERGE " SETS "/ds", IMAGE("j"), 200);
	settle(rig);
	assert_string_equal(images(rig), "m0:i m1:i");
	must(rig, "GET " PODS "?fieldSelector=spec.nodeName%3Dm1", NULL, 200);
	(void)snprintf(ask, sizeof(ask), "DELETE " PODS "/%s",
		       kube_text(rig->kube->body, "items.0.metadata.name"));
	must(rig, ask, NULL, 200);
	settle(rig);
	assert_string_equal(images(rig), "m0:i m1:j");
}

static void test_min_ready(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 1);
	must(rig, "POST " SETS, SET("ds", "'minReadySeconds':30,", "", "i"), 201);
	until(rig, (struct kube_step){"GET " SETS "/ds",
				      NULL,
				      200,
				      {"status.numberReady=1", "!status.numberAvailable",
				       "status.numberUnavailable=1"}});
	kube_now += 31 * SECOND;
	must(rig, "MERGE " SETS "/ds", "{'metadata':{'annotations':{'n':'1'}}}", 200);
	until(rig, (struct kube_step){
			   "GET " SETS "/ds", NULL, 200, {"status.numberAvailable=1"}});
}

static void test_history(void **state)
{
	struct daemon_rig *rig = *state;
	const json_t *revision;
	char body[512];

	add_nodes(rig, 0, 1);
	must(rig, "POST " SETS, SET("ds", "'revisionHistoryLimit':2,", "", "i"), 201);
	settle(rig);
	must(rig, "GET " REVISIONS, NULL, 200);
	revision = kube_at(rig->kube->body, "items.0");
	assert_null(kube_differs(revision, "data.spec.template.$patch=replace"));
	assert_null(kube_differs(revision, "metadata.ownerReferences.0.kind=DaemonSet"));
	(void)snprintf(
		body, sizeof(body), "ds-%s",
		json_string_value(json_object_get(kube_at(revision, "metadata.labels"),
						  "controller-revision-hash")));
	assert_string_equal(kube_text(revision, "metadata.name"), body);
	for (int i = 0; i < 5; i++) {
		(void)snprintf(body, sizeof(body), IMAGE("v%d"), i);
		must(rig, "MERGE " SETS "/ds", body, 200);
		settle(rig);
	}
	until(rig, (struct kube_step){"GET " REVISIONS, NULL, 200, {"#items=3"}});
}

/* --- trouble --- */

static void test_refused(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 3);
	must(rig, "POST " SETS, SET("ds", "", "'priorityClassName':'high',", "i"), 201);
	until(rig,
	      (struct kube_step){"GET " EVENTS,
				 NULL,
				 200,
				 {"items.0.reason=FailedCreate", "items.0.type=Warning",
				  "items.0.message~Error creating: ",
				  "items.0.source.component=daemonset-controller"}});
	must(rig, "POST /apis/scheduling.k8s.io/v1/priorityclasses",
	     "{'metadata':{'name':'high'},'value':7}", 201);
	until(rig,
	      (struct kube_step){"GET " SETS "/ds", NULL, 200, {"status.numberReady=3"}});
}

/* A controller that begins anew at any moment makes no pod twice. */
static void test_restarts(void **state)
{
	struct daemon_rig *rig = *state;

	add_nodes(rig, 0, 20);
	must(rig, "POST " SETS, SET("ds", ROLLING("'maxUnavailable':5"), "", "i"), 201);
	for (int i = 0; i < 30; i++) {
		kube_run(rig->kube, i);
		neap_daemonsets_free(rig->sets);
		start(rig);
		if (i == 15)
			must(rig, "MERGE " SETS "/ds", IMAGE("j"), 200);
		(void)workload_play(rig->kube, NULL, NULL);
		must(rig, "GET " PODS, NULL, 200);
		assert_in_range(json_array_size(kube_at(rig->kube->body, "items")), 0,
				20);
	}
	until(rig, (struct kube_step){"GET " SETS "/ds",
				      NULL,
				      200,
				      {"status.numberAvailable=20",
				       "status.updatedNumberScheduled=20"}});
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
		TEST(test_pods),      TEST(test_places),    TEST(test_node_changes),
		TEST(test_lost_node), TEST(test_again),     TEST(test_adopt),
		TEST(test_many),      TEST(test_update),    TEST(test_surge),
		TEST(test_on_delete), TEST(test_min_ready), TEST(test_history),
		TEST(test_refused),   TEST(test_restarts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
