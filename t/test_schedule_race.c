/* SPDX-License-Identifier: Apache-2.0
 *
 * What happens between a decision and the moment that its binding is seen. */
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/client.h"
#include "t/lib/patience.h"
#include "t/lib/schedule_rig.h"

#define TEST(name)                                                                       \
	cmocka_unit_test_setup_teardown(test_##name, schedule_setup, schedule_teardown)

#define PODS  SCHEDULE_PODS
#define NODES SCHEDULE_NODES

static bool is_created;

static struct kube_rig *rig_of(void *arg)
{
	return arg;
}

static void create(struct kube_rig *rig, const char *name,
		   void (*told)(void *arg, struct neap_object *object,
				const struct neap_client_failure *failure))
{
	struct neap_client_ask ask = {.resource = "pods",
				      .ns = "default",
				      .name = name,
				      .told = told,
				      .arg = rig};

	is_created = false;
	neap_client_create_take(
		rig->client, &ask,
		json_pack("{s:{s:s}, s:{s:s, s:[{s:s, s:s, s:{s:{s:s}}}]}}", "metadata",
			  "name", name, "spec", "schedulerName", "neap-scheduler",
			  "containers", "name", "c", "image", "i", "resources",
			  "requests", "cpu", "3"));
	assert_true(comes_true_in(rig->base, is_created));
}

/* The scheduler has heard of the pod and not decided yet. */
static void bind_elsewhere(void *arg, struct neap_object *object,
			   const struct neap_client_failure *failure)
{
	struct neap_client_ask ask = {.resource = "pods", .ns = "default", .name = "p"};

	assert_non_null(object);
	assert_null(failure);
	is_created = true;
	neap_client_bind(rig_of(arg)->client, &ask,
			 &(struct neap_client_binding){.node = "b", .uid = object->uid});
}

static void test_two_binders(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "first", "", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "first"), "a");
	schedule_add_node(rig, "b", "", "'unschedulable':true", "'cpu':'4'");
	create(rig, "p", bind_elsewhere);
	assert_string_equal(schedule_wait_node(rig, "p"), "b");
	/* What was assumed on a is free again. */
	schedule_add_pod(rig, "q", "", "'cpu':'3'", "");
	assert_string_equal(schedule_wait_node(rig, "q"), "a");
	schedule_add_pod(rig, "r", "", "'cpu':'1'", "");
	schedule_wait_message(
		rig, "r",
		"0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were "
		"unschedulable.");
}

static void delete_node(void *arg, struct neap_object *object,
			const struct neap_client_failure *failure)
{
	struct neap_client_ask ask = {.resource = "nodes", .ns = "", .name = "a"};

	assert_non_null(object);
	assert_null(failure);
	is_created = true;
	neap_client_delete(rig_of(arg)->client, &ask, NULL, -1);
}

static void test_node_goes(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	schedule_add_pod(rig, "first", "", "'cpu':'1'", "");
	assert_string_equal(schedule_wait_node(rig, "first"), "a");
	create(rig, "p", delete_node);
	schedule_wait_message(rig, "p", "no nodes available to schedule pods");
	schedule_add_node(rig, "b", "", "", "'cpu':'4'");
	assert_string_equal(schedule_wait_node(rig, "p"), "b");
}

static void note_created(void *arg, struct neap_object *object,
			 const struct neap_client_failure *failure)
{
	(void)arg;
	assert_non_null(object);
	assert_null(failure);
	is_created = true;
}

/* As it is accepted; that may not be shown yet. */
static bool is_placed(struct kube_rig *rig)
{
	struct neap_object *object =
		neap_store_newest(rig->store.store, "pods", "default", "p");

	assert_non_null(object);
	return *neap_object_field(object, "spec.nodeName") != '\0';
}

static void test_pod_goes(void **state)
{
	struct neap_client_ask ask = {.resource = "pods", .ns = "default", .name = "p"};
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	create(rig, "p", note_created);
	assert_true(comes_true_in(rig->base, is_placed(rig)));
	/* Accepted, and not shown yet. */
	assert_string_equal(neap_object_field(neap_store_find(rig->store.store, "pods",
							      "default", "p"),
					      "spec.nodeName"),
			    "");
	neap_client_delete(rig->client, &ask, NULL, 0);
	schedule_add_pod(rig, "q", "", "'cpu':'4'", "");
	assert_string_equal(schedule_wait_node(rig, "q"), "a");
	assert_int_equal(kube_ask(rig, "GET " PODS "/p", NULL), 404);
}

/* The scheduler goes while its binding is on its way; the next one finds what was
 * done. */
static void test_restart(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	create(rig, "p", note_created);
	assert_true(comes_true_in(rig->base, is_placed(rig)));
	schedule_stop();
	schedule_add_pod(rig, "q", "", "'cpu':'2'", "");
	schedule_start(rig);
	schedule_wait_message(rig, "q", "0/1 nodes are available: 1 Insufficient cpu.");
	assert_string_equal(schedule_wait_node(rig, "p"), "a");
	assert_int_equal(kube_ask(rig, "DELETE " PODS "/p?gracePeriodSeconds=0", NULL),
			 200);
	assert_string_equal(schedule_wait_node(rig, "q"), "a");
}

/* --- what a pod that has no place waits for --- */

struct wake {
	const char *name, *requests, *spec;
	const char *before, *before_body; /* asked before the pod comes; NULL: nothing */
	const char *ask, *body;
};

