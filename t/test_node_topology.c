/* SPDX-License-Identifier: Apache-2.0
 *
 * The NodeResourceTopology of this machine, as clients see it, with a made-up kubelet.
 * The node is a real one that only watches, over a tree of plain files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/keep_rig.h"

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, keep_teardown)

#define REPORT "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies/n1"

static int setup(void **ret)
{
	struct keep_rig *state;

	assert_int_equal(keep_setup(ret), 0);
	state = *ret;
	keep_start_node(state);
	state->config.node = state->node;
	return 0;
}

/* Of the object that was read last; "" when it has none. */
static const char *annotation(struct keep_rig *state, const char *name)
{
	const char *value = json_string_value(
		json_object_get(kube_at(state->rig->body, "metadata.annotations"), name));

	return value ? value : "";
}

static void wait_for(struct keep_rig *state, const char *name, const char *part)
{
	for (int i = 0; i < 1000; i++) {
		kube_run(state->rig, KEEP_LOOK_MS);
		kube_now += KEEP_SECOND;
		if (kube_ask(state->rig, "GET " REPORT, NULL) == 200 &&
		    strstr(annotation(state, name), part))
			return;
	}
	fail_msg("%s has no %s: %s", name, part, annotation(state, name));
}

static int first_cpu(struct keep_rig *state)
{
	return neap_node_topology(state->node)->cpus[0].os_cpu;
}

#define ALLOCS "node.koordinator.sh/pod-cpu-allocs"
#define POLICY "kubelet.koordinator.sh/cpu-manager-policy"

/* Made, made again, and left alone while nothing happens. */
static void test_made_and_kept(void **arg)
{
	struct keep_rig *state = *arg;
	int64_t version;

	keep_start(state);
	keep_until(state, "GET " REPORT, "metadata.ownerReferences.0.kind=Node",
		   "topologyPolicies.0=None", "zones.0.type=Node");
	assert_string_equal(annotation(state, ALLOCS), "[]");
	assert_string_equal(annotation(state, POLICY), "");
	assert_int_equal(kube_ask(state->rig, "DELETE " REPORT, NULL), 200);
	keep_until(state, "GET " REPORT, "topologyPolicies.0=None", NULL, NULL);
	/* What others add stays; what is ours comes back. */
	assert_int_equal(
		kube_ask(state->rig, "MERGE " REPORT,
			 "{'metadata':{'annotations':{'mine':'1','" ALLOCS "':'null'},"
			 "'labels':{'l':'1'}},'topologyPolicies':['BestEffort']}"),
		200);
	wait_for(state, ALLOCS, "[]");
	keep_until(state, "GET " REPORT, "metadata.labels.l=1",
		   "metadata.annotations.mine=1", "topologyPolicies.0=None");
	/* The Lease is renewed meanwhile, this is not. */
	kube_run(state->rig, 4 * KEEP_LOOK_MS);
	assert_int_equal(kube_ask(state->rig, "GET " REPORT, NULL), 200);
	version = strtoll(kube_text(state->rig->body, "metadata.resourceVersion"), NULL,
			  10);
	for (int i = 0; i < 20; i++) {
		kube_now += 6 * KEEP_SECOND;
		kube_run(state->rig, 2 * KEEP_LOOK_MS);
	}
	assert_int_equal(kube_ask(state->rig, "GET " REPORT, NULL), 200);
	assert_int_equal(strtoll(kube_text(state->rig->body, "metadata.resourceVersion"),
				 NULL, 10),
			 version);
}

