/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache against a recount that knows nothing of it: only what it was told, and what
 * was assumed. */
#include "engine/cluster/cluster.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "t/lib/cluster_rig.h"

#define NODES 8
#define PODS  60
#define OPS   4000

/* What the test knows. */
struct known_node {
	bool is_there;
	int64_t cpu_milli, gpus;
};

struct known_pod {
	bool is_there, is_finished, is_assumed;
	int node; /* -1: none */
	int64_t cpu_milli, gpus;
};

static struct known_node nodes[NODES];
static struct known_pod pods[PODS];
static uint32_t seed;

static uint32_t roll(uint32_t below)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % below;
}

static void tell_pod(struct neap_cluster *cluster, int i)
{
	const struct known_pod *pod = &pods[i];
	char name[32], spec[512];

	(void)snprintf(name, sizeof(name), "p%d", i);
	(void)snprintf(
		spec, sizeof(spec),
		"{%s%s%s'containers':[{'resources':{'requests':{'cpu':'%lldm','x/gpu':"
		"%lld}}}]}",
		pod->node >= 0 && !pod->is_assumed ? "'nodeName':'n" : "",
		pod->node >= 0 && !pod->is_assumed
			? (const char[]){(char)('0' + pod->node), '\0'}
			: "",
		pod->node >= 0 && !pod->is_assumed ? "'," : "", (long long)pod->cpu_milli,
		(long long)pod->gpus);
	(void)cluster_set_pod(cluster, name, "", spec,
			      pod->is_finished ? "{'phase':'Failed'}" : "{}");
}

static void change_pod(struct neap_cluster *cluster, int i)
{
	struct known_pod *pod = &pods[i];
	struct neap_pod *real;
	struct neap_error err;
	char name[32];
	unsigned moved;

	(void)snprintf(name, sizeof(name), "p%d", i);
	real = neap_cluster_find_pod(cluster, "default", name);
	switch (roll(7)) {
	case 0: /* gone */
		neap_cluster_remove_pod(cluster, "default", name, &moved);
		*pod = (struct known_pod){.node = -1};
		return;
	case 1: /* finished */
		if (!pod->is_there || pod->node < 0)
			return;
		pod->is_finished = true;
		pod->is_assumed = false;
		break;
	case 2: /* decided */
		if (!pod->is_there || pod->node >= 0 || pod->is_finished)
			return;
		pod->node = (int)roll(NODES);
		(void)snprintf(name, sizeof(name), "n%d", pod->node);
		if (!neap_cluster_find_node(cluster, name)) {
			pod->node = -1;
			return;
		}
		assert_int_equal(
			neap_cluster_assume(cluster, real,
					    neap_cluster_find_node(cluster, name)->row,
					    &err),
			0);
		pod->is_assumed = true;
		return;
	case 3: /* undone */
		if (!pod->is_assumed)
			return;
		neap_cluster_forget(cluster, real);
		pod->is_assumed = false;
		pod->node = -1;
		return;
	case 4: /* the binding is seen, sometimes somebody else's */
		if (!pod->is_assumed)
			return;
		pod->is_assumed = false;
		if (!roll(4))
			pod->node = (int)roll(NODES);
		break;
	case 5: /* told again as it is */
		if (!pod->is_there)
			return;
		break;
	default:
		if (pod->is_there)
			return;
		*pod = (struct known_pod){.is_there = true,
					  .node = (int)roll(NODES * 2) - NODES,
					  .cpu_milli = roll(2000),
					  .gpus = roll(3)};
		pod->node = pod->node < 0 ? -1 : pod->node;
	}
	tell_pod(cluster, i);
}

