/* SPDX-License-Identifier: Apache-2.0
 *
 * Who has which CPUs, against a recount that knows only what was told and what was
 * assumed, in any order of events; and that nothing is given twice. */
#include "engine/cluster/cpus.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/decide/decide.h"
#include "engine/machine/cpuset.h"
#include "t/lib/cluster_rig.h"
#include "t/lib/cpus_rig.h"

#define NODES  4
#define PODS   24
#define OPS    4000
#define STATUS 512

/* What the test knows. */
struct known_pod {
	bool is_there, is_assumed, is_finished;
	int node; /* -1: none */
	int cpus;
	char status[STATUS]; /* of its annotation, or what it was given; "": none */
};

struct known_node {
	bool is_there, has_topology;
	struct cpus_machine machine;
};

static struct known_node nodes[NODES];
static struct known_pod pods[PODS];
static uint32_t seed;

static uint32_t roll(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static const char *node_name(int i)
{
	static const char *const names[NODES] = {"n0", "n1", "n2", "n3"};

	return names[i];
}

static void escape(const char *text, char *to, size_t size)
{
	size_t len = 0;

	for (; *text && len + 3 < size; text++) {
		if (*text == '"')
			to[len++] = '\\';
		to[len++] = *text;
	}
	to[len] = '\0';
}

static void tell_pod(struct neap_cluster *cluster, int i)
{
	const struct known_pod *pod = &pods[i];
	bool is_bound = pod->node >= 0 && !pod->is_assumed;
	char name[32], meta[2048], spec[512], status[STATUS * 2];

	(void)snprintf(name, sizeof(name), "p%d", i);
	escape(pod->status, status, sizeof(status));
	(void)snprintf(
		meta, sizeof(meta), "'labels':{'koordinator.sh/qosClass':'LSR'}%s%s%s",
		is_bound && *status ? ",'annotations':{'" NEAP_KEY_RESOURCE_STATUS "':'"
				    : "",
		is_bound ? status : "", is_bound && *status ? "'}" : "");
	(void)snprintf(
		spec, sizeof(spec),
		"{%s%s%s'priority':9500,'containers':[{'resources':{'requests':{'cpu':'%d',"
		"'memory':'1Gi'}}}]}",
		is_bound ? "'nodeName':'" : "", is_bound ? node_name(pod->node) : "",
		is_bound ? "'," : "", pod->cpus);
	(void)cluster_set_pod(cluster, name, meta, spec,
			      pod->is_finished ? "{'phase':'Succeeded'}" : "{}");
}

static struct neap_pod *find(struct neap_cluster *cluster, int i)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "p%d", i);
	return neap_cluster_find_pod(cluster, "default", name);
}

/* Whether a place was found; any row, or the best. */
static bool place(struct neap_cluster *cluster, struct neap_decide *decide, int i)
{
	struct known_pod *pod = &pods[i];
	struct neap_choice choice = {0};
	struct neap_claim *claim = NULL;
	struct neap_error err = {0};
	json_t *notes;
	int count = 0, ret = neap_decide_pod(decide, find(cluster, i), &choice, &err);

	assert_true(ret >= 0);
	if (ret == 0)
		return false;
	ret = neap_decide_claim(decide, find(cluster, i), choice.row, &claim, &err);
	assert_true(ret == 1 || ret == -NEAP_ENOFIT);
	if (ret < 0)
		return false;
	for (int word = 0; word < claim->words; word++)
		count += __builtin_popcountll(claim->cpus[word]);
	assert_int_equal(count, pod->cpus);
	notes = neap_claim_annotations(find(cluster, i), claim);
	(void)snprintf(
		pod->status, sizeof(pod->status), "%s",
		json_string_value(json_object_get(notes, NEAP_KEY_RESOURCE_STATUS)));
	json_decref(notes);
	assert_int_equal(neap_cluster_assume_with(cluster, find(cluster, i), choice.row,
						  claim, &err),
			 0);
	neap_claim_free(claim);
	pod->node = choice.node[1] - '0';
	pod->is_assumed = true;
	return true;
}

static void take_off(struct known_pod *pod)
{
	pod->node = -1;
	pod->is_assumed = false;
	pod->status[0] = '\0';
}

