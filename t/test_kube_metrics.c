/* SPDX-License-Identifier: Apache-2.0
 *
 * metrics.k8s.io out of NodeMetric objects. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <event2/event.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/kube/types/metrics.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)        cmocka_unit_test_setup_teardown(test_##name, setup, kube_rig_teardown)

#define METRICS "/apis/metrics.k8s.io/v1beta1"
#define REPORTS "/apis/slo.koordinator.sh/v1alpha1/nodemetrics"
#define PODS    "/api/v1/namespaces/default/pods"

#define POD(name, node, more)                                                            \
	"{'metadata':{'name':'" name "','labels':{'app':'" name "'}},'spec':{"           \
	"'nodeName':'" node "','containers':[{'name':'c','image':'i'}" more "]}}"
#define USES(ns, name, cpu, memory)                                                      \
	"{'namespace':'" ns "','name':'" name "','podUsage':{'resources':{'cpu':'" cpu   \
	"','memory':'" memory "'}}}"

static int setup(void **state)
{
	static const struct kube_step steps[] = {
		{"POST /api/v1/nodes",
		 "{'metadata':{'name':'n0','labels':{'zone':'a'}}}",
		 201,
		 {NULL}},
		{"POST /api/v1/nodes", "{'metadata':{'name':'n1'}}", 201, {NULL}},
		{"POST /api/v1/nodes", "{'metadata':{'name':'silent'}}", 201, {NULL}},
		{"POST " PODS, POD("web", "n0", ""), 201, {NULL}},
		{"POST " PODS, POD("db", "n0", ",{'name':'d','image':'i'}"), 201, {NULL}},
		{"POST " PODS, POD("other", "n1", ""), 201, {NULL}},
		{"POST /api/v1/namespaces", "{'metadata':{'name':'far'}}", 201, {NULL}},
		{"POST /api/v1/namespaces/far/pods", POD("web", "n1", ""), 201, {NULL}},
		{"POST " REPORTS,
		 "{'metadata':{'name':'n0'},'spec':{'metricCollectPolicy':{"
		 "'aggregateDurationSeconds':90}}}",
		 201,
		 {NULL}},
		{"MERGE " REPORTS "/n0/status",
		 "{'status':{'updateTime':'2026-09-21T14:00:00Z','nodeMetric':{'nodeUsage':{"
		 "'resources':{'cpu':'1250m','memory':2147483648,'x.y/z':'1'}}},"
		 "'podsMetric':[" USES("default", "web", "250m", "64Mi") "," USES(
			 "default", "db", "500m",
			 "1Gi") "," USES("default", "gone", "1",
					 "1") "," USES("default", "other", "9",
						       "9") "," USES("default", "web",
								     "7",
								     "7") ",{'name':'x'}]}}",
		 200,
		 {NULL}},
		{"POST " REPORTS, "{'metadata':{'name':'n1'}}", 201, {NULL}},
		{"MERGE " REPORTS "/n1/status",
		 "{'status':{'updateTime':'2026-09-21T14:00:30Z','nodeMetric':{'nodeUsage':{"
		 "'resources':{'cpu':'2'}}},'podsMetric':[" USES(
			 "far", "web", "3", "3Mi") "," USES("default", "other", "10m",
							    "1Mi") "]}}",
		 200,
		 {NULL}},
		/* Nothing reported yet; of a node that is not there. */
		{"POST " REPORTS, "{'metadata':{'name':'silent'}}", 201, {NULL}},
		{"POST " REPORTS, "{'metadata':{'name':'lost'}}", 201, {NULL}},
		{"MERGE " REPORTS "/lost/status",
		 "{'status':{'updateTime':'2026-09-21T14:00:30Z','nodeMetric':{'nodeUsage':{"
		 "'resources':{'cpu':'2'}}}}}",
		 200,
		 {NULL}},
	};

	assert_int_equal(kube_rig_setup(state), 0);
	STEPS(*state, steps);
	return 0;
}

