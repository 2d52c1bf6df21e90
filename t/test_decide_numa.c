/* SPDX-License-Identifier: Apache-2.0
 *
 * Pods with CPUs of their own and NUMA nodes: where they go, what they get, why not, and
 * who has to go for them. */
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

#define ITEMS 4

#define LSR             "'labels':{'koordinator.sh/qosClass':'LSR'}"
#define PLAIN           "'labels':{}"
#define NOTE(key, text) ",'annotations':{'" key "':'" text "'}"
#define SPEC(text)      NOTE(NEAP_KEY_RESOURCE_SPEC, text)
#define REQUIRED(bind)  SPEC("{\\\"requiredCPUBindPolicy\\\":\\\"" bind "\\\"}")
#define NUMA(policy)                                                                     \
	NOTE(NEAP_KEY_NUMA_SPEC, "{\\\"numaTopologyPolicy\\\":\\\"" policy "\\\"}")
#define HAS(cpus) NOTE(NEAP_KEY_RESOURCE_STATUS, "{\\\"cpuset\\\":\\\"" cpus "\\\"}")
#define AMPLIFIED                                                                        \
	"'annotations':{'node.koordinator.sh/resource-amplification-ratio':'{"           \
	"\\\"cpu\\\":2}'}"
#define LABEL(key, value) "'labels':{'" key "':'" value "'}"

#define ASKS(cpu)                                                                        \
	"{'priority':9500,'containers':[{'resources':{'requests':{'cpu':'" cpu           \
	"','memory':'1Gi'}}}]}"
#define NOTHING "{'priority':9500,'containers':[{}]}"
#define ON(node, cpu, priority)                                                          \
	"{'nodeName':'" node "','priority':" priority                                    \
	",'containers':[{'resources':{'requests':{'cpu':'" cpu "'}}}]}"

/* 2 NUMA nodes of 4 CPUs: 0-3, 4-7. */
static const struct cpus_machine small = {.nodes = 2, .cores = 2, .threads = 2};
static const struct cpus_machine single = {.nodes = 2,
					   .cores = 2,
					   .threads = 2,
					   .more = "'topologyPolicies':["
						   "'SingleNUMANodePodLevel']"};
static const struct cpus_machine full = {
	.nodes = 2,
	.cores = 2,
	.threads = 2,
	.notes =
		"'kubelet.koordinator.sh/cpu-manager-policy':'{\\\"policy\\\":"
		"\\\"static\\\",\\\"options\\\":{\\\"full-pcpus-only\\\":\\\"true\\\"}}'"};

struct row {
	const char *name;
	struct {
		const char *name, *meta;
		const struct cpus_machine *machine; /* NULL: it is not told */
	} nodes[ITEMS];
	struct {
		const char *name, *meta, *spec;
	} pods[ITEMS];
	const char *meta, *spec;
	/* "NODE CPUS RESOURCE-SPEC", "NODE nothing", "!REASON" at the claim, "-VICTIMS",
	 * or the message. */
	const char *want;
};