/* Others bind as they like: then CPUs may be given twice. */
static void change_pod(struct neap_cluster *cluster, struct neap_decide *decide, int i,
		       bool has_others)
{
	struct known_pod *pod = &pods[i];
	char name[32];
	unsigned moved;

	(void)snprintf(name, sizeof(name), "p%d", i);
	switch (pod->is_there ? roll(9) : 8) {
	case 0:
		neap_cluster_remove_pod(cluster, "default", name, &moved);
		*pod = (struct known_pod){.node = -1};
		return;
	case 1:
		if (pod->node < 0)
			return;
		pod->is_finished = true;
		pod->is_assumed = false;
		break;
	case 2:
	case 3:
		if (pod->node < 0 && !pod->is_finished)
			(void)place(cluster, decide, i);
		return;
	case 4:
		if (!pod->is_assumed)
			return;
		neap_cluster_forget(cluster, find(cluster, i));
		take_off(pod);
		return;
	case 5:
		if (!pod->is_assumed)
			return;
		neap_cluster_confirm(cluster, find(cluster, i), 10);
		assert_null(neap_cluster_expire(cluster, 9));
		assert_ptr_equal(neap_cluster_expire(cluster, 10), find(cluster, i));
		take_off(pod);
		return;
	case 6: /* seen bound; somebody else's says another thing, or nothing */
		if (!pod->is_assumed)
			return;
		pod->is_assumed = false;
		if (has_others && !roll(3))
			pod->status[0] = '\0';
		if (has_others && !roll(3))
			pod->node = (int)roll(NODES);
		break;
	case 7: /* told again as it is */
		break;
	default:
		if (pod->is_there)
			return;
		*pod = (struct known_pod){
			.is_there = true, .node = -1, .cpus = 2 * (1 + (int)roll(3))};
		if (!has_others || roll(3))
			break;
		pod->node = (int)roll(NODES);
		(void)snprintf(
			pod->status, sizeof(pod->status),
			"{\"cpuset\":\"%u,%u\",\"numaNodeResources\":[{\"node\":%u,"
			"\"resources\":{\"cpu\":\"2\"}}]}",
			roll(16), roll(20), roll(3));
		break;
	}
	tell_pod(cluster, i);
}

static void change_node(struct neap_cluster *cluster, int i)
{
	static const char *const metas[] = {
		"", "'labels':{'" NEAP_KEY_NODE_NUMA "':'SingleNUMANode'}",
		"'labels':{'" NEAP_KEY_NODE_BIND "':'FullPCPUsOnly'}",
		"'annotations':{'node.koordinator.sh/resource-amplification-ratio':'{"
		"\\\"cpu\\\":1.5}'}"};
	struct known_node *node = &nodes[i];
	unsigned moved;

	switch (roll(5)) {
	case 0:
		neap_cluster_remove_node(cluster, node_name(i));
		node->is_there = false;
		return;
	case 1:
		neap_cluster_remove_topology(cluster, node_name(i), &moved);
		assert_int_equal(moved, node->has_topology ? NEAP_MOVED_CPUS : 0);
		node->has_topology = false;
		return;
	case 2:
		node->machine = (struct cpus_machine){
			.nodes = 1 + (int)roll(2), .cores = 4, .threads = 2};
		node->has_topology = true;
		assert_int_equal(cpus_set_topology(cluster, node_name(i), &node->machine),
				 NEAP_MOVED_CPUS);
		return;
	default:
		node->is_there = true;
		(void)cluster_set_node(cluster, node_name(i), metas[roll(4)], "{}",
				       "'cpu':'64','memory':'64Gi','pods':'99'");
	}
}

/* Adds what a status says of one node to refs, and to cells by NUMA node. */
static void count(const char *status, int refs[], int64_t cells[])
{
	struct neap_cpuset set;
	json_error_t where;
	json_t *json, *item;
	char text[STATUS];
	size_t i;

	assert_int_equal(
		neap_cpuset_parse(&set, cpus_of(status, text, sizeof(text)), NULL), 0);
	for (int cpu = -1; (cpu = neap_cpuset_next(&set, cpu)) >= 0;)
		refs[cpu]++;
	json = json_loads(status, 0, &where);
	json_array_foreach (json_object_get(json, "numaNodeResources"), i, item) {
		int node = (int)json_integer_value(json_object_get(item, "node"));
		const char *cpu = json_string_value(
			json_object_get(json_object_get(item, "resources"), "cpu"));

		cells[node] += cpu ? strtol(cpu, NULL, 10) * 1000 : 0;
	}
	json_decref(json);
}

