/* SPDX-License-Identifier: Apache-2.0
 *
 * The Node, the Lease and the NodeMetric of this machine, as clients see them. The node
 * is a real one that only watches, over a tree of plain files with one pod in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/clock.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "t/lib/keep_rig.h"

#define STEPS(rig, steps) kube_steps(rig, steps, NEAP_ARRAY_LEN(steps))
#define TEST(name)        cmocka_unit_test_setup_teardown(test_##name, keep_setup, keep_teardown)

#define LEASE  "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n1"
#define METRIC "/apis/slo.koordinator.sh/v1alpha1/nodemetrics/n1"

/* Of the Node that was read last; "" when it has none. */
static const char *label_of(struct keep_rig *state, const char *name)
{
	const char *value = json_string_value(
		json_object_get(kube_at(state->rig->body, "metadata.labels"), name));

	return value ? value : "";
}

static int64_t cpus(void)
{
	return sysconf(_SC_NPROCESSORS_ONLN);
}

/* --- the Node --- */

static void test_made(void **arg)
{
	static const struct kube_step steps[] = {
		{"GET " KEEP_NODE,
		 NULL,
		 200,
		 {"metadata.labels.zone=z1", "status.capacity.pods=20",
		  "status.addresses.0.address=127.0.0.1", "status.addresses.1.address=n1",
		  "status.nodeInfo.operatingSystem=linux",
		  "status.nodeInfo.kubeletVersion~v1.31.0",
		  "status.daemonEndpoints.kubeletEndpoint.Port=9443"}},
		{"GET " KEEP_NODE,
		 NULL,
		 200,
		 {"status.nodeInfo.containerRuntimeVersion~neap://", "!spec.taints",
		  "#status.conditions=4", "status.conditions.0.type=MemoryPressure",
		  "status.conditions.3.reason=KubeletReady",
		  "status.conditions.3.lastTransitionTime=2026-09-21T13:33:20Z"}},
		{"GET " LEASE,
		 NULL,
		 200,
		 {"spec.holderIdentity=n1", "spec.leaseDurationSeconds=40",
		  "spec.renewTime=2026-09-21T13:33:20.000000Z",
		  "metadata.ownerReferences.0.kind=Node"}},
		{"GET /api/v1/events?fieldSelector=involvedObject.uid=n1",
		 NULL,
		 200,
		 {"items.0.metadata.namespace=default",
		  "items.0.involvedObject.kind=Node"}},
	};
	struct keep_rig *state = *arg;
	json_t *labels = json_pack("{s:s}", "zone", "z1");
	char uid[64], want[96];
	int64_t milli;

	state->config.labels = labels;
	keep_start(state);
	keep_until(state, "GET " LEASE, "spec.holderIdentity=n1", NULL, NULL);
	STEPS(state->rig, steps);
	assert_int_equal(kube_ask(state->rig, "GET " KEEP_NODE, NULL), 200);
	assert_int_equal(neap_quantity_parse_milli(
				 kube_text(state->rig->body, "status.allocatable.cpu"),
				 &milli, NULL),
			 0);
	assert_int_equal(milli, cpus() * 1000 - 100);
	(void)snprintf(uid, sizeof(uid), "%s",
		       kube_text(state->rig->body, "metadata.uid"));
	(void)snprintf(want, sizeof(want), "metadata.ownerReferences.0.uid=%s", uid);
	keep_until(state, "GET " LEASE, want, NULL, NULL);
	assert_int_equal(kube_ask(state->rig, "GET " KEEP_NODE, NULL), 200);
	assert_string_equal(label_of(state, "kubernetes.io/hostname"), "n1");
	keep_stop(state);
	json_decref(labels);
}

