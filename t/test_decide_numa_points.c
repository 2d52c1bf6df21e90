/* SPDX-License-Identifier: Apache-2.0
 *
 * By what NUMA nodes and nodes are compared: which of them a pod gets, and how many
 * points NodeNUMAResource gives. */
#include "engine/decide/decide.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cluster_rig.h"
#include "t/lib/cpus_rig.h"

#define LSR               "'labels':{'koordinator.sh/qosClass':'LSR'}"
#define PLAIN             "'labels':{}"
#define LABEL(key, value) "'labels':{'" key "':'" value "'}"
#define STATUS(zones)                                                                    \
	PLAIN ",'annotations':{'" NEAP_KEY_RESOURCE_STATUS                               \
	      "':'{\\\"numaNodeResources\\\":[" zones "]}'}"
#define ZONE(node, amounts)  "{\\\"node\\\":" node ",\\\"resources\\\":{" amounts "}}"
#define AMOUNT(name, amount) "\\\"" name "\\\":\\\"" amount "\\\""
#define ASKS(amounts)                                                                    \
	"{'priority':9500,'containers':[{'resources':{'requests':{" amounts "}}}]}"
#define ON(node, cpu)                                                                    \
	"{'nodeName':'" node "','priority':9500,'containers':[{'resources':{'requests'"  \
	":{'cpu':'" cpu "'}}}]}"
#define SINGLE "'topologyPolicies':['SingleNUMANodePodLevel']"
#define ROOM   "'cpu':'8','memory':'8Gi','pods':'9'"

/* NUMA nodes of 4 CPUs and 4Gi. */
static const struct cpus_machine small = {.nodes = 2, .cores = 2, .threads = 2};
static const struct cpus_machine single = {
	.nodes = 2, .cores = 2, .threads = 2, .more = SINGLE};
/* One of 8. */
static const struct cpus_machine one_zone = {
	.nodes = 1, .cores = 4, .threads = 2, .more = SINGLE};

static struct neap_decide *new_decide(struct neap_cluster *cluster)
{
	struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *decide = NULL;
	struct neap_error err = {0};
	int weights[NEAP_SCORE_COUNT] = {[NEAP_SCORE_NUMA] = 1};

	config.weights = weights;
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	return decide;
}

static struct neap_pod *set_one(struct neap_cluster *cluster, const char *meta,
				const char *spec)
{
	(void)cluster_set_pod(cluster, "one", meta, spec, "{}");
	return neap_cluster_find_pod(cluster, "default", "one");
}

static int64_t points(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row)
{
	struct neap_verdict verdict;
	struct neap_error err;

	assert_int_equal(neap_decide_scores(decide, pod, &row, 1, &verdict, &err), 0);
	return verdict.scores[0];
}

/* Where a claim of the pod on row 0 has its share. */
static int zone_of(struct neap_decide *decide, const struct neap_pod *pod)
{
	struct neap_claim *claim = NULL;
	struct neap_error err;
	json_error_t where;
	json_t *status;
	int zone = -1;

	assert_int_equal(neap_decide_claim(decide, pod, 0, &claim, &err), 1);
	status = json_loads(claim->status, 0, &where);
	assert_int_equal(
		json_unpack(status, "{s:[{s:i}!]}", "numaNodeResources", "node", &zone),
		0);
	json_decref(status);
	neap_claim_free(claim);
	return zone;
}

/* A third resource in each zone. */
static void add_gpus(struct neap_cluster *cluster, const char *name,
		     const struct cpus_machine *machine)
{
	struct neap_object *from = cpus_topology(name, machine), *object = NULL;
	json_t *whole = neap_object_tree(from), *tree = json_deep_copy(whole), *zone;
	struct neap_error err;
	unsigned moved;
	size_t i;

	json_array_foreach (json_object_get(tree, "zones"), i, zone)
		(void)json_array_append_new(json_object_get(zone, "resources"),
					    json_pack("{s:s,s:s}", "name",
						      "example.com/gpu", "allocatable",
						      "4"));
	assert_int_equal(neap_object_new_take(tree, NULL, 1, &object, &err), 0);
	assert_int_equal(neap_cluster_set_topology(cluster, object, &moved, &err), 0);
	(void)neap_object_unref(object);
	(void)neap_object_unref(from);
	json_decref(whole);
}