static void test_nodes(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " METRICS "/nodes",
		 NULL,
		 200,
		 {"kind=NodeMetricsList", "apiVersion=metrics.k8s.io/v1beta1", "#items=2",
		  "items.0.metadata.name=n0",
		  "items.0.usage={\"cpu\":\"1250m\",\"memory\":\"2147483648\"}",
		  "items.0.window=1m30s", "items.0.timestamp=2026-09-21T14:00:00Z"}},
		{"GET " METRICS "/nodes",
		 NULL,
		 200,
		 {"items.1.usage={\"cpu\":\"2\"}", "items.1.window=5m0s",
		  "items.0.metadata.labels.zone=a", "!items.1.metadata.labels"}},
		{"GET " METRICS "/nodes/n0",
		 NULL,
		 200,
		 {"kind=NodeMetrics", "usage.cpu=1250m"}},
		{"GET " METRICS "/nodes/silent",
		 NULL,
		 404,
		 {"message=nodes.metrics.k8s.io \"silent\" not found"}},
		{"GET " METRICS "/nodes/lost", NULL, 404, {NULL}},
		{"GET " METRICS "/nodes?labelSelector=zone%3Da",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=n0"}},
		{"GET " METRICS "/nodes?fieldSelector=metadata.name%3Dn1&limit=1",
		 NULL,
		 200,
		 {"#items=1", "items.0.metadata.name=n1", "!metadata.continue"}},
	};

	STEPS(*state, steps);
}

static void test_pods(void **state)
{
	static const struct kube_step steps[] = {
		{"GET " METRICS "/namespaces/default/pods",
		 NULL,
		 200,
		 {"kind=PodMetricsList", "#items=3", "items.0.metadata.name=db",
		  "items.0.metadata.namespace=default",
		  "items.0.containers=[{\"name\":\"(all)\",\"usage\":{\"cpu\":\"500m\","
		  "\"memory\":\"1Gi\"}}]",
		  "items.1.metadata.name=other", "items.2.metadata.name=web"}},
		{"GET " METRICS "/namespaces/default/pods",
		 NULL,
		 200,
		 {"items.1.containers.0.usage.cpu=10m", "items.1.window=5m0s",
		  "items.1.timestamp=2026-09-21T14:00:30Z", "items.2.window=1m30s",
		  "items.2.containers.0.name=c", "items.2.metadata.labels.app=web"}},
		{"GET " METRICS "/pods", NULL, 200, {"#items=4"}},
		{"GET " METRICS "/pods?limit=1", NULL, 200, {"#items=4"}},
		{"GET " METRICS "/pods?labelSelector=app%3Dweb", NULL, 200, {"#items=2"}},
		{"GET " METRICS "/namespaces/far/pods/web",
		 NULL,
		 200,
		 {"kind=PodMetrics", "containers.0.usage.cpu=3"}},
		{"GET " METRICS "/namespaces/default/pods/gone", NULL, 404, {NULL}},
		{"GET " METRICS "/namespaces/nowhere/pods", NULL, 200, {"#items=0"}},
		/* A pod that goes takes its figures along. */
		{"DELETE " PODS "/web?gracePeriodSeconds=0", NULL, 200, {NULL}},
		{"GET " METRICS "/namespaces/default/pods", NULL, 200, {"#items=2"}},
	};

	STEPS(*state, steps);
}