/* Nothing is written as long as nothing happens; what others set stays. */
static void test_kept(void **arg)
{
	struct keep_rig *state = *arg;
	int64_t version;

	keep_start(state);
	keep_until(state, "GET " LEASE, "spec.holderIdentity=n1", NULL, NULL);
	keep_until(state, "GET " KEEP_NODE, "#status.conditions=4", NULL, NULL);
	version = neap_client_version(state->config.client);
	kube_run(state->rig, 20 * KEEP_LOOK_MS);
	assert_int_equal(neap_client_version(state->config.client), version);
	/* A Lease is renewed after ten seconds, not before. */
	kube_now += 9 * KEEP_SECOND;
	kube_run(state->rig, 4 * KEEP_LOOK_MS);
	assert_int_equal(neap_client_version(state->config.client), version);
	kube_now += KEEP_SECOND;
	keep_until(state, "GET " LEASE, "spec.renewTime=2026-09-21T13:33:30.000000Z",
		   NULL, NULL);
	/* Of the Node only the heartbeat, after five minutes. */
	assert_int_equal(
		kube_ask(state->rig, "MERGE " KEEP_NODE,
			 "{'metadata':{'labels':{'mine':'1','kubernetes.io/os':'x'}},"
			 "'spec':{'unschedulable':true,'taints':[{'key':'t','effect':"
			 "'NoSchedule'}]}}"),
		200);
	assert_int_equal(
		kube_ask(
			state->rig, "STRATEGIC " KEEP_NODE "/status",
			"{'status':{'capacity':{'a.b/c':'3'},'conditions':[{'type':"
			"'Mine','status':'True'},{'type':'Ready','status':'Unknown'}]}}"),
		200);
	keep_until(state, "GET " KEEP_NODE, "status.conditions.0.type=Mine",
		   "status.conditions.4.type=Ready", "status.conditions.4.status=True");
	kube_now += 5 * KEEP_MINUTE;
	keep_until(state, "GET " KEEP_NODE,
		   "status.conditions.3.lastHeartbeatTime=2026-09-21T13:38:30Z", NULL,
		   NULL);
	keep_until(state, "GET " KEEP_NODE, "status.conditions.4.type=Ready",
		   "status.conditions.4.status=True", "status.conditions.0.type=Mine");
	keep_until(state, "GET " KEEP_NODE, "metadata.labels.mine=1",
		   "spec.taints.0.key=t", "spec.unschedulable=true");
	keep_until(state, "GET " KEEP_NODE,
		   "status.conditions.1.lastTransitionTime=2026-09-21T13:33:20Z",
		   "status.conditions.4.lastTransitionTime=2026-09-21T13:33:30Z", NULL);
	assert_string_equal(
		json_string_value(json_object_get(
			kube_at(state->rig->body, "status.capacity"), "a.b/c")),
		"3");
	assert_string_equal(label_of(state, "kubernetes.io/os"), "x");
	/* The next start puts its own label back. */
	keep_stop(state);
	keep_start(state);
	for (int i = 0; i < 1000; i++) {
		kube_run(state->rig, KEEP_LOOK_MS);
		assert_int_equal(kube_ask(state->rig, "GET " KEEP_NODE, NULL), 200);
		if (strcmp(label_of(state, "kubernetes.io/os"), "linux") == 0)
			break;
		assert_int_not_equal(i, 999);
	}
	keep_until(state, "GET " KEEP_NODE, "metadata.labels.mine=1",
		   "spec.unschedulable=true", NULL);
}

/* Who watches has another grace. */
static void test_short_lease(void **arg)
{
	struct keep_rig *state = *arg;

	state->config.lease_usec = 4 * KEEP_SECOND;
	keep_start(state);
	keep_until(state, "GET " LEASE, "spec.leaseDurationSeconds=4",
		   "spec.renewTime=2026-09-21T13:33:20.000000Z", NULL);
	kube_now += KEEP_SECOND;
	keep_until(state, "GET " LEASE, "spec.renewTime=2026-09-21T13:33:21.000000Z",
		   NULL, NULL);
}

/* What somebody deletes comes back, and the Lease with its new owner. */
static void test_deleted(void **arg)
{
	struct keep_rig *state = *arg;
	char uid[64], want[96];

	keep_start(state);
	keep_until(state, "GET " LEASE, "spec.holderIdentity=n1", NULL, NULL);
	assert_int_equal(kube_ask(state->rig, "DELETE " KEEP_NODE, NULL), 200);
	keep_until(state, "GET " KEEP_NODE, "#status.conditions=4", NULL, NULL);
	(void)snprintf(uid, sizeof(uid), "%s",
		       kube_text(state->rig->body, "metadata.uid"));
	(void)snprintf(want, sizeof(want), "metadata.ownerReferences.0.uid=%s", uid);
	keep_until(state, "GET " LEASE, want, NULL, NULL);
	assert_int_equal(kube_ask(state->rig, "DELETE " LEASE, NULL), 200);
	kube_now += 10 * KEEP_SECOND;
	keep_until(state, "GET " LEASE, want, NULL, NULL);
}