static void change_node(struct neap_cluster *cluster, int i)
{
	char name[32], allocatable[128];

	(void)snprintf(name, sizeof(name), "n%d", i);
	if (!roll(3)) {
		neap_cluster_remove_node(cluster, name);
		nodes[i] = (struct known_node){false};
		return;
	}
	nodes[i] = (struct known_node){true, roll(9) * 1000, roll(2) ? roll(5) : 0};
	(void)snprintf(allocatable, sizeof(allocatable), "'cpu':'%lldm'%s",
		       (long long)nodes[i].cpu_milli, "");
	if (nodes[i].gpus)
		(void)snprintf(allocatable + strlen(allocatable),
			       sizeof(allocatable) - strlen(allocatable), ",'x/gpu':%lld",
			       (long long)nodes[i].gpus);
	(void)cluster_set_node(cluster, name, "", "{}", allocatable);
}

static int64_t column(int64_t *const *columns, uint32_t resource, uint32_t row)
{
	return columns[resource] ? columns[resource][row] : 0;
}

static void check(struct neap_cluster *cluster)
{
	const struct neap_columns *columns = neap_cluster_settle(cluster);
	uint32_t gpu = 0;
	size_t count = 0;

	assert_int_equal(
		neap_resources_add(neap_cluster_resources(cluster), "x/gpu", &gpu, NULL),
		0);
	for (int i = 0; i < NODES; i++) {
		struct neap_cluster_node *node;
		int64_t cpu = 0, gpus = 0, number = 0;
		char name[32];

		(void)snprintf(name, sizeof(name), "n%d", i);
		node = neap_cluster_find_node(cluster, name);
		for (int n = 0; n < PODS; n++) {
			if (pods[n].node != i || pods[n].is_finished)
				continue;
			cpu += pods[n].cpu_milli;
			gpus += pods[n].gpus;
			number++;
		}
		count += nodes[i].is_there;
		if (!node) {
			assert_false(nodes[i].is_there);
			assert_int_equal(number, 0);
			continue;
		}
		assert_int_equal(!!(columns->flags[node->row] & NEAP_ROW_IS_THERE),
				 nodes[i].is_there);
		assert_int_equal(node->pod_count, number);
		assert_int_equal(
			column(columns->allocatable, NEAP_RESOURCE_CPU, node->row),
			nodes[i].cpu_milli);
		assert_int_equal(column(columns->allocatable, gpu, node->row),
				 nodes[i].gpus);
		if (columns->used[NEAP_RESOURCE_CPU])
			assert_int_equal(columns->used[NEAP_RESOURCE_CPU][node->row],
					 cpu);
		if (columns->used[gpu])
			assert_int_equal(columns->used[gpu][node->row], gpus);
	}
	assert_int_equal(neap_cluster_node_count(cluster), count);
}

static void test_recount(void **state)
{
	(void)state;
	for (uint32_t round = 1; round <= 4; round++) {
		struct neap_cluster *cluster = cluster_new();

		seed = round;
		memset(nodes, 0, sizeof(nodes));
		for (int i = 0; i < PODS; i++)
			pods[i] = (struct known_pod){.node = -1};
		for (int op = 0; op < OPS; op++) {
			if (roll(8))
				change_pod(cluster, (int)roll(PODS));
			else
				change_node(cluster, (int)roll(NODES));
			if (!roll(5))
				check(cluster);
		}
		check(cluster);
		neap_cluster_free(cluster);
	}
}

#define POD(cpu) "{'containers':[{'resources':{'requests':{'cpu':'" cpu "'}}}]}"

static int64_t used_cpu(struct neap_cluster *cluster, const char *node)
{
	const struct neap_columns *columns = neap_cluster_settle(cluster);

	return columns
		->used[NEAP_RESOURCE_CPU][neap_cluster_find_node(cluster, node)->row];
}