static void test_node_and_pods(void **arg)
{
	struct keep_rig *state = *arg;
	char body[512], want[64];

	keep_start(state);
	keep_until(state, "GET " REPORT, "topologyPolicies.0=None", NULL, NULL);
	assert_int_equal(
		kube_ask(state->rig, "MERGE " KEEP_NODE,
			 "{'metadata':{'annotations':{'node.koordinator.sh/reservation':"
			 "'{\\'resources\\':{\\'cpu\\':\\'1\\'}}'}}}"),
		200);
	wait_for(state, "node.koordinator.sh/reservation", "\"reservedCPUs\":\"");
	/* Without it the annotation goes, too. */
	assert_int_equal(
		kube_ask(state->rig, "MERGE " KEEP_NODE,
			 "{'metadata':{'annotations':{'node.koordinator.sh/reservation':"
			 "null}}}"),
		200);
	for (int i = 0; i < 1000; i++) {
		kube_run(state->rig, KEEP_LOOK_MS);
		kube_now += KEEP_SECOND;
		assert_int_equal(kube_ask(state->rig, "GET " REPORT, NULL), 200);
		if (annotation(state, "node.koordinator.sh/reservation")[0] == '\0')
			break;
		assert_int_not_equal(i, 999);
	}
	(void)snprintf(want, sizeof(want), "\"cpuset\":\"%d", first_cpu(state));
	wait_for(state, "node.koordinator.sh/cpu-shared-pools", want);
	(void)snprintf(
		body, sizeof(body),
		"{'metadata':{'name':'p','labels':{'koordinator.sh/qosClass':'LSR'},"
		"'annotations':{'scheduling.koordinator.sh/resource-status':"
		"'{\\'cpuset\\':\\'%d\\'}'}},'spec':{'nodeName':'n1','containers':"
		"[{'name':'c','image':'i','resources':{'requests':{'cpu':'1'}}}]}}",
		first_cpu(state));
	assert_int_equal(kube_ask(state->rig, "POST " KEEP_PODS, body), 201);
	for (int i = 0; i < 1000; i++) {
		kube_run(state->rig, KEEP_LOOK_MS);
		kube_now += KEEP_SECOND;
		assert_int_equal(kube_ask(state->rig, "GET " REPORT, NULL), 200);
		if (!strstr(annotation(state, "node.koordinator.sh/cpu-shared-pools"),
			    want))
			break;
		assert_int_not_equal(i, 999);
	}
	/* BE may run on it. */
	assert_non_null(strstr(
		annotation(state, "node.koordinator.sh/be-cpu-shared-pools"), want));
}

static void test_kubelet(void **arg)
{
	struct keep_rig *state = *arg;

	keep_put(
		state, "kubelet/cpu_manager_state",
		"{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"u-1\":"
		"{\"c\":\"0\"}},\"checksum\":1}");
	keep_put(state, "kubelet/config.yaml",
		 "kind: KubeletConfiguration\nreservedSystemCPUs: \"0\"\n"
		 "topologyManagerPolicy: restricted\n"
		 "cpuManagerPolicyOptions:\n  full-pcpus-only: \"true\"\n");
	keep_start(state);
	wait_for(state, ALLOCS, "\"uid\":\"u-1\",\"cpuset\":\"0\"");
	assert_string_equal(annotation(state, POLICY),
			    "{\"policy\":\"static\",\"options\":{\"full-pcpus-only\":"
			    "\"true\"},\"reservedCPUs\":\"0\"}");
	keep_until(state, "GET " REPORT, "topologyPolicies.0=Restricted", NULL, NULL);
	/* Of a file that is damaged what was read last counts. */
	keep_put(state, "kubelet/cpu_manager_state", "{\"policyName\":");
	kube_now += 6 * KEEP_SECOND;
	kube_run(state->rig, 4 * KEEP_LOOK_MS);
	wait_for(state, ALLOCS, "u-1");
	keep_put(state, "kubelet/cpu_manager_state",
		 "{\"policyName\":\"none\",\"defaultCpuSet\":\"\",\"checksum\":1}");
	wait_for(state, POLICY, "\"policy\":\"none\"");
	assert_string_equal(annotation(state, ALLOCS), "[]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(made_and_kept),
		TEST(node_and_pods),
		TEST(kubelet),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
