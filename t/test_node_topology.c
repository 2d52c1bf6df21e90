/* SPDX-License-Identifier: Apache-2.0
 *
 * The NodeResourceTopology of this machine, as clients see it, with a made-up kubelet. The node is a real one that
 * only watches, over a tree of plain files. */
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "api/agent/node_keep.h"
#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "t/lib/kube_rig.h"

#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, setup, teardown)

#define NODE    "/api/v1/nodes/n1"
#define REPORT  "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies/n1"
#define PODS    "/api/v1/namespaces/default/pods"
#define SECOND  1000000LL
#define MINUTE  (60 * SECOND)
#define LOOK_MS 5
#define START   (INT64_C(1789997600) * SECOND) /* 2026-09-21T13:33:20Z */

struct state {
	struct kube_rig *rig;
	char root[64], kubelet[96];
	struct neap_cgroup cgroup;
	struct neap_registry *registry;
	struct neap_log log;
	struct neap_node *node;
	struct neap_node_keep_config config;
	struct neap_node_keep *keep;
};

static int64_t test_now(void)
{
	return kube_now;
}

/* A file below the root, with the folders on the way. */
static void put(struct state *state, const char *path, const char *text)
{
	char full[256], *at;
	FILE *file;

	(void)snprintf(full, sizeof(full), "%s/%s", state->root, path);
	for (at = full + strlen(state->root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		(void)mkdir(full, 0755); /* there already is fine */
		*at = '/';
	}
	file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void start_node(struct state *state)
{
	struct neap_node_config config = {.tree_count = 1,
					  .sys_root = "",
					  .record_dir = "",
					  .freeze_file = "",
					  .window_usec = 5 * MINUTE,
					  .window_samples = 300,
					  .log = state->log};
	struct neap_error err = {0};

	put(state, "cgroup.controllers", "cpu cpuset memory pids\n");
	(void)snprintf(config.trees[0].root, sizeof(config.trees[0].root), "neap");
	config.trees[0].driver = NEAP_DRIVER_CGROUPFS;
	config.trees[0].is_own = true;
	state->registry = neap_registry_new();
	assert_non_null(state->registry);
	if (neap_cgroup_probe(state->root, &state->cgroup, &err) < 0 ||
	    neap_node_new(&config, &state->cgroup, NULL, state->registry, &state->node,
			  &err) < 0)
		fail_msg("%s", err.msg);
}

static void start_keep(struct state *state)
{
	struct neap_error err = {0};

	if (neap_node_keep_new(&state->config, &state->keep, &err) < 0)
		fail_msg("%s", err.msg);
}

static void stop_keep(struct state *state)
{
	neap_node_keep_free(state->keep);
	state->keep = NULL;
}

static int setup(void **ret)
{
	struct state *state = neap_alloc(sizeof(*state));
	void *rig = NULL;

	assert_non_null(state);
	kube_now = START;
	assert_int_equal(kube_rig_setup(&rig), 0);
	state->rig = rig;
	assert_int_equal(kube_ask(rig, "POST /api/v1/namespaces",
				  "{'metadata':{'name':'kube-node-lease'}}"),
			 201);
	(void)snprintf(state->root, sizeof(state->root), "/tmp/neap-test-XXXXXX");
	assert_non_null(mkdtemp(state->root));
	state->log = (struct neap_log){.fd = -1, .program = "test"};
	state->config = (struct neap_node_keep_config){
		.base = state->rig->base,
		.kube = state->rig->kube,
		.store = state->rig->store.store,
		.node_name = "n1",
		.data_dir = "/",
		.port = 9443,
		.runs_pods = true,
		.pods_max = 20,
		.kube_reserved_milli = 100,
		.kube_reserved_bytes = 64 << 20,
		.look_usec = LOOK_MS * 1000,
		.now = test_now,
		.log = &state->log,
	};
	start_node(state);
	state->config.node = state->node;
	(void)snprintf(state->kubelet, sizeof(state->kubelet), "%s/kubelet", state->root);
	state->config.kubelet_dir = state->kubelet;
	*ret = state;
	return 0;
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **arg)
{
	struct state *state = *arg;
	void *rig = state->rig;

	stop_keep(state);
	neap_node_free(state->node);
	neap_registry_free(state->registry);
	if (state->node)
		neap_cgroup_done(&state->cgroup);
	(void)nftw(state->root, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
	free(state);
	return kube_rig_teardown(&rig);
}

/* Repeats a request until all that is wanted is so. */
static void until(struct state *state, const char *ask, const char *want0,
		  const char *want1, const char *want2)
{
	const struct kube_step step = {ask, NULL, 200, {want0, want1, want2}};

	kube_until(state->rig, &step);
}

/* Of the object that was read last; "" when it has none. */
static const char *annotation(struct state *state, const char *name)
{
	const char *value = json_string_value(
		json_object_get(kube_at(state->rig->body, "metadata.annotations"), name));

	return value ? value : "";
}

static void wait_for(struct state *state, const char *name, const char *part)
{
	for (int i = 0; i < 1000; i++) {
		kube_run(state->rig, LOOK_MS);
		kube_now += SECOND;
		if (kube_ask(state->rig, "GET " REPORT, NULL) == 200 &&
		    strstr(annotation(state, name), part))
			return;
	}
	fail_msg("%s has no %s: %s", name, part, annotation(state, name));
}

static int first_cpu(struct state *state)
{
	return neap_node_topology(state->node)->cpus[0].os_cpu;
}

#define ALLOCS "node.koordinator.sh/pod-cpu-allocs"
#define POLICY "kubelet.koordinator.sh/cpu-manager-policy"

/* Made, made again, and left alone while nothing happens. */
static void test_made_and_kept(void **arg)
{
	struct state *state = *arg;
	int64_t version;

	start_keep(state);
	until(state, "GET " REPORT, "metadata.ownerReferences.0.kind=Node",
	      "topologyPolicies.0=None", "zones.0.type=Node");
	assert_string_equal(annotation(state, ALLOCS), "[]");
	assert_string_equal(annotation(state, POLICY), "");
	assert_int_equal(kube_ask(state->rig, "DELETE " REPORT, NULL), 200);
	until(state, "GET " REPORT, "topologyPolicies.0=None", NULL, NULL);
	/* What others add stays; what is ours comes back. */
	assert_int_equal(
		kube_ask(state->rig, "MERGE " REPORT,
			 "{'metadata':{'annotations':{'mine':'1','" ALLOCS "':'null'},"
			 "'labels':{'l':'1'}},'topologyPolicies':['BestEffort']}"),
		200);
	wait_for(state, ALLOCS, "[]");
	until(state, "GET " REPORT, "metadata.labels.l=1", "metadata.annotations.mine=1",
	      "topologyPolicies.0=None");
	/* The Lease is renewed meanwhile, this is not. */
	kube_run(state->rig, 4 * LOOK_MS);
	assert_int_equal(kube_ask(state->rig, "GET " REPORT, NULL), 200);
	version = strtoll(kube_text(state->rig->body, "metadata.resourceVersion"), NULL,
			  10);
	for (int i = 0; i < 20; i++) {
		kube_now += 6 * SECOND;
		kube_run(state->rig, 2 * LOOK_MS);
	}
	assert_int_equal(kube_ask(state->rig, "GET " REPORT, NULL), 200);
	assert_int_equal(strtoll(kube_text(state->rig->body, "metadata.resourceVersion"),
				 NULL, 10),
			 version);
}

static void test_node_and_pods(void **arg)
{
	struct state *state = *arg;
	char body[512], want[64];

	start_keep(state);
	until(state, "GET " REPORT, "topologyPolicies.0=None", NULL, NULL);
	assert_int_equal(
		kube_ask(state->rig, "MERGE " NODE,
			 "{'metadata':{'annotations':{'node.koordinator.sh/reservation':"
			 "'{\\'resources\\':{\\'cpu\\':\\'1\\'}}'}}}"),
		200);
	wait_for(state, "node.koordinator.sh/reservation", "\"reservedCPUs\":\"");
	/* Without it the annotation goes, too. */
	assert_int_equal(
		kube_ask(state->rig, "MERGE " NODE,
			 "{'metadata':{'annotations':{'node.koordinator.sh/reservation':"
			 "null}}}"),
		200);
	for (int i = 0; i < 1000; i++) {
		kube_run(state->rig, LOOK_MS);
		kube_now += SECOND;
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
		"[{'name':'c','image':'i'}]}}",
		first_cpu(state));
	assert_int_equal(kube_ask(state->rig, "POST " PODS, body), 201);
	for (int i = 0; i < 1000; i++) {
		kube_run(state->rig, LOOK_MS);
		kube_now += SECOND;
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
	struct state *state = *arg;

	put(state, "kubelet/cpu_manager_state",
	    "{\"policyName\":\"static\",\"defaultCpuSet\":\"0\",\"entries\":{\"u-1\":"
	    "{\"c\":\"0\"}},\"checksum\":1}");
	put(state, "kubelet/config.yaml",
	    "kind: KubeletConfiguration\nreservedSystemCPUs: \"0\"\n"
	    "topologyManagerPolicy: restricted\n"
	    "cpuManagerPolicyOptions:\n  full-pcpus-only: \"true\"\n");
	start_keep(state);
	wait_for(state, ALLOCS, "\"uid\":\"u-1\",\"cpuset\":\"0\"");
	assert_string_equal(annotation(state, POLICY),
			    "{\"policy\":\"static\",\"options\":{\"full-pcpus-only\":"
			    "\"true\"},\"reservedCPUs\":\"0\"}");
	until(state, "GET " REPORT, "topologyPolicies.0=Restricted", NULL, NULL);
	/* Of a file that is damaged what was read last counts. */
	put(state, "kubelet/cpu_manager_state", "{\"policyName\":");
	kube_now += 6 * SECOND;
	kube_run(state->rig, 4 * LOOK_MS);
	wait_for(state, ALLOCS, "u-1");
	put(state, "kubelet/cpu_manager_state",
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