static const struct row rows[] = {
	{"whole cores by default",
	 {{"a", "", &small}},
	 {{"p", LSR HAS("0-1"), ON("a", "2", "9500")}},
	 LSR,
	 ASKS("2"),
	 "a 4-5 {\"preferredCPUBindPolicy\":\"FullPCPUs\"}"},
	{"spread when that is required",
	 {{"a", "", &small}},
	 {{NULL}},
	 LSR REQUIRED("SpreadByPCPUs"),
	 ASKS("2"),
	 "a 0,2 -"},
	{"a plain pod gets nothing",
	 {{"a", "", &small}},
	 {{NULL}},
	 PLAIN,
	 ASKS("2"),
	 "a nothing"},
	{"every pod is bound where the kubelet does so",
	 {{"a", "", &full}},
	 {{NULL}},
	 PLAIN,
	 ASKS("2"),
	 "a 0-1 {\"requiredCPUBindPolicy\":\"FullPCPUs\"}"},
	{"a plain pod with half a CPU does not fit there",
	 {{"a", LABEL(NEAP_KEY_NODE_BIND, "SpreadByPCPUs"), &small}},
	 {{NULL}},
	 PLAIN,
	 ASKS("500m"),
	 "0/1 nodes are available: 1 the requested CPUs must be integer."},
	{"no topology is told",
	 {{"a", "", NULL}, {"b", LABEL(NEAP_KEY_NODE_BIND, "FullPCPUsOnly"), NULL}},
	 {{NULL}},
	 LSR,
	 ASKS("2"),
	 "0/2 nodes are available: 2 node(s) invalid CPU Topology."},
	{"the policies contradict each other",
	 {{"a", LABEL(NEAP_KEY_NODE_BIND, "SpreadByPCPUs"), &small}},
	 {{NULL}},
	 LSR REQUIRED("FullPCPUs"),
	 ASKS("2"),
	 "0/1 nodes are available: 1 node(s) cpu bind policy conflicts with pod's "
	 "required cpu bind policy."},
	{"half a core",
	 {{"a", "", &small}},
	 {{NULL}},
	 LSR REQUIRED("FullPCPUs"),
	 ASKS("3"),
	 "0/1 nodes are available: 1 node(s) requested cpus not multiple cpus per "
	 "core."},
	{"the NUMA policies differ",
	 {{"a", "", &single}},
	 {{NULL}},
	 PLAIN NUMA("Restricted"),
	 ASKS("2"),
	 "0/1 nodes are available: 1 node(s) NUMA Topology policy not match."},
	{"no NUMA nodes are told",
	 {{"a", LABEL(NEAP_KEY_NODE_NUMA, "SingleNUMANode"), NULL}},
	 {{NULL}},
	 PLAIN,
	 ASKS("2"),
	 "0/1 nodes are available: 1 node(s) missing NUMA resources."},
	{"who asks for nothing needs no NUMA node",
	 {{"a", LABEL(NEAP_KEY_NODE_NUMA, "SingleNUMANode"), NULL}},
	 {{NULL}},
	 PLAIN,
	 NOTHING,
	 "a nothing"},
	{"who asks for nothing gets nothing",
	 {{"a", "", &single}},
	 {{NULL}},
	 LSR NUMA("SingleNUMANode"),
	 NOTHING,
	 "a nothing"},
	{"no whole core is left",
	 {{"a", "", &small}},
	 {{"p", LSR HAS("0,2,4,6"), ON("a", "4", "9500")}},
	 LSR REQUIRED("FullPCPUs"),
	 ASKS("2"),
	 "0/1 nodes are available: 1 not enough cpus available to satisfy request."},
	{"a preferred policy fails with the claim only",
	 {{"a", "", &small}},
	 {{"p", PLAIN HAS("0-5"), ON("a", "1", "9500")}},
	 LSR,
	 ASKS("4"),
	 "!not enough cpus available to satisfy request"},
	{"inside of one NUMA node",
	 {{"a", "", &single}},
	 {{"p", LSR HAS("0-1"), ON("a", "2", "9500")}},
	 LSR,
	 ASKS("4"),
	 "a 4-7@1 {\"preferredCPUBindPolicy\":\"FullPCPUs\"}"},
	{"amounts of a NUMA node, without CPUs of its own",
	 {{"a", "", &single}},
	 {{"p", LSR HAS("0-1"), ON("a", "2", "9500")}},
	 PLAIN,
	 ASKS("3"),
	 "a @0 -"},
	{"too large for one NUMA node",
	 {{"a", "", &single}, {"b", "", &small}},
	 {{"p", LSR HAS("0-7"), ON("b", "0", "9500")}},
	 PLAIN NUMA("SingleNUMANode"),
	 ASKS("5"),
	 "0/2 nodes are available: 2 Unaligned NUMA Hint cause cpu prefer [11] among "
	 "[11],memory prefer [11] among [11]."},
	{"an amplified node is full sooner",
	 {{"a", AMPLIFIED, &small}},
	 {{"p", LSR HAS("0-1"), ON("a", "2", "9500")}},
	 LSR,
	 ASKS("4"),
	 "0/1 nodes are available: 1 Insufficient amplified cpu."},
	{"nobody knows how far a node is amplified",
	 {{"a",
	   "'annotations':{'node.koordinator.sh/resource-amplification-ratio':'{"
	   "\\\"cpu\\\":\\\"2\\\"}'}",
	   &small},
	  {"b", "'annotations':{'node.koordinator.sh/resource-amplification-ratio':'2'}",
	   NULL}},
	 {{NULL}},
	 PLAIN,
	 ASKS("2"),
	 "0/2 nodes are available: 2 node(s) invalid CPU amplification ratio."},
	{"null says nothing",
	 {{"a",
	   "'annotations':{'node.koordinator.sh/resource-amplification-ratio':'null'}",
	   &small}},
	 {{"p", LSR HAS("0,9000"), ON("a", "2", "9500")}},
	 LSR SPEC("null"),
	 ASKS("2"),
	 "a 4-5 {\"preferredCPUBindPolicy\":\"FullPCPUs\"}"},
	{"the emptier of two",
	 {{"a", "", &small}, {"b", "", &small}},
	 {{"p", LSR HAS("0-1"), ON("a", "2", "9500")}},
	 LSR,
	 ASKS("2"),
	 "b 0-1 {\"preferredCPUBindPolicy\":\"FullPCPUs\"}"},
	{"CPUs that a less important one has",
	 {{"a", "", &small}},
	 {{"p", LSR HAS("0-1,4"), ON("a", "1", "10")},
	  {"q", LSR HAS("2,6"), ON("a", "1", "9500")},
	  {"r", PLAIN, ON("a", "1", "5")}},
	 LSR REQUIRED("FullPCPUs"),
	 ASKS("4"),
	 "-p"},
	{"what can never be is not made room for",
	 {{"a", "", &small}},
	 {{"p", LSR HAS("0-7"), ON("a", "4", "10")}},
	 LSR REQUIRED("FullPCPUs"),
	 ASKS("3"),
	 "?0/1 nodes are available: 1 Preemption is not helpful for scheduling."},
};