static void check_book(const struct neap_cpus *book, const struct known_node *node,
		       const int *refs, const int64_t *cells)
{
	int cpus = node->machine.nodes * node->machine.cores * node->machine.threads;
	int at = neap_numa_node_resource(book->numa, NEAP_RESOURCE_CPU);
	int64_t bound = 0;

	assert_int_equal(book->numa->layout->cpus, cpus);
	for (int cpu = 0; cpu < cpus; cpu++) {
		int slot = book->numa->layout->slot_of[cpu];

		assert_int_equal(book->numa->use->refs[slot], refs[cpu]);
		bound += refs[cpu] ? 1000 : 0;
	}
	for (int zone = 0; zone < book->numa->zone_count; zone++)
		assert_int_equal(book->numa->used[zone * book->numa->resource_count + at],
				 cells[book->numa->zone_node[zone]]);
	if (book->load.ratio > 1)
		assert_int_equal(book->load.bound, bound);
}

static void check(struct neap_cluster *cluster, int max_refs)
{
	(void)neap_cluster_settle(cluster);
	for (int i = 0; i < NODES; i++) {
		struct neap_cluster_node *node =
			neap_cluster_find_node(cluster, node_name(i));
		const struct neap_cpus *book =
			node ? neap_cluster_cpus(cluster, node->row) : NULL;
		int refs[64] = {0};
		int64_t cells[8] = {0};

		for (int n = 0; n < PODS; n++)
			if (pods[n].node == i && !pods[n].is_finished && *pods[n].status)
				count(pods[n].status, refs, cells);
		for (int cpu = 0; max_refs && cpu < 64; cpu++)
			assert_true(refs[cpu] <= max_refs);
		assert_int_equal(book && book->numa,
				 nodes[i].is_there && nodes[i].has_topology);
		if (book && book->numa)
			check_book(book, &nodes[i], refs, cells);
	}
}

static void run(uint32_t round, bool has_others, int max_refs)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_decide_config config = {.cluster = cluster};
	struct neap_decide *decide = NULL;
	struct neap_error err = {0};
	struct neap_cpus_args args;

	neap_cpus_args_init(&args);
	args.max_refs = max_refs;
	assert_int_equal(neap_cluster_set_cpus(cluster, &args, &err), 0);
	assert_int_equal(neap_decide_new(&config, &decide, &err), 0);
	seed = round;
	memset(nodes, 0, sizeof(nodes));
	for (int i = 0; i < PODS; i++)
		pods[i] = (struct known_pod){.node = -1};
	for (int op = 0; op < OPS; op++) {
		if (roll(12))
			change_pod(cluster, decide, (int)roll(PODS), has_others);
		else
			change_node(cluster, (int)roll(NODES));
		if (!has_others || !roll(4))
			check(cluster, has_others ? 0 : max_refs);
	}
	check(cluster, has_others ? 0 : max_refs);
	neap_decide_free(decide);
	neap_cluster_free(cluster);
}

static void test_recount(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= 4; round++)
		run(round, true, 1 + (int)(round % 2));
}

static void test_nothing_is_given_twice(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= 6; round++)
		run(round, false, 1 + (int)(round % 3));
}

#define LSR "'labels':{'koordinator.sh/qosClass':'LSR'}"
#define STATUS_OF(cpus)                                                                  \
	LSR ",'annotations':{'" NEAP_KEY_RESOURCE_STATUS "':'{\\\"cpuset\\\":\\\"" cpus  \
	    "\\\"}'}"
#define ON(node)                                                                         \
	"{'nodeName':'" node                                                             \
	"','priority':9500,'containers':[{'resources':{'requests':{'cpu':'2'}}}]}"

static const struct cpus_machine small = {.nodes = 2, .cores = 2, .threads = 2};

static void test_topology_before_and_after_its_node(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	unsigned moved;

	(void)state;
	assert_int_equal(cpus_set_topology(cluster, "a", &small), NEAP_MOVED_CPUS);
	(void)cluster_set_pod(cluster, "p", STATUS_OF("0-1"), ON("a"), "{}");
	assert_int_equal(cpus_refs(cluster, "a", 0), -1);
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8'");
	assert_int_equal(cpus_refs(cluster, "a", 0), 1);
	assert_int_equal(cpus_refs(cluster, "a", 2), 0);
	/* A heartbeat changes nothing. */
	moved = cluster_set_node(cluster, "a", "", "{}", "'cpu':'8'");
	assert_int_equal(moved & NEAP_MOVED_CPUS, 0);
	moved = cluster_set_node(cluster, "a",
				 "'labels':{'" NEAP_KEY_NODE_BIND "':'FullPCPUsOnly'}",
				 "{}", "'cpu':'8'");
	assert_int_equal(moved & NEAP_MOVED_CPUS, NEAP_MOVED_CPUS);
	assert_int_equal(neap_cluster_cpus_ruled(cluster), 1);
	assert_int_equal(cpus_refs(cluster, "a", 0), 1);
	neap_cluster_remove_node(cluster, "a");
	assert_int_equal(neap_cluster_cpus_ruled(cluster), 0);
	assert_int_equal(cpus_refs(cluster, "a", 0), -1);
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8'");
	assert_int_equal(cpus_refs(cluster, "a", 1), 1);
	neap_cluster_free(cluster);
}