static void test_assumed(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_error err = {0};
	struct neap_pod *pod;
	unsigned moved;

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'4'");
	(void)cluster_set_node(cluster, "b", "", "{}", "'cpu':'4'");
	(void)cluster_set_pod(cluster, "p", "", POD("1"), "{}");
	pod = neap_cluster_find_pod(cluster, "default", "p");
	assert_int_equal(neap_cluster_assume(cluster, pod, 0, &err), 0);
	assert_int_equal(used_cpu(cluster, "a"), 1000);
	assert_int_equal(neap_cluster_assume(cluster, pod, 1, &err), -NEAP_ECONFLICT);
	/* A change that says nothing of a node leaves it there. */
	assert_int_equal(
		cluster_set_pod(cluster, "p", "'labels':{'a':'b'}", POD("2"), "{}"), 0);
	assert_int_equal(used_cpu(cluster, "a"), 2000);
	/* It lasts until it is answered, and then so long. */
	assert_null(neap_cluster_expire(cluster, INT64_MAX - 1));
	pod = neap_cluster_find_pod(cluster, "default", "p");
	neap_cluster_confirm(cluster, pod, 1000);
	assert_null(neap_cluster_expire(cluster, 999));
	assert_ptr_equal(neap_cluster_expire(cluster, 1000), pod);
	assert_null(neap_cluster_expire(cluster, 1000));
	assert_int_equal(used_cpu(cluster, "a"), 0);
	/* The binding is seen, on another node: that is true. */
	assert_int_equal(neap_cluster_assume(cluster, pod, 0, &err), 0);
	moved = cluster_set_pod(cluster, "p", "",
				"{'nodeName':'b','containers':[{'resources':{'requests':{"
				"'cpu':'1'}}}]}",
				"{}");
	assert_int_equal(moved, NEAP_MOVED_POD_PLACED);
	assert_int_equal(used_cpu(cluster, "a"), 0);
	assert_int_equal(used_cpu(cluster, "b"), 1000);
	neap_cluster_forget(cluster, neap_cluster_find_pod(cluster, "default", "p"));
	assert_int_equal(used_cpu(cluster, "b"), 1000);
	/* Finished, it uses nothing. */
	moved = cluster_set_pod(cluster, "p", "",
				"{'nodeName':'b','containers':[{'resources':{'requests':{"
				"'cpu':'1'}}}]}",
				"{'phase':'Succeeded'}");
	assert_int_equal(moved, NEAP_MOVED_POD_GONE);
	assert_int_equal(used_cpu(cluster, "b"), 0);
	/* Gone while it is assumed. */
	(void)cluster_set_pod(cluster, "q", "", POD("3"), "{}");
	assert_int_equal(
		neap_cluster_assume(
			cluster, neap_cluster_find_pod(cluster, "default", "q"), 0, &err),
		0);
	neap_cluster_remove_pod(cluster, "default", "q", &moved);
	assert_int_equal(moved, NEAP_MOVED_POD_GONE);
	assert_int_equal(used_cpu(cluster, "a"), 0);
	neap_cluster_free(cluster);
}

#define WAITS(more) "{'priority':100" more "}"
#define ASKS(cpu)                                                                        \
	",'containers':[{'resources':{'requests':{'cpu':'" cpu                           \
	"'}},'ports':[{'containerPort':80,'hostPort':80}]}]"
#define FOR(node)   "{'nominatedNodeName':'" node "'}"
#define BINDS(text) "'annotations':{'scheduling.koordinator.sh/resource-spec':'" text "'}"