static void fill(struct neap_cluster *cluster, const struct row *row)
{
	for (int i = 0; i < ITEMS && row->nodes[i].name; i++) {
		(void)cluster_set_node(cluster, row->nodes[i].name, row->nodes[i].meta,
				       "{}", "'cpu':'8','memory':'8Gi','pods':'9'");
		if (row->nodes[i].machine)
			(void)cpus_set_topology(cluster, row->nodes[i].name,
						row->nodes[i].machine);
	}
	for (int i = 0; i < ITEMS && row->pods[i].name; i++)
		(void)cluster_set_pod(cluster, row->pods[i].name, row->pods[i].meta,
				      row->pods[i].spec, "{}");
}

/* "0-1@0 SPEC": the CPUs, the NUMA nodes that amounts are of, and what is written as
 * resource-spec. */
static void tell_claim(const struct neap_pod *pod, const struct neap_claim *claim,
		       struct neap_buf *out)
{
	json_t *notes = neap_claim_annotations(pod, claim), *json, *item;
	const char *status =
		json_string_value(json_object_get(notes, NEAP_KEY_RESOURCE_STATUS));
	const char *spec =
		json_string_value(json_object_get(notes, NEAP_KEY_RESOURCE_SPEC));
	json_error_t where;
	char cpus[256];
	size_t i;