static void test_what_a_status_moved(void **state)
{
	static const struct {
		const char *meta;
		bool moved;
	} rows[] = {
		{STATUS_OF("0-3"), false}, /* it comes with its place */
		{STATUS_OF("0-3"), false},
		{STATUS_OF("0-1"), true},
		{LSR, true},
		{LSR, false},
		{STATUS_OF("0-1"), true},
	};
	struct neap_cluster *cluster = cluster_new();

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8'");
	(void)cpus_set_topology(cluster, "a", &small);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		unsigned moved =
			cluster_set_pod(cluster, "p", rows[i].meta, ON("a"), "{}");

		if (!(moved & NEAP_MOVED_CPUS) == rows[i].moved)
			fail_msg("row %zu: %u", i, moved);
	}
	neap_cluster_free(cluster);
}

static void test_a_trial_gives_cpus_back(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_cluster_node *node;
	struct neap_pod *pod;

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8'");
	(void)cpus_set_topology(cluster, "a", &small);
	(void)cluster_set_pod(cluster, "p", STATUS_OF("0-1"), ON("a"), "{}");
	pod = neap_cluster_find_pod(cluster, "default", "p");
	node = neap_cluster_lift(cluster, pod);
	assert_int_equal(cpus_refs(cluster, "a", 0), 0);
	neap_cluster_put_back(cluster, pod, node);
	assert_int_equal(cpus_refs(cluster, "a", 0), 1);
	neap_cluster_free(cluster);
}

static void test_what_is_kept_from_pods(void **state)
{
	const struct cpus_machine machine = {
		.nodes = 2,
		.cores = 2,
		.threads = 2,
		.notes =
			"'node.koordinator.sh/pod-cpu-allocs':'[{\\\"uid\\\":\\\"x\\\","
			"\\\"cpuset\\\":\\\"0\\\",\\\"managedByKubelet\\\":true}]',"
			"'node.koordinator.sh/system-qos-resource':'{\\\"cpuset\\\":"
			"\\\"2\\\"}','kubelet.koordinator.sh/cpu-manager-policy':'{"
			"\\\"policy\\\":\\\"static\\\",\\\"reservedCPUs\\\":\\\"4\\\"}'"};
	struct neap_cluster *cluster = cluster_new();
	const struct neap_cpus *book;
	unsigned moved;

	(void)state;
	moved = cluster_set_node(
		cluster, "a",
		"'annotations':{'node.koordinator.sh/reservation':'{\\\"resources\\\":{"
		"\\\"cpu\\\":\\\"3\\\"}}'}",
		"{}", "'cpu':'8'");
	assert_int_equal(moved, NEAP_MOVED_NODE_ADDED);
	assert_int_equal(neap_cluster_settle(cluster)->allocatable[NEAP_RESOURCE_CPU][0],
			 5000);
	(void)cpus_set_topology(cluster, "a", &machine);
	book = neap_cluster_cpus(cluster, 0);
	assert_non_null(book->numa);
	for (int cpu = 0; cpu < 8; cpu++) {
		int slot = book->numa->layout->slot_of[cpu];

		assert_int_equal(book->numa->reserved[slot / 64] >> slot % 64 & 1,
				 cpu == 0 || cpu == 2 || cpu == 4);
	}
	neap_cluster_free(cluster);
}

static void test_arguments(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_error err = {0};
	struct neap_cpus_args args;

	(void)state;
	neap_cpus_args_init(&args);
	args.max_refs = 0;
	assert_int_equal(neap_cluster_set_cpus(cluster, &args, &err), -NEAP_EINVAL);
	assert_string_equal(err.field, "max_refs");
	args.max_refs = 1;
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8','memory':'8'");
	assert_int_equal(neap_cluster_set_cpus(cluster, &args, &err), -NEAP_ECONFLICT);
	neap_cluster_free(cluster);
}