static void test_around(void **state)
{
	struct kube_rig *rig = *state;
	static const struct kube_step steps[] = {
		{"GET " METRICS,
		 NULL,
		 200,
		 {"#resources=2", "resources.0.name=nodes",
		  "resources.0.kind=NodeMetrics", "resources.0.verbs=[\"get\",\"list\"]",
		  "resources.1.namespaced=true"}},
		{"GET " METRICS "/nodes?watch=true", NULL, 405, {NULL}},
		{"POST " METRICS "/nodes", "{'metadata':{'name':'x'}}", 405, {NULL}},
		{"DELETE " METRICS "/nodes", NULL, 405, {NULL}},
		{"PUT " METRICS "/nodes/n0", "{}", 405, {NULL}},
		{"GET " METRICS "/nodes/n0/status", NULL, 404, {NULL}},
		/* Nothing is owned by what is nowhere: it stays. */
		{"POST /api/v1/namespaces/default/configmaps",
		 "{'metadata':{'name':'m','ownerReferences':[{'apiVersion':"
		 "'metrics.k8s.io/v1beta1','kind':'NodeMetrics','name':'n0','uid':'u'}]}}",
		 201,
		 {NULL}},
	};

	STEPS(rig, steps);
	kube_run(rig, 50);
	assert_int_equal(
		kube_ask(rig, "GET /api/v1/namespaces/default/configmaps/m", NULL), 200);
	assert_int_equal(
		kube_ask_with(rig, "GET " METRICS "/pods",
			      "Accept: application/json;as=Table;v=v1;g=meta.k8s.io\r\n",
			      NULL, 0),
		200);
	assert_null(kube_differs(rig->body, "#rows=4"));
	assert_null(kube_differs(rig->body,
				 "rows.0.cells=[\"db\",\"500m\",\"1Gi\",\"1m30s\"]"));
}

/* More than one step makes; a client that goes meanwhile. */
static void test_pieces(void **state)
{
	enum { PODS_MADE = 3 * NEAP_KUBE_MAKING_STEP };
	static const char ask[] = "GET " METRICS "/pods HTTP/1.1\r\nHost: x\r\n\r\n";
	struct kube_rig *rig = *state;
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	struct neap_buf body = {0};
	char text[512];

	neap_buf_init(&body, NEAP_BUF_REPLY);
	neap_buf_adds(&body,
		      "{'status':{'updateTime':'2026-09-21T14:00:00Z','podsMetric':[");
	for (int i = 0; i < PODS_MADE; i++) {
		(void)snprintf(text, sizeof(text),
			       "{'metadata':{'name':'p-%d'},'spec':{'nodeName':'silent',"
			       "'containers':[{'name':'c','image':'i'}]}}",
			       i);
		assert_int_equal(kube_ask(rig, "POST " PODS, text), 201);
		neap_buf_addf(&body,
			      "%s{'namespace':'default','name':'p-%d','podUsage':{"
			      "'resources':{'cpu':'%dm'}}}",
			      i ? "," : "", i, i);
	}
	neap_buf_adds(&body, "]}}");
	assert_int_equal(kube_ask(rig, "MERGE " REPORTS "/silent/status", body.data),
			 200);
	neap_buf_done(&body);
	for (int i = 0; i < 20; i++) {
		int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

		(void)snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", rig->path);
		assert_int_equal(connect(fd, (struct sockaddr *)&addr, sizeof(addr)), 0);
		assert_int_equal(write(fd, ask, strlen(ask)), strlen(ask));
		/* As far as it comes until then. */
		for (int k = 0; k < i / 2; k++)
			assert_true(event_base_loop(rig->base, EVLOOP_NONBLOCK) >= 0);
		(void)close(fd);
	}
	assert_int_equal(kube_ask(rig, "GET " METRICS "/pods", NULL), 200);
	(void)snprintf(text, sizeof(text), "#items=%d", PODS_MADE + 4);
	assert_null(kube_differs(rig->body, text));
	assert_int_equal(
		kube_ask(rig, "GET " METRICS "/namespaces/default/pods/p-149", NULL),
		200);
	assert_null(kube_differs(rig->body, "containers.0.usage.cpu=149m"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nodes),
		TEST(pods),
		TEST(around),
		TEST(pieces),
	};

	return cmocka_run_group_tests_name("kube_metrics", tests, NULL, NULL);
}