	neap_buf_addf(out, " %s", cpus_of(status, cpus, sizeof(cpus)));
	json = json_loads(status, 0, &where);
	json_array_foreach (json_object_get(json, "numaNodeResources"), i, item) {
		neap_buf_addf(out, "@%d",
			      (int)json_integer_value(json_object_get(item, "node")));
	}
	neap_buf_addf(out, " %s", spec ? spec : "-");
	json_decref(json);
	json_decref(notes);
}

static void tell_claimed(struct neap_cluster *cluster, struct neap_decide *decide,
			 struct neap_pod *pod, const struct neap_choice *choice,
			 struct neap_buf *out)
{
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	int ret = neap_decide_claim(decide, pod, choice->row, &claim, &err);

	if (ret < 0) {
		assert_true(neap_decide_wakes(decide) & NEAP_MOVED_CPUS);
		neap_buf_addf(out, "!%s", err.msg);
		return;
	}
	neap_buf_adds(out, choice->node);
	if (ret == 0)
		neap_buf_adds(out, " nothing");
	else
		tell_claim(pod, claim, out);
	assert_int_equal(neap_cluster_assume_with(cluster, pod, choice->row, claim, &err),
			 0);
	neap_claim_free(claim);
}

static void tell_refused(struct neap_decide *decide, struct neap_pod *pod, char want,
			 struct neap_buf *out)
{
	struct neap_victims victims;
	struct neap_error err;

	if (want == '-' && neap_decide_preempt(decide, pod, &victims, &err) == 1) {
		for (size_t i = 0; i < victims.count; i++)
			neap_buf_addf(out, "-%s", victims.pods[i]->object->name);
	} else if (want == '?') {
		struct neap_buf all;
		const char *end;

		neap_buf_init(&all, NEAP_BUF_LINE);
		assert_int_equal(neap_decide_preempt(decide, pod, &victims, &err), 0);
		neap_decide_explain(decide, &all);
		end = strstr(all.data, "preemption: ");
		assert_non_null(end);
		neap_buf_addf(out, "?%s", end + strlen("preemption: "));
		neap_buf_done(&all);
	} else {
		neap_decide_explain(decide, out);
	}
}

static void check(const struct row *row)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *decide = NULL;
	struct neap_choice choice = {0};
	struct neap_error err = {0};
	struct neap_buf out;
	struct neap_pod *pod;
	int ret;

	neap_buf_init(&out, NEAP_BUF_LINE);
	fill(cluster, row);
	(void)cluster_set_pod(cluster, "one", row->meta, row->spec, "{}");
	pod = neap_cluster_find_pod(cluster, "default", "one");
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	ret = neap_decide_pod(decide, pod, &choice, &err);
	assert_true(ret >= 0);
	if (ret > 0)
		tell_claimed(cluster, decide, pod, &choice, &out);
	else
		tell_refused(decide, pod, *row->want, &out);
	if (strcmp(out.data, row->want) != 0)
		fail_msg("%s: %s, want %s", row->name, out.data, row->want);
	neap_buf_done(&out);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

static void test_rows(void **state)
{
	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++)
		check(&rows[i]);
}

static void test_annotations_that_cannot_be_read(void **state)
{
	static const struct {
		const char *meta, *cpu, *want; /* NULL: it is fine */
	} cases[] = {
		{LSR SPEC("{"), "2", NEAP_KEY_RESOURCE_SPEC ": is no JSON object"},
		{PLAIN SPEC("[]"), "2", NEAP_KEY_RESOURCE_SPEC ": is no JSON object"},
		{PLAIN NOTE(NEAP_KEY_NUMA_SPEC, "{\\\"numaTopologyPolicy\\\":1}"), "2",
		 NEAP_KEY_NUMA_SPEC ": numaTopologyPolicy is no text"},
		{LSR SPEC("null"), "2", NULL},
		{PLAIN NOTE(NEAP_KEY_NUMA_SPEC, "null"), "2", NULL},
		{LSR, "1500m", "the requested CPUs must be integer"},
		{LSR SPEC("{\\\"preferredCPUBindPolicy\\\":\\\"ConstrainedBurst\\\"}"),
		 "1500m", NULL},
		{PLAIN HAS("x"), "2", NULL},
	};
	struct neap_resources *resources = neap_resources_new();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(cases); i++) {
		struct neap_pod *pod;
		char spec[256];

		(void)snprintf(spec, sizeof(spec),
			       "{'priority':9500,'containers':[{'resources':{'requests':{"
			       "'cpu':'%s'}}}]}",
			       cases[i].cpu);
		pod = cluster_pod(resources, "p", cases[i].meta, spec, "{}");
		if (cases[i].want)
			assert_string_equal(pod->trouble, cases[i].want);
		else
			assert_null(pod->trouble);
		(void)neap_pod_unref(pod);
	}
	neap_resources_free(resources);
}

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