static const struct {
	const char *name;
	bool runs_pods;
	const char *reason, *message, *status;
} readiness[] = {
	{"runs", true, "KubeletReady", "neapd is posting ready status", "True"},
	{"does not", false, "KubeletNotReady", "neapd runs without --run-pods", "False"},
};

static void test_readiness(void **arg)
{
	struct keep_rig *state = *arg;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(readiness); i++) {
		char want[3][128];

		state->config.runs_pods = readiness[i].runs_pods;
		keep_start(state);
		(void)snprintf(want[0], sizeof(want[0]), "status.conditions.3.reason=%s",
			       readiness[i].reason);
		(void)snprintf(want[1], sizeof(want[1]), "status.conditions.3.message=%s",
			       readiness[i].message);
		(void)snprintf(want[2], sizeof(want[2]), "status.conditions.3.status=%s",
			       readiness[i].status);
		keep_until(state, "GET " KEEP_NODE, want[0], want[1], want[2]);
		keep_stop(state);
	}
	keep_until(state, "GET /api/v1/events?fieldSelector=reason=NodeNotReady",
		   "items.0.message=Node n1 status is now: NodeNotReady", NULL, NULL);
}

/* %: of the CPUs there are; a number: of milli CPUs that are kept back beside the 100. */
static const struct {
	const char *name, *annotation;
	int64_t milli, bytes;
} reservations[] = {
	{"amounts",
	 "{\\\"resources\\\":{\\\"cpu\\\":\\\"300m\\\",\\\"memory\\\":1048576}}", 300,
	 1 << 20},
	{"numbers win",
	 "{\\\"resources\\\":{\\\"cpu\\\":\\\"300m\\\"},\\\"reservedCPUs\\\":\\\"0\\\"}",
	 1000, 0},
	{"default",
	 "{\\\"applyPolicy\\\":\\\"Default\\\",\\\"resources\\\":{\\\"cpu\\\":\\\"0.2\\\"}}",
	 200, 0},
	{"numbers only",
	 "{\\\"applyPolicy\\\":\\\"ReservedCPUsOnly\\\",\\\"reservedCPUs\\\":\\\"0\\\"}",
	 0, 0},
	{"all and more", "{\\\"resources\\\":{\\\"cpu\\\":\\\"9k\\\"}}", INT32_MAX, 0},
	{"broken amount",
	 "{\\\"resources\\\":{\\\"cpu\\\":\\\"x\\\",\\\"memory\\\":1048576}}", 0, 0},
	{"broken list", "{\\\"reservedCPUs\\\":\\\"x\\\"}", 0, 0},
	{"negative", "{\\\"resources\\\":{\\\"cpu\\\":\\\"-1\\\"}}", 0, 0},
	{"broken policy",
	 "{\\\"applyPolicy\\\":1,\\\"resources\\\":{\\\"cpu\\\":\\\"300m\\\"}}", 0, 0},
	{"broken", "{", 0, 0},
	{"no object", "[[1]]", 0, 0},
};

static void test_reservation(void **arg)
{
	struct keep_rig *state = *arg;
	int64_t before = 0;

	keep_start(state);
	keep_until(state, "GET " KEEP_NODE, "#status.conditions=4", NULL, NULL);
	assert_int_equal(neap_quantity_parse_units(
				 kube_text(state->rig->body, "status.allocatable.memory"),
				 &before, NULL),
			 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(reservations); i++) {
		char body[512], cpu[32], memory[32], want[2][64];
		int64_t left = cpus() * 1000 - 100 - reservations[i].milli;

		(void)snprintf(body, sizeof(body),
			       "{'metadata':{'annotations':{"
			       "'node.koordinator.sh/reservation':'%s'}}}",
			       reservations[i].annotation);
		if (kube_ask(state->rig, "MERGE " KEEP_NODE, body) != 200)
			fail_msg("%s: %s", reservations[i].name,
				 kube_text(state->rig->body, "message"));
		(void)snprintf(want[0], sizeof(want[0]), "status.allocatable.cpu=%s",
			       neap_quantity_format_milli(left > 0 ? left : 0, cpu,
							  sizeof(cpu)));
		(void)snprintf(want[1], sizeof(want[1]), "status.allocatable.memory=%s",
			       neap_quantity_format_bytes(before - reservations[i].bytes,
							  memory, sizeof(memory)));
		keep_until(state, "GET " KEEP_NODE, want[0], want[1], NULL);
	}
}

/* --- what is used --- */