/* What is kept for a pod on a is given up, or less: that may help others. */
static void test_room(void **state)
{
	static const struct {
		const char *meta, *spec, *status;
		unsigned moved;
	} rows[] = {
		{BINDS("{}"), WAITS(ASKS("3")),
		 "{'nominatedNodeName':'a','conditions':[{'type':'x','status':'True'}]}",
		 0},
		{BINDS("{}"), WAITS(ASKS("4")), FOR("a"), 0},
		{BINDS("{}"), WAITS(ASKS("3")), FOR("b"), NEAP_MOVED_POD_GONE},
		{BINDS("{}"), WAITS(ASKS("3")), "{}", NEAP_MOVED_POD_GONE},
		{BINDS("{}"), WAITS(ASKS("2")), FOR("a"), NEAP_MOVED_POD_GONE},
		{BINDS("{}"), "{'priority':99" ASKS("3") "}", FOR("a"),
		 NEAP_MOVED_POD_GONE},
		{BINDS("{}") ",'labels':{'a':'b'}", WAITS(ASKS("3")), FOR("a"),
		 NEAP_MOVED_POD_GONE},
		{"", WAITS(ASKS("3")), FOR("a"), NEAP_MOVED_POD_GONE},
		{BINDS("{}"),
		 WAITS(",'containers':[{'resources':{'requests':{'cpu':'3'}}}]"),
		 FOR("a"), NEAP_MOVED_POD_GONE},
		{BINDS("{}"), WAITS(ASKS("3") ",'nodeName':'a'"), FOR("a"),
		 NEAP_MOVED_POD_PLACED},
		{BINDS("{}"), WAITS(ASKS("3") ",'nodeName':'b'"), FOR("a"),
		 NEAP_MOVED_POD_PLACED | NEAP_MOVED_POD_GONE},
		{BINDS("{}"), WAITS(ASKS("3")),
		 "{'nominatedNodeName':'a','phase':'Failed'}", NEAP_MOVED_POD_GONE},
	};
	struct neap_cluster *cluster = cluster_new();
	struct neap_error err = {0};
	struct neap_pod *pod;
	unsigned moved;

	(void)state;
	(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'4'");
	(void)cluster_set_node(cluster, "b", "", "{}", "'cpu':'4'");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		assert_int_equal(cluster_set_pod(cluster, "p", BINDS("{}"),
						 WAITS(ASKS("3")), FOR("a")),
				 0);
		moved = cluster_set_pod(cluster, "p", rows[i].meta, rows[i].spec,
					rows[i].status);
		if (moved != rows[i].moved)
			fail_msg("row %zu: %u and not %u", i, moved, rows[i].moved);
		neap_cluster_remove_pod(cluster, "default", "p", &moved);
	}
	(void)cluster_set_pod(cluster, "p", "", WAITS(ASKS("3")), FOR("a"));
	neap_cluster_remove_pod(cluster, "default", "p", &moved);
	assert_int_equal(moved, NEAP_MOVED_POD_GONE);
	/* What is decided. */
	(void)cluster_set_pod(cluster, "p", "", WAITS(ASKS("3")), "{}");
	pod = neap_cluster_find_pod(cluster, "default", "p");
	assert_true(neap_cluster_nominate(cluster, pod, ""));
	assert_true(neap_cluster_nominate(cluster, pod, "a"));
	assert_true(neap_cluster_nominate(cluster, pod, "a"));
	assert_int_equal(neap_cluster_take_moved(cluster), 0);
	assert_true(neap_cluster_nominate(cluster, pod, "b"));
	assert_int_equal(neap_cluster_take_moved(cluster), NEAP_MOVED_POD_GONE);
	assert_int_equal(neap_cluster_take_moved(cluster), 0);
	assert_true(neap_cluster_nominate(cluster, pod, ""));
	assert_int_equal(neap_cluster_take_moved(cluster), NEAP_MOVED_POD_GONE);
	for (uint32_t row = 0; row < 2; row++) {
		assert_true(neap_cluster_nominate(cluster, pod, "a"));
		assert_int_equal(neap_cluster_assume(cluster, pod, row, &err), 0);
		assert_int_equal(neap_cluster_take_moved(cluster),
				 row ? NEAP_MOVED_POD_GONE : 0);
		neap_cluster_forget(cluster, pod);
	}
	neap_cluster_free(cluster);
}