static int64_t points(struct neap_decide *decide, const struct neap_pod *pod,
		      uint32_t row)
{
	struct neap_verdict verdict;
	struct neap_error err;

	assert_int_equal(neap_decide_scores(decide, pod, &row, 1, &verdict, &err), 0);
	return verdict.scores[0];
}

/* 8 CPUs and 8Gi each: a plain, b amplified, c with a NUMA policy. */
static void test_scores(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide *decide = new_decide(cluster);
	struct neap_pod *pod, *plain;

	(void)state;
	(void)cluster_set_pod(cluster, "one", LSR, ASKS("2"), "{}");
	(void)cluster_set_pod(cluster, "plain", "", ASKS("2"), "{}");
	pod = neap_cluster_find_pod(cluster, "default", "one");
	plain = neap_cluster_find_pod(cluster, "default", "plain");
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8','memory':'8Gi'");
	(void)cpus_set_topology(cluster, "a", &small);
	/* (8 - 2) / 8 and (8 - 1) / 8 of it are free. */
	assert_int_equal(points(decide, pod, 0), (75 + 87) / 2);
	assert_int_equal(points(decide, plain, 0), (75 + 87) / 2);
	(void)cluster_set_node(cluster, "b", AMPLIFIED, "{}", "'cpu':'8','memory':'8Gi'");
	(void)cpus_set_topology(cluster, "b", &small);
	assert_int_equal(points(decide, pod, 1), (50 + 87) / 2);
	assert_int_equal(points(decide, plain, 1), (75 + 87) / 2);
	(void)cluster_set_pod(cluster, "p", LSR HAS("0-1"), ON("b", "2", "9500"), "{}");
	assert_int_equal(points(decide, pod, 1), (0 + 87) / 2);
	/* Of the one NUMA node: (4 - 2) / 4 and (4 - 1) / 4. */
	(void)cluster_set_node(cluster, "c", "", "{}", "'cpu':'8','memory':'8Gi'");
	(void)cpus_set_topology(cluster, "c", &single);
	assert_int_equal(points(decide, pod, 2), (50 + 75) / 2);
	/* What does not fit has no points. */
	(void)cluster_set_pod(cluster, "q", LSR HAS("0-7"), ON("c", "0", "9500"), "{}");
	assert_int_equal(points(decide, pod, 2), 0);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

/* Several reasons of one node are told each by itself. */
static void test_reasons_and_wakes(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide *decide = new_decide(cluster);
	struct neap_choice choice;
	struct neap_error err;
	struct neap_buf out;

	(void)state;
	for (int i = 0; i < 2; i++) {
		char name[] = {(char)('a' + i), '\0'};

		(void)cluster_set_node(cluster, name, "", "{}",
				       "'cpu':'9','memory':'99Gi','pods':'9'");
		(void)cpus_set_topology(cluster, name, &single);
	}
	(void)cluster_set_pod(
		cluster, "one", "",
		"{'containers':[{'resources':{'requests':{'cpu':'9','memory':"
		"'9Gi'}}}]}",
		"{}");
	assert_int_equal(neap_decide_pod(decide,
					 neap_cluster_find_pod(cluster, "default", "one"),
					 &choice, &err),
			 0);
	neap_buf_init(&out, NEAP_BUF_LINE);
	neap_decide_explain(decide, &out);
	assert_string_equal(out.data,
			    "0/2 nodes are available: 2 Unsatisfied NUMA cpu, 2 "
			    "Unsatisfied NUMA memory.");
	neap_buf_done(&out);
	assert_true(neap_decide_wakes(decide) & NEAP_MOVED_CPUS);
	assert_true(neap_decide_wakes(decide) & NEAP_MOVED_POD_GONE);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

/* Two claims for the same CPUs: the second one is not taken. */
static void test_a_claim_that_is_stale(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide *decide = new_decide(cluster);
	struct neap_claim *claims[2];
	struct neap_pod *pods[2];
	struct neap_error err;

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8','memory':'8Gi'");
	(void)cpus_set_topology(cluster, "a", &small);
	for (int i = 0; i < 2; i++) {
		char name[] = {(char)('p' + i), '\0'};

		(void)cluster_set_pod(cluster, name, LSR, ASKS("2"), "{}");
		pods[i] = neap_cluster_find_pod(cluster, "default", name);
		assert_int_equal(neap_decide_claim(decide, pods[i], 0, &claims[i], &err),
				 1);
	}
	assert_int_equal(neap_cluster_assume_with(cluster, pods[0], 0, claims[0], &err),
			 0);
	assert_int_equal(neap_cluster_assume_with(cluster, pods[1], 0, claims[1], &err),
			 -NEAP_ECONFLICT);
	assert_null(pods[1]->seat.node);
	neap_cluster_forget(cluster, pods[0]);
	assert_int_equal(neap_cluster_assume_with(cluster, pods[1], 0, claims[1], &err),
			 0);
	neap_claim_free(claims[0]);
	neap_claim_free(claims[1]);
	neap_claim_free(NULL);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

/* Each allocation fails in turn: an error, and all is as it was. */
static void test_short_memory(void **state)
{
	bool has_failed = true;

	(void)state;
	for (uint64_t n = 1; has_failed; n++) {
		struct neap_cluster *cluster = cluster_new();
		struct neap_decide *decide = new_decide(cluster);
		uint64_t before = neap_mem_failures();
		struct neap_choice choice = {0};
		struct neap_claim *claim = NULL;
		struct neap_error err;
		struct neap_pod *pod;
		int ret;

		(void)cluster_set_node(cluster, "a", "", "{}",
				       "'cpu':'8','memory':'8Gi','pods':'9'");
		(void)cpus_set_topology(cluster, "a", &single);
		(void)cluster_set_pod(cluster, "p", LSR, ASKS("2"), "{}");
		pod = neap_cluster_find_pod(cluster, "default", "p");
		neap_mem_fail_at(n);
		ret = neap_decide_pod(decide, pod, &choice, &err);
		if (ret > 0)
			ret = neap_decide_claim(decide, pod, choice.row, &claim, &err);
		if (ret > 0)
			ret = neap_cluster_assume_with(cluster, pod, 0, claim, &err);
		neap_mem_fail_at(0);
		has_failed = neap_mem_failures() != before;
		assert_true(ret == 0 || (has_failed && ret == -NEAP_ENOMEM));
		(void)neap_cluster_settle(cluster);
		assert_int_equal(cpus_refs(cluster, "a", 0), ret == 0);
		neap_claim_free(claim);
		neap_decide_free(decide);
		neap_cluster_free(cluster);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_annotations_that_cannot_be_read),
		cmocka_unit_test(test_scores),
		cmocka_unit_test(test_reasons_and_wakes),
		cmocka_unit_test(test_a_claim_that_is_stale),
		cmocka_unit_test(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