/* Pods of little memory beside the first one, in the order in which they are listed. What
 * a pod counts as is told of those that say nothing, too: the scheduler goes by what is
 * told of a prod pod alone. */
static const struct {
	const char *name, *labels, *more, *containers, *group; /* NULL: by its uid */
	const char *priority, *qos;
} reported[] = {
	{"plain", "", "", "{'requests':{'cpu':'1'}}", NULL, "koord-prod", "LS"},
	{"q-even", "", "", "{'limits':{'cpu':'1','memory':'1Gi'}}", NULL, "koord-prod",
	 "LSR"},
	{"r-none", "", "", "{}", NULL, "koord-batch", "BE"},
	{"static", "'koordinator.sh/priority-class':'koord-mid'",
	 "'annotations':{'kubernetes.io/config.mirror':'abc'},", "{}", "abc", "koord-mid",
	 "BE"},
};

static void put_pod(struct keep_rig *state, size_t at)
{
	char text[512], path[160];

	(void)snprintf(text, sizeof(text),
		       "{'metadata':{'name':'%s',%s'labels':{%s}},'spec':{'nodeName':"
		       "'n1','containers':[{'name':'main','image':'x','resources':%s}]}}",
		       reported[at].name, reported[at].more, reported[at].labels,
		       reported[at].containers);
	assert_int_equal(kube_ask(state->rig, "POST " KEEP_PODS, text), 201);
	(void)snprintf(path, sizeof(path), "neap/pod%s/main/cgroup.procs",
		       reported[at].group ? reported[at].group
					  : kube_text(state->rig->body, "metadata.uid"));
	keep_put(state, path, "");
	(void)snprintf(strstr(path, "main/"), 32, "memory.current");
	keep_put(state, path, "1048576\n");
}

static void assert_reported(struct keep_rig *state, size_t at)
{
	char want[3][96];

	(void)snprintf(want[0], sizeof(want[0]), "status.podsMetric.%zu.name=%s", at + 1,
		       reported[at].name);
	(void)snprintf(want[1], sizeof(want[1]), "status.podsMetric.%zu.priority=%s",
		       at + 1, reported[at].priority);
	(void)snprintf(want[2], sizeof(want[2]), "status.podsMetric.%zu.qos=%s", at + 1,
		       reported[at].qos);
	keep_until(state, "GET " METRIC, want[0], want[1], want[2]);
}

static int64_t memory_at(struct keep_rig *state, const char *part)
{
	char path[96];
	int64_t bytes = -1;

	(void)snprintf(path, sizeof(path), "status.nodeMetric.%s.resources.memory", part);
	assert_int_equal(neap_quantity_parse_units(kube_text(state->rig->body, path),
						   &bytes, NULL),
			 0);
	return bytes;
}