static void test_numa_nodes_by_their_own_strategy(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		bool is_most = i & 1, is_score_most = i & 2;
		struct neap_cluster *cluster = cluster_new();
		struct neap_cpus_args args;
		struct neap_decide *decide;
		struct neap_error err;
		struct neap_pod *pod;

		neap_cpus_args_init(&args);
		args.is_most_allocated = is_most;
		args.is_score_most_allocated = is_score_most;
		assert_int_equal(neap_cluster_set_cpus(cluster, &args, &err), 0);
		decide = new_decide(cluster);
		(void)cluster_set_node(cluster, "a", "", "{}", ROOM);
		(void)cpus_set_topology(cluster, "a", &single);
		(void)cluster_set_pod(
			cluster, "p",
			STATUS(ZONE("1", AMOUNT("cpu", "2") "," AMOUNT("memory", "2Gi"))),
			ON("a", "2"), "{}");
		pod = set_one(cluster, PLAIN, ASKS("'cpu':'1','memory':'1Gi'"));
		assert_int_equal(zone_of(decide, pod), is_most ? 1 : 0);
		/* Points of the node: a quarter of an empty NUMA node, three of one that
		 * is half full. */
		assert_int_equal(points(decide, pod, 0),
				 is_most == is_score_most ? 75 : 25);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

/* As in vector nscore-04: of a binding pod CPUs count that are bound, not what sharing
 * pods ask for. */
static void test_one_numa_node(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide *decide = new_decide(cluster);
	struct neap_pod *pod;

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}", ROOM);
	(void)cpus_set_topology(cluster, "a", &one_zone);
	(void)cluster_set_pod(cluster, "p", STATUS(ZONE("0", AMOUNT("cpu", "4"))),
			      ON("a", "4"), "{}");
	pod = set_one(cluster, LSR, ASKS("'cpu':'2','memory':'1Gi'"));
	assert_int_equal(points(decide, pod, 0), (75 + 87) / 2);
	/* One that shares counts beside the others. */
	pod = set_one(cluster, PLAIN, ASKS("'cpu':'2','memory':'1Gi'"));
	assert_int_equal(points(decide, pod, 0), (25 + 87) / 2);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

/* An extended resource counts for pods that ask for it alone. */
static void test_resources_not_asked_for(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_cpus_args args;
	struct neap_decide *decide;
	struct neap_error err;

	(void)state;
	neap_cpus_args_init(&args);
	(void)neap_strcopy(args.names[2], NEAP_CPUS_NAME, "example.com/gpu");
	args.weights[2].weight = 100;
	args.weight_count = 3;
	assert_int_equal(neap_cluster_set_cpus(cluster, &args, &err), 0);
	decide = new_decide(cluster);
	(void)cluster_set_node(cluster, "a", "", "{}", ROOM ",'example.com/gpu':'8'");
	add_gpus(cluster, "a", &single);
	/* Zone 0 has less CPU left, zone 1 fewer GPUs. */
	(void)cluster_set_pod(cluster, "p",
			      STATUS(ZONE("0", AMOUNT("cpu", "1")) "," ZONE(
				      "1", AMOUNT("example.com/gpu", "3"))),
			      ON("a", "1"), "{}");
	assert_int_equal(zone_of(decide, set_one(cluster, PLAIN, ASKS("'cpu':'1'"))), 1);
	assert_int_equal(
		zone_of(decide,
			set_one(cluster, PLAIN, ASKS("'cpu':'1','example.com/gpu':'1'"))),
		0);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

/* What some other node says of CPUs changes nothing of a plain pod's points. */
static void test_plain_pods(void **state)
{
	(void)state;
	for (int is_ruled = 0; is_ruled < 2; is_ruled++) {
		struct neap_cluster *cluster = cluster_new();
		struct neap_decide *decide = new_decide(cluster);
		struct neap_pod *pod;

		(void)cluster_set_node(cluster, "a", "", "{}", ROOM);
		(void)cluster_set_node(cluster, "b", "", "{}", ROOM);
		(void)cpus_set_topology(cluster, "b", &small);
		if (is_ruled)
			(void)cluster_set_node(cluster, "c",
					       LABEL(NEAP_KEY_NODE_BIND, "SpreadByPCPUs"),
					       "{'unschedulable':true}", ROOM);
		(void)cluster_set_pod(cluster, "p", PLAIN, ON("a", "4"), "{}");
		pod = set_one(cluster, PLAIN, ASKS("'cpu':'1','memory':'1Gi'"));
		assert_int_equal(points(decide, pod, 0), (37 + 87) / 2);
		assert_int_equal(points(decide, pod, 1), (87 + 87) / 2);
		/* One that asks for nothing has none. */
		pod = set_one(cluster, PLAIN, "{'containers':[{}]}");
		assert_int_equal(points(decide, pod, 0), 0);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

/* Of 8 NUMA nodes with two resources: 255 sets of each are named. A claim of what the
 * filter let pass tells as much. */
static void test_long_reasons(void **state)
{
	static const struct cpus_machine wide = {
		.nodes = 8, .cores = 2, .threads = 2, .more = SINGLE};
	static const struct cpus_machine narrow = {
		.nodes = 8, .cores = 1, .threads = 2, .more = SINGLE};
	static const char cpu[] = "Unaligned NUMA Hint cause cpu prefer [11 0101 ",
			  memory[] = " 11111111],memory prefer [11 0101 1001 ",
			  end[] = " 11111111].";
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide *decide = new_decide(cluster);
	struct neap_choice choice;
	struct neap_claim *claim = NULL;
	struct neap_error err;
	struct neap_pod *pod;
	struct neap_buf out;
	const char *why;

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}",
			       "'cpu':'32','memory':'32Gi','pods':'9'");
	(void)cpus_set_topology(cluster, "a", &wide);
	pod = set_one(cluster, PLAIN, ASKS("'cpu':'5','memory':'1Gi'"));
	assert_int_equal(neap_decide_pod(decide, pod, &choice, &err), 0);
	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_decide_explain(decide, &out);
	assert_non_null(strstr(out.data, cpu));
	assert_non_null(strstr(out.data, memory));
	assert_string_equal(out.data + out.len - strlen(end), end);
	assert_int_equal(neap_decide_claim(decide, pod, 0, &claim, &err), -NEAP_ENOFIT);
	assert_int_equal(strlen(err.msg), NEAP_ERROR_MSG - 1);
	why = neap_decide_claim_why(decide, &err);
	assert_non_null(strstr(out.data, why));
	assert_true(strlen(why) > 4000);
	/* With what another node says they are too long to be whole. */
	(void)cluster_set_node(cluster, "b", "", "{}",
			       "'cpu':'16','memory':'32Gi','pods':'9'");
	(void)cpus_set_topology(cluster, "b", &narrow);
	assert_int_equal(neap_decide_pod(decide, pod, &choice, &err), 0);
	neap_buf_clear(&out);
	neap_decide_explain(decide, &out);
	assert_in_range(out.len, 8192, 8300);
	assert_non_null(
		strstr(out.data, ": 1 Unaligned NUMA Hint cause cpu prefer [0111 "));
	assert_non_null(
		strstr(out.data, "..., 1 Unaligned NUMA Hint cause cpu prefer [11 "));
	assert_string_equal(out.data + out.len - 4, "....");
	neap_buf_done(&out);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numa_nodes_by_their_own_strategy),
		cmocka_unit_test(test_one_numa_node),
		cmocka_unit_test(test_resources_not_asked_for),
		cmocka_unit_test(test_plain_pods),
		cmocka_unit_test(test_long_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