#define METRICS    "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define LIMIT(t)   "{'metadata':{'annotations':{'" LIMITS_KEY "':" t "}}}"
#define LIMITS_KEY "scheduling.koordinator.sh/usage-thresholds"
#define REPORT(cpu)                                                                      \
	"{'status':{'updateTime':'2030-01-01T00:00:00Z','nodeMetric':{'nodeUsage':{"     \
	"'resources':{'cpu':'" cpu "','memory':'0'}}}}}"

static const struct wake wakes[] = {
	{"by-limit", "", "", "MERGE " NODES "/a",
	 LIMIT("'{\\\"usageThresholds\\\":{\\\"cpu\\\":50}}'"), "MERGE " NODES "/a",
	 LIMIT("null")},
	{"by-report", "", "", "MERGE " NODES "/a",
	 LIMIT("'{\\\"usageThresholds\\\":{\\\"cpu\\\":50}}'"),
	 "MERGE " METRICS "/a/status", REPORT("1")},
	{"by-room", "'cpu':'8'", "", "MERGE " NODES "/a", LIMIT("null"),
	 "MERGE " NODES "/a/status", "{'status':{'allocatable':{'cpu':'9'}}}"},
	{"by-label", "", "'nodeSelector':{'x':'y'}", NULL, NULL, "MERGE " NODES "/a",
	 "{'metadata':{'labels':{'x':'y'}}}"},
	{"by-pod", "'cpu':'9'", "", NULL, NULL,
	 "DELETE " PODS "/by-room?gracePeriodSeconds=0", NULL},
	{"by-cordon", "", "", "MERGE " NODES "/a", "{'spec':{'unschedulable':true}}",
	 "MERGE " NODES "/a", "{'spec':{'unschedulable':null}}"},
	{"by-taint", "", "", "MERGE " NODES "/a",
	 "{'spec':{'taints':[{'key':'k','effect':'NoSchedule'}]}}", "MERGE " NODES "/a",
	 "{'spec':{'taints':null}}"},
	{"by-placed", "",
	 "'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
	 "'labelSelector':{'matchLabels':{'app':'near'}},'topologyKey':'x'}]}}",
	 NULL, NULL, "POST " PODS,
	 "{'metadata':{'name':'near','labels':{'app':'near'}},'spec':{'schedulerName':"
	 "'neap-scheduler','containers':[{'name':'c','image':'i'}]}}"},
	{"by-namespace", "",
	 "'affinity':{'podAffinity':{'requiredDuringSchedulingIgnoredDuringExecution':[{"
	 "'labelSelector':{'matchLabels':{'app':'near'}},'namespaceSelector':{"
	 "'matchLabels':{'team':'x'}},'topologyKey':'x'}]}}",
	 NULL, NULL, "MERGE /api/v1/namespaces/default",
	 "{'metadata':{'labels':{'team':'x'}}}"},
	{"by-node-gone", "",
	 "'topologySpreadConstraints':[{'maxSkew':1,'topologyKey':'x',"
	 "'whenUnsatisfiable':'DoNotSchedule','labelSelector':{'matchExpressions':[{"
	 "'key':'absent','operator':'DoesNotExist'}]}}]",
	 "POST " NODES, "{'metadata':{'name':'b','labels':{'x':'z'}}}",
	 "DELETE " NODES "/b", NULL},
	{"by-itself", "", "", "MERGE " NODES "/a",
	 "{'spec':{'taints':[{'key':'k','effect':'NoSchedule'}]}}",
	 "MERGE " PODS "/by-itself",
	 "{'spec':{'tolerations':[{'key':'k','operator':'Exists'}]}}"},
};

static void must(struct kube_rig *rig, const char *name, const char *ask,
		 const char *body)
{
	int status = kube_ask(rig, ask, body);

	if (status != 200 && status != 201)
		fail_msg("%s: %d %s", name, status, kube_text(rig->body, "message"));
}

/* Long before all that wait are tried again in any case. */
static void wait_soon(struct kube_rig *rig, const char *name)
{
	char ask[128];

	(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", name);
	for (int i = 0; i < PATIENCE_MS / 5; i++) {
		must(rig, name, ask, NULL);
		if (*kube_text(rig->body, "spec.nodeName"))
			return;
		kube_run(rig, 5);
		if (i < 200)
			kube_now += 500000;
	}
	fail_msg("%s is not woken: %s", name,
		 kube_text(rig->body, "status.conditions.0.message"));
}

static void test_woken(void **state)
{
	struct kube_rig *rig = *state;

	schedule_add_node(rig, "a", "", "", "'cpu':'4'");
	must(rig, "a", "POST " METRICS, "{'metadata':{'name':'a'},'spec':{}}");
	must(rig, "a", "MERGE " METRICS "/a/status", REPORT("9"));
	for (size_t i = 0; i < sizeof(wakes) / sizeof(wakes[0]); i++) {
		const struct wake *wake = &wakes[i];
		char ask[128];

		if (wake->before)
			must(rig, wake->name, wake->before, wake->before_body);
		schedule_add_pod(rig, wake->name, "", wake->requests, wake->spec);
		(void)snprintf(ask, sizeof(ask), "GET " PODS "/%s", wake->name);
		kube_until(rig,
			   &(struct kube_step){
				   ask, NULL, 200, {"status.conditions.0.status=False"}});
		must(rig, wake->name, wake->ask, wake->body);
		wait_soon(rig, wake->name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_binders), TEST(node_goes), TEST(pod_goes),
		TEST(restart),     TEST(woken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