static void test_metric(void **arg)
{
	static const struct kube_step pod = {
		"POST " KEEP_PODS,
		"{'metadata':{'name':'p','labels':{'koordinator.sh/qosClass':'LS'}},"
		"'spec':{'nodeName':'n1','priorityClassName':'koord-prod','containers':[{'name':'main',"
		"'image':'x'}]}}",
		201,
		{NULL}};
	struct keep_rig *state = *arg;
	char group[128], path[192];

	assert_int_equal(kube_ask(state->rig,
				  "POST /apis/scheduling.k8s.io/v1/priorityclasses",
				  "{'metadata':{'name':'koord-prod'},'value':9000}"),
			 201);
	kube_steps(state->rig, &pod, 1);
	keep_put(state, "neap/podu-1/main/cgroup.procs", "");
	keep_put(state, "neap/podu-1/cpu.stat", "usage_usec 1000000\n");
	keep_put(state, "neap/podu-1/memory.current", "4194304\n");
	keep_start_node(state);
	(void)snprintf(group, sizeof(group), "neap/pod%s",
		       kube_text(state->rig->body, "metadata.uid"));
	(void)snprintf(path, sizeof(path), "%s/main/cgroup.procs", group);
	keep_put(state, path, "");
	(void)snprintf(path, sizeof(path), "%s/memory.current", group);
	keep_put(state, path, "2097152\n");
	(void)snprintf(path, sizeof(path), "%s/cpu.stat", group);
	keep_put(state, path, "usage_usec 1000000\n");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(reported); i++)
		put_pod(state, i);
	keep_tick(state);
	keep_put(state, path, "usage_usec 1250000\n");
	state->config.node = state->node;
	keep_start(state);
	keep_until(state, "GET " KEEP_NODE, "#status.conditions=4", NULL, NULL);
	keep_tick(state);
	kube_now += 20 * KEEP_SECOND;
	keep_until(state, "GET " METRIC, "status.updateTime=2026-09-21T13:33:40Z",
		   "status.podsMetric.0.podUsage.resources.cpu=250m",
		   "status.podsMetric.0.podUsage.resources.memory=2Mi");
	keep_until(state, "GET " METRIC, "#status.podsMetric=5",
		   "status.podsMetric.0.priority=koord-prod",
		   "status.podsMetric.0.qos=LS");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(reported); i++)
		assert_reported(state, i);
	/* A group without a pod is the system's. */
	assert_int_equal(memory_at(state, "nodeUsage") - memory_at(state, "systemUsage"),
			 6 << 20);
	keep_until(state, "GET " METRIC,
		   "status.nodeMetric.aggregatedNodeUsages.0.duration=5m0s",
		   "metadata.ownerReferences.0.kind=Node",
		   "#status.hostApplicationMetric=0");
	assert_true(kube_text(state->rig->body,
			      "status.nodeMetric.nodeUsage.resources.memory")[0]);
	assert_true(kube_text(state->rig->body,
			      "status.nodeMetric.aggregatedNodeUsages.0.usage.p95."
			      "resources.memory")[0]);
	/* What kubectl top reads. */
	keep_until(state, "GET /apis/metrics.k8s.io/v1beta1/nodes", "#items=1",
		   "items.0.metadata.name=n1", NULL);
	keep_until(state, "GET /apis/metrics.k8s.io/v1beta1/namespaces/default/pods/p",
		   "containers.0.name=main", "containers.0.usage.cpu=250m", NULL);
	/* Whoever manages it says how often. */
	assert_int_equal(kube_ask(state->rig, "MERGE " METRIC,
				  "{'spec':{'metricCollectPolicy':{"
				  "'reportIntervalSeconds':120}}}"),
			 200);
	kube_now += 119 * KEEP_SECOND;
	kube_run(state->rig, 4 * KEEP_LOOK_MS);
	keep_until(state, "GET " METRIC, "status.updateTime=2026-09-21T13:33:40Z", NULL,
		   NULL);
	kube_now += KEEP_SECOND;
	keep_until(state, "GET " METRIC, "status.updateTime=2026-09-21T13:35:40Z", NULL,
		   NULL);
	/* Also more often than usual. */
	keep_stop(state);
	state->config.metric_usec = KEEP_MINUTE;
	assert_int_equal(kube_ask(state->rig, "MERGE " METRIC,
				  "{'spec':{'metricCollectPolicy':{"
				  "'reportIntervalSeconds':30}}}"),
			 200);
	keep_start(state);
	kube_now += 40 * KEEP_SECOND;
	keep_until(state, "GET " METRIC, "status.updateTime=2026-09-21T13:36:20Z", NULL,
		   NULL);
	kube_now += 30 * KEEP_SECOND;
	keep_until(state, "GET " METRIC, "status.updateTime=2026-09-21T13:36:50Z", NULL,
		   NULL);
}

/* --- what goes wrong --- */

static void test_short_of_memory(void **arg)
{
	struct keep_rig *state = *arg;
	struct neap_error err;

	for (uint64_t n = 1; n < 60; n++) {
		uint64_t before = neap_mem_failures();
		int rc;

		neap_mem_fail_at(n);
		rc = neap_node_keep_new(&state->config, &state->keep, &err);
		kube_run(state->rig, 2 * KEEP_LOOK_MS);
		neap_mem_fail_at(0);
		if (rc < 0)
			assert_int_equal(err.code, NEAP_ENOMEM);
		/* What it asked for is answered when nobody is there any more. */
		keep_stop(state);
		if (neap_mem_failures() == before)
			break;
	}
	keep_start(state);
	keep_until(state, "GET " KEEP_NODE, "#status.conditions=4", NULL, NULL);
	kube_now += 10 * KEEP_SECOND;
	keep_until(state, "GET " LEASE, "spec.holderIdentity=n1", NULL, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(made),        TEST(kept),   TEST(deleted),         TEST(readiness),
		TEST(reservation), TEST(metric), TEST(short_of_memory), TEST(short_lease),
	};

	return cmocka_run_group_tests_name("node_keep", tests, NULL, NULL);
}