static void test_broken_objects(void **state)
{
	const struct cpus_machine broken = {.nodes = 2,
					    .cores = 2,
					    .threads = 2,
					    .notes = "'a':'b'",
					    .more = "'a':1"};
	struct neap_cluster *cluster = cluster_new();
	struct neap_object *object;
	struct neap_error err = {0};
	unsigned moved;

	(void)state;
	(void)cluster_set_node(cluster, "a",
			       "'annotations':{'node.koordinator.sh/reservation':'{'}",
			       "{}", "'cpu':'8'");
	assert_non_null(strstr(neap_cluster_find_node(cluster, "a")->trouble,
			       "node.koordinator.sh/reservation"));
	(void)cluster_set_node(cluster, "a",
			       "'annotations':{'node.koordinator.sh/reservation':"
			       "'{\\\"reservedCPUs\\\":\\\"0-x\\\"}'}",
			       "{}", "'cpu':'8'");
	assert_non_null(neap_cluster_find_node(cluster, "a")->trouble);
	assert_non_null(
		strstr(neap_cluster_find_node(cluster, "a")->trouble, "reservedCPUs"));
	(void)cluster_set_node(cluster, "a",
			       "'annotations':{'node.koordinator.sh/reservation':"
			       "'{\\\"reservedCPUs\\\":\\\"0-1\\\"}'}",
			       "{}", "'cpu':'8'");
	assert_null(neap_cluster_find_node(cluster, "a")->trouble);
	object = cluster_object("a", "",
				"'annotations':{'node.koordinator.sh/cpu-topology':'['}",
				"{}", "{}");
	assert_int_equal(neap_cluster_set_topology(cluster, object, &moved, &err), 0);
	(void)neap_object_unref(object);
	assert_non_null(neap_cluster_cpus(cluster, 0)->trouble);
	/* What a pod says of CPUs that are not there, or in no words, is nothing. */
	(void)cpus_set_topology(cluster, "a", &broken);
	(void)cluster_set_pod(cluster, "p", STATUS_OF("1-0x"), ON("a"), "{}");
	(void)cluster_set_pod(cluster, "q", STATUS_OF("1,4000"), ON("a"), "{}");
	assert_int_equal(cpus_refs(cluster, "a", 0), 0);
	assert_int_equal(cpus_refs(cluster, "a", 1), 1);
	/* An amount in no words is no reason to give its CPUs to others. */
	(void)cluster_set_pod(
		cluster, "r",
		LSR ",'annotations':{'" NEAP_KEY_RESOURCE_STATUS
		    "':'{\\\"cpuset\\\":\\\"2\\\",\\\"numaNodeResources\\\":"
		    "[{\\\"node\\\":0,\\\"resources\\\":{\\\"cpu\\\":null}}]}'}",
		ON("a"), "{}");
	assert_int_equal(cpus_refs(cluster, "a", 2), 1);
	neap_cluster_free(cluster);
}

/* Each allocation fails in turn: what is told is as it was, or there; the next settling
 * has it right. */
static void test_short_memory(void **state)
{
	struct neap_object *topology = cpus_topology("a", &small);
	struct neap_object *pod =
		cluster_object("q", "default", STATUS_OF("2-3"), ON("a"), "{}");
	struct neap_error err;
	bool has_failed = true;

	(void)state;
	for (uint64_t n = 1; has_failed; n++) {
		struct neap_cluster *cluster = cluster_new();
		uint64_t before = neap_mem_failures();
		int told, seen;
		unsigned moved;

		(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'8'");
		(void)cluster_set_pod(cluster, "p", STATUS_OF("0-1"), ON("a"), "{}");
		neap_mem_fail_at(n);
		told = neap_cluster_set_topology(cluster, topology, &moved, &err);
		seen = neap_cluster_set_pod(cluster, pod, &moved, &err);
		neap_mem_fail_at(0);
		has_failed = neap_mem_failures() != before;
		(void)neap_cluster_settle(cluster);
		assert_int_equal(cpus_refs(cluster, "a", 0), told == 0 ? 1 : -1);
		assert_int_equal(cpus_refs(cluster, "a", 2), told < 0 ? -1 : seen == 0);
		neap_cluster_free(cluster);
	}
	(void)neap_object_unref(topology);
	(void)neap_object_unref(pod);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_recount),
		cmocka_unit_test(test_nothing_is_given_twice),
		cmocka_unit_test(test_topology_before_and_after_its_node),
		cmocka_unit_test(test_what_a_status_moved),
		cmocka_unit_test(test_a_trial_gives_cpus_back),
		cmocka_unit_test(test_what_is_kept_from_pods),
		cmocka_unit_test(test_arguments),
		cmocka_unit_test(test_broken_objects),
		cmocka_unit_test(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