static void test_what_moved(void **state)
{
	static const struct {
		const char *meta, *spec, *allocatable;
		unsigned moved;
	} rows[] = {
		{"", "{}", "'cpu':'1'", NEAP_MOVED_NODE_ADDED},
		{"", "{}", "'cpu':'1000m'", NEAP_MOVED_OTHER},
		{"", "{}", "'cpu':'2'", NEAP_MOVED_OTHER | NEAP_MOVED_ROOM},
		{"'labels':{'a':'b'}", "{}", "'cpu':'2'",
		 NEAP_MOVED_OTHER | NEAP_MOVED_LABELS},
		{"'labels':{'a':'c'}", "{}", "'cpu':'2','x/y':1",
		 NEAP_MOVED_OTHER | NEAP_MOVED_LABELS | NEAP_MOVED_ROOM},
		{"'labels':{'a':'c'}", "{'unschedulable':true}", "'cpu':'2','x/y':1",
		 NEAP_MOVED_OTHER | NEAP_MOVED_TAINTS},
		{"'labels':{'a':'c'}", "{'taints':[{'key':'k','effect':'NoSchedule'}]}",
		 "'cpu':'2','x/y':1", NEAP_MOVED_OTHER | NEAP_MOVED_TAINTS},
	};
	struct neap_cluster *cluster = cluster_new();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		unsigned moved = cluster_set_node(cluster, "n", rows[i].meta,
						  rows[i].spec, rows[i].allocatable);

		if (moved != rows[i].moved)
			fail_msg("row %zu: %u", i, moved);
	}
	assert_int_equal(neap_cluster_taint_end(cluster), 1);
	neap_cluster_free(cluster);
}

static void test_what_a_pod_moved(void **state)
{
	static const struct {
		const char *spec;
		unsigned moved;
	} rows[] = {
		{"{'nodeName':'n','containers':[{'resources':{'requests':{'cpu':'2'}}}]}",
		 NEAP_MOVED_POD_PLACED},
		{"{'nodeName':'n','containers':[{'resources':{'requests':{'cpu':'3'}}}]}",
		 NEAP_MOVED_POD_PLACED | NEAP_MOVED_OTHER},
		{"{'nodeName':'n','containers':[{'resources':{'requests':{'cpu':'1','memory'"
		 ":'1'}}}]}",
		 NEAP_MOVED_POD_PLACED | NEAP_MOVED_OTHER | NEAP_MOVED_ROOM},
		{"{'nodeName':'n','containers':[{'resources':{'requests':{'cpu':'1'}}}]}",
		 NEAP_MOVED_POD_PLACED | NEAP_MOVED_OTHER | NEAP_MOVED_ROOM},
	};
	struct neap_cluster *cluster = cluster_new();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		unsigned moved = cluster_set_pod(cluster, "p", "", rows[i].spec, "{}");

		if (moved != rows[i].moved)
			fail_msg("row %zu: %u", i, moved);
	}
	neap_cluster_free(cluster);
}

/* Each allocation fails in turn: what was told before stays true. */
static void test_short_memory(void **state)
{
	struct neap_object *node = cluster_object(
		"c", "", "'labels':{'a':'b'}",
		"{'taints':[{'key':'k','value':'v','effect':'NoExecute'}]}",
		"{'allocatable':{'cpu':'4','x/y':'2'},'images':[{'names':['i:1','i@x'],"
		"'sizeBytes':9}]}");
	struct neap_object *pod =
		cluster_object("new", "default", "'labels':{'a':'b'}",
			       "{'nodeName':'d','containers':[{'resources':{'requests':{"
			       "'cpu':'1','x/y':'1'}}}]}",
			       "{}");
	bool has_failed = true;

	(void)state;
	for (uint64_t n = 1; has_failed; n++) {
		struct neap_cluster *cluster = cluster_new();
		uint64_t before = neap_mem_failures();
		struct neap_error err;
		unsigned moved;

		(void)cluster_set_node(cluster, "a", "", "{}", "'cpu':'4'");
		(void)cluster_set_pod(cluster, "p", "", POD("1"), "{}");
		(void)cluster_set_pod(cluster, "q", "", POD("2"), "{}");
		neap_mem_fail_at(n);
		(void)neap_cluster_assume(
			cluster, neap_cluster_find_pod(cluster, "default", "p"), 0, &err);
		(void)neap_cluster_nominate(
			cluster, neap_cluster_find_pod(cluster, "default", "q"), "a");
		(void)neap_cluster_set_node(cluster, node, &moved, &err);
		(void)neap_cluster_set_pod(cluster, pod, &moved, &err);
		neap_mem_fail_at(0);
		has_failed = neap_mem_failures() != before;
		(void)neap_cluster_settle(cluster);
		neap_cluster_forget(cluster,
				    neap_cluster_find_pod(cluster, "default", "p"));
		assert_int_equal(used_cpu(cluster, "a"), 0);
		neap_cluster_remove_pod(cluster, "default", "new", &moved);
		neap_cluster_remove_node(cluster, "c");
		neap_cluster_free(cluster);
	}
	(void)neap_object_unref(node);
	(void)neap_object_unref(pod);
}

/* Anybody may make pods: they tell of no names, and what they ask for counts from the
 * first node on that has it. */
static void test_names_of_pods(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	const struct neap_resources *names = neap_cluster_resources(cluster);
	const struct neap_columns *columns;
	uint32_t known = neap_resources_count(names), gpu;
	const struct neap_pod *pod;
	char name[32], spec[256];

	(void)state;
	for (int i = 0; i < NEAP_RESOURCES_MAX + 1; i++) {
		(void)snprintf(name, sizeof(name), "p%d", i);
		(void)snprintf(spec, sizeof(spec),
			       "{'nodeName':'a','containers':[{'resources':{'requests':{"
			       "'x/r%d':'1','x/gpu':'2','cpu':'1m'}}}]}",
			       i);
		(void)cluster_set_pod(cluster, name, "", spec, "{}");
	}
	pod = neap_cluster_find_pod(cluster, "default", "p7");
	assert_null(pod->trouble);
	assert_int_equal(pod->unknown_count, 2);
	assert_int_equal(neap_resources_count(names), known);

	(void)cluster_set_node(cluster, "a", "", "{}",
			       "'x/gpu':'5000','memory':'1Gi','pods':'2000'");
	assert_null(neap_cluster_find_node(cluster, "a")->trouble);
	columns = neap_cluster_settle(cluster);
	gpu = neap_resources_find(names, "x/gpu");
	assert_int_equal(columns->allocatable[gpu][0], 5000);
	assert_int_equal(columns->used[gpu][0], 2 * (NEAP_RESOURCES_MAX + 1));
	assert_int_equal(columns->allocatable[NEAP_RESOURCE_PODS][0], 2000);
	assert_int_equal(pod->unknown_count, 1);
	assert_string_equal(pod->unknown[0].name, "x/r7");
	assert_int_equal(neap_pod_request(pod, gpu), 2);
	neap_cluster_free(cluster);
}

/* A name that finds no room is left out, and nothing else. */
static void test_names_are_full(void **state)
{
	struct neap_cluster *cluster = cluster_new();
	struct neap_resources *names = neap_cluster_resources(cluster);
	const struct neap_columns *columns;
	char name[32];
	uint32_t number;

	(void)state;
	while (neap_resources_count(names) < NEAP_RESOURCES_MAX) {
		(void)snprintf(name, sizeof(name), "x/r%u", neap_resources_count(names));
		assert_int_equal(neap_resources_add(names, name, &number, NULL), 0);
	}
	(void)cluster_set_node(cluster, "a", "", "{}",
			       "'cpu':'4','x/new':'1','memory':'1Gi','pods':'9'");
	columns = neap_cluster_settle(cluster);
	assert_int_equal(columns->allocatable[NEAP_RESOURCE_CPU][0], 4000);
	assert_int_equal(columns->allocatable[NEAP_RESOURCE_MEMORY][0], 1 << 30);
	assert_int_equal(columns->allocatable[NEAP_RESOURCE_PODS][0], 9);
	assert_string_equal(
		neap_cluster_find_node(cluster, "a")->trouble,
		"status.allocatable.x/new: more than 1024 names of resources");
	neap_cluster_free(cluster);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_of_pods),
		cmocka_unit_test(test_names_are_full),
		cmocka_unit_test(test_recount),
		cmocka_unit_test(test_assumed),
		cmocka_unit_test(test_what_moved),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_what_a_pod_moved),
		cmocka_unit_test(test_short_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
