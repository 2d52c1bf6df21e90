/* SPDX-License-Identifier: Apache-2.0
 *
 * NUMA nodes and CPUs of a node: what is held comes back, what is taken is free and
 * exactly what was asked for, annotations of any form, and no memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"
#include "engine/numa/numa_object.h"

#define PODS  12
#define STEPS 3000
#define GI    (INT64_C(1) << 30)
#define ZONES 4
#define CORES 4 /* of a zone; two CPUs each */
#define CPUS  (ZONES * CORES * 2)

static uint64_t seed = 20261123;

static unsigned below(unsigned end)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(seed >> 33) % end;
}

static struct neap_topology *machine(void)
{
	struct neap_processor rows[CPUS];
	struct neap_topology *topology;

	for (int i = 0; i < CPUS; i++)
		rows[i] = (struct neap_processor){.os_cpu = i,
						  .core = i / 2,
						  .node = i / 2 / CORES,
						  .socket = i / 2 / CORES / 2};
	assert_int_equal(neap_topology_new_from_processors(rows, CPUS, &topology, NULL),
			 0);
	return topology;
}

static int make_node(struct neap_resources *resources,
		     const struct neap_topology *topology, double ratio, int max_refs,
		     struct neap_numa_node **ret)
{
	static struct neap_numa_zone zones[ZONES];
	struct neap_numa_ratio ratios[] = {{NEAP_RESOURCE_CPU, ratio}};
	struct neap_numa_spec spec = {.resources = resources,
				      .topology = topology,
				      .zones = zones,
				      .zone_count = ZONES,
				      .max_refs = max_refs,
				      .ratios = ratios,
				      .ratio_count = 1};

	for (int i = 0; i < ZONES; i++) {
		zones[i] = (struct neap_numa_zone){.node = i};
		(void)neap_amounts_set(&zones[i].total, NEAP_RESOURCE_CPU, CORES * 2000);
		(void)neap_amounts_set(&zones[i].total, NEAP_RESOURCE_MEMORY, 8 * GI);
	}
	return neap_numa_node_new(&spec, ret, NULL);
}

struct pod {
	bool is_there;
	struct neap_numa_grant grant;
};

static void check_grant(const struct neap_numa_room *room,
			const struct neap_numa_ask *ask,
			const struct neap_numa_grant *grant)
{
	const struct neap_numa_node *node = room->node;
	int count = 0;
	int64_t sums[2] = {0};

	for (int i = 0; i < node->layout->words; i++) {
		assert_int_equal(grant->cpus[i] & ~room->cpus[i], 0);
		count += __builtin_popcountll(grant->cpus[i]);
	}
	assert_int_equal(count, ask->is_binding ? ask->cpus : 0);
	for (int i = 0; i < node->zone_count * node->resource_count; i++) {
		assert_true(grant->cells[i] <= room->cells[i]);
		sums[i % node->resource_count] += grant->cells[i];
	}
	for (int zone = 0; grant->nodes != 0 && zone < node->zone_count; zone++) {
		int bound = neap_numa_node_cpus_in(node, zone, grant->cpus);

		assert_true(grant->nodes >> zone & 1 || bound == 0);
		if (ask->is_binding)
			assert_int_equal(bound * 1000,
					 grant->cells[zone * node->resource_count]);
	}
	for (size_t i = 0; grant->nodes != 0 && i < ask->request_count; i++)
		assert_int_equal(sums[i], ask->requests[i].amount);
}

/* Everything counted again from those that are there. */
static void check_node(const struct neap_numa_node *node, const struct pod *pods)
{
	for (int slot = 0; slot < node->layout->words * 64; slot++) {
		int refs = 0;

		for (int i = 0; i < PODS; i++)
			refs += pods[i].is_there &&
				pods[i].grant.cpus[slot / 64] >> (slot % 64) & 1;
		assert_int_equal(node->use->refs[slot], refs);
	}
	for (int cell = 0; cell < node->zone_count * node->resource_count; cell++) {
		int64_t sum = 0;

		for (int i = 0; i < PODS; i++)
			sum += pods[i].is_there ? pods[i].grant.cells[cell] : 0;
		assert_int_equal(node->used[cell], sum);
	}
}

static void ask_at_random(struct neap_numa_ask *ask, struct neap_amount requests[2])
{
	requests[0] = (struct neap_amount){NEAP_RESOURCE_CPU, 500 * (1 + below(12))};
	requests[1] = (struct neap_amount){NEAP_RESOURCE_MEMORY, below(6) * GI + 7};
	*ask = (struct neap_numa_ask){.requests = requests, .request_count = 2};
	ask->is_binding = below(3) > 0;
	ask->is_required = below(2);
	ask->bind = (enum neap_cpu_bind)below(3);
	ask->exclusive = (enum neap_cpu_exclusive)below(3);
	if (ask->is_binding) {
		requests[0].amount = 1000 * (1 + below(6));
		ask->cpus = (int)(requests[0].amount / 1000);
	}
}

static void test_holding_at_random(void **state)
{
	struct neap_topology *topology = machine();
	struct neap_resources *resources = neap_resources_new();
	struct pod *pods = calloc(PODS, sizeof(*pods));
	struct neap_numa_room *room = calloc(1, sizeof(*room));
	int taken = 0, refused = 0;

	(void)state;
	for (int max_refs = 1; max_refs <= 2; max_refs++) {
		struct neap_numa_node *node;

		memset(pods, 0, PODS * sizeof(*pods));
		assert_int_equal(make_node(resources, topology, 1.5, max_refs, &node), 0);
		for (int step = 0; step < STEPS; step++) {
			unsigned at = below(PODS);
			struct pod *pod = &pods[at];
			struct neap_amount requests[2];
			struct neap_numa_ask ask;
			char uid[16];

			(void)snprintf(uid, sizeof(uid), "pod-%u", at);
			if (pod->is_there) {
				neap_numa_node_release(node, uid);
				pod->is_there = false;
				assert_null(neap_numa_node_find(node, uid));
				continue;
			}
			ask_at_random(&ask, requests);
			assert_int_equal(neap_numa_room_open(room, node, NULL, 0, NULL),
					 0);
			if (neap_numa_take(room, &ask, below(1 << ZONES), &pod->grant,
					   NULL) < 0) {
				refused++;
				continue;
			}
			check_grant(room, &ask, &pod->grant);
			assert_int_equal(neap_numa_node_hold(node, uid, pod->grant.cpus,
							     pod->grant.cells,
							     ask.exclusive, NULL),
					 0);
			/* Told twice, counted once. */
			assert_int_equal(neap_numa_node_hold(node, uid, pod->grant.cpus,
							     pod->grant.cells,
							     ask.exclusive, NULL),
					 0);
			pod->is_there = true;
			taken++;
			check_node(node, pods);
		}
		neap_numa_node_free(node);
	}
	assert_true(taken > STEPS / 10 && refused > STEPS / 20);
	free(room);
	free(pods);
	neap_resources_free(resources);
	(void)neap_topology_unref(topology);
}

/* Handed back for a trial, a pod's room is there, and the node is as it was. */
static void test_handed_back(void **state)
{
	struct neap_topology *topology = machine();
	struct neap_resources *resources = neap_resources_new();
	struct neap_amount requests[] = {{NEAP_RESOURCE_CPU, 8000}};
	struct neap_numa_ask ask = {.requests = requests,
				    .request_count = 1,
				    .is_binding = true,
				    .cpus = 8,
				    .bind = NEAP_BIND_FULL_PCPUS,
				    .is_required = true};
	struct neap_numa_room *room = calloc(1, sizeof(*room));
	struct neap_numa_grant *grant = calloc(1, sizeof(*grant));
	enum neap_numa_state states[NEAP_NUMA_NODES_MAX];
	struct neap_numa_node *node;
	struct neap_error err;

	(void)state;
	assert_int_equal(make_node(resources, topology, 1, 1, &node), 0);
	assert_int_equal(neap_numa_room_open(room, node, NULL, 0, NULL), 0);
	assert_int_equal(neap_numa_take(room, &ask, 1, grant, NULL), 0);
	assert_int_equal(neap_numa_node_hold(node, "a", grant->cpus, grant->cells,
					     NEAP_EXCLUSIVE_NONE, NULL),
			 0);
	assert_int_equal(neap_numa_room_open(room, node, NULL, 0, NULL), 0);
	assert_int_equal(neap_numa_take(room, &ask, 1, grant, &err), -NEAP_ENOFIT);
	assert_string_equal(err.msg, "Insufficient NUMA cpu");
	assert_int_equal(
		neap_numa_room_open(room, node, neap_numa_node_find(node, "a"), 1, NULL),
		0);
	assert_int_equal(neap_numa_take(room, &ask, 1, grant, NULL), 0);
	assert_int_equal(grant->cpu_count, 8);
	neap_numa_room_close(room);
	neap_numa_node_states(node, states);
	assert_int_equal(states[0], NEAP_NUMA_ALONE);
	assert_int_equal(states[1], NEAP_NUMA_IDLE);
	assert_int_equal(node->use->refs[0], 1);
	neap_numa_node_free(node);
	free(room);
	free(grant);
	neap_resources_free(resources);
	(void)neap_topology_unref(topology);
}

/* What is written is read again as the same. */
static void test_status(void **state)
{
	static const char *const bad[] = {"{", "[]x", "{\"cpuset\": \"0-\"}",
					  "{\"cpuset\": 1}"};
	struct neap_topology *topology = machine();
	struct neap_resources *resources = neap_resources_new();
	struct neap_amount requests[] = {{NEAP_RESOURCE_CPU, 6000},
					 {NEAP_RESOURCE_MEMORY, 3 * GI}};
	struct neap_numa_ask ask = {
		.requests = requests, .request_count = 2, .is_binding = true, .cpus = 6};
	struct neap_numa_room *room = calloc(1, sizeof(*room));
	struct neap_numa_grant *grant = calloc(1, sizeof(*grant));
	uint64_t cpus[NEAP_CPU_WORDS_MAX];
	int64_t cells[NEAP_NUMA_CELLS_MAX];
	struct neap_numa_node *node;
	json_t *status;
	char *text;

	(void)state;
	assert_int_equal(make_node(resources, topology, 1, 1, &node), 0);
	assert_int_equal(neap_numa_room_open(room, node, NULL, 0, NULL), 0);
	assert_int_equal(neap_numa_take(room, &ask, 3, grant, NULL), 0);
	status = neap_numa_status_write(node, grant);
	text = json_dumps(status, JSON_SORT_KEYS);
	assert_string_equal(
		text,
		"{\"cpuset\": \"0,2,4,8,10,12\", \"numaNodeResources\": [{\"node\": 0, "
		"\"resources\": {\"cpu\": \"3\", \"memory\": \"1536Mi\"}}, {\"node\": 1, "
		"\"resources\": {\"cpu\": \"3\", \"memory\": \"1536Mi\"}}]}");
	assert_int_equal(neap_numa_status_read(node, text, resources, cpus, cells, NULL),
			 0);
	assert_memory_equal(cpus, grant->cpus, sizeof(*cpus));
	assert_memory_equal(cells, grant->cells, 8 * sizeof(*cells));
	assert_int_equal(neap_numa_status_read(node,
					       "{\"numaNodeResources\": [{\"node\": "
					       "77}, 5, null, {}], \"x\": 1}",
					       resources, cpus, cells, NULL),
			 0);
	/* What nothing is taken of is not told. */
	memset(grant->cells + node->resource_count, 0,
	       (size_t)node->resource_count * sizeof(*grant->cells));
	free(text);
	json_decref(status);
	status = neap_numa_status_write(node, grant);
	text = json_dumps(status, JSON_SORT_KEYS);
	assert_string_equal(text,
			    "{\"cpuset\": \"0,2,4,8,10,12\", \"numaNodeResources\": "
			    "[{\"node\": 0, \"resources\": {\"cpu\": \"3\", "
			    "\"memory\": \"1536Mi\"}}]}");
	/* Of amounts that cannot be read the others stay, and the CPUs. */
	assert_int_equal(
		neap_numa_status_read(node,
				      "{\"cpuset\":\"0,2,4,8,10,12\","
				      "\"numaNodeResources\":[{\"node\":0,\"resources\":"
				      "{\"cpu\":null,\"x/y\":\"z\","
				      "\"memory\":\"1536Mi\"}}]}",
				      resources, cpus, cells, NULL),
		0);
	assert_int_equal(neap_resources_find(resources, "x/y"), UINT32_MAX);
	assert_memory_equal(cpus, grant->cpus, sizeof(*cpus));
	assert_int_equal(cells[neap_numa_node_resource(node, NEAP_RESOURCE_CPU)], 0);
	assert_int_equal(cells[neap_numa_node_resource(node, NEAP_RESOURCE_MEMORY)],
			 1536LL << 20);
	assert_int_equal(
		neap_numa_status_read(node, "null", resources, cpus, cells, NULL), 0);
	assert_int_equal(cpus[0], 0);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(bad); i++)
		assert_int_equal(
			neap_numa_status_read(node, bad[i], resources, cpus, cells, NULL),
			-NEAP_EINVAL);
	free(text);
	json_decref(status);
	neap_numa_node_free(node);
	free(room);
	free(grant);
	neap_resources_free(resources);
	(void)neap_topology_unref(topology);
}

/* Objects of any form: an error or something that can be used, never a fault. */
static void test_objects(void **state)
{
	static const struct {
		const char *text;
		int wanted;
		size_t zones;
	} table[] = {
		{"{}", 0, 0},
		{"[]", 0, 0},
		{"{\"zones\": 5, \"metadata\": 7, \"topologyPolicies\": {}}", 0, 0},
		{"{\"zones\": [{\"name\": \"node-0\", \"type\": \"Node\"}, {\"name\": "
		 "\"node-0\", \"type\": \"Node\"}, {\"name\": \"node-64\", \"type\": "
		 "\"Node\"}, {\"name\": \"gpu-0\", \"type\": \"Node\"}, 3]}",
		 0, 2},
		{"{\"zones\": [{\"name\": \"node-1\", \"type\": \"Node\", \"resources\": "
		 "[{\"name\": \"cpu\", \"allocatable\": \"many\"}]}]}",
		 -NEAP_EINVAL, 0},
		{"{\"metadata\": {\"annotations\": {\"node.koordinator.sh/cpu-topology\": "
		 "\"{\\\"detail\\\": [{\\\"id\\\": -4}]}\"}}}",
		 -NEAP_EINVAL, 0},
		{"{\"metadata\": {\"annotations\": {\"node.koordinator.sh/cpu-topology\": "
		 "\"nonsense\", \"node.koordinator.sh/reservation\": \"[1]\"}}}",
		 0, 0},
	};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(table); i++) {
		struct neap_resources *resources = neap_resources_new();
		json_t *object = json_loads(table[i].text, 0, NULL);
		struct neap_numa_facts facts;
		int got = neap_numa_facts_read(object, resources, &facts, NULL);

		if (got != table[i].wanted ||
		    (got == 0 && facts.zone_count != table[i].zones))
			fail_msg("%s: %d, %zu zones", table[i].text, got,
				 facts.zone_count);
		neap_numa_facts_done(&facts);
		json_decref(object);
		neap_resources_free(resources);
	}
}

/* Zones and resources beside those that count, more than there is room for: those that
 * count are there. */
static void test_many(void **state)
{
	struct neap_topology *topology = machine();
	struct neap_resources *resources = neap_resources_new();
	json_t *object = json_object(), *zones = json_array(), *list = json_array();
	struct neap_numa_facts facts;
	struct neap_numa_node *node;
	struct neap_numa_spec spec;
	char name[32];

	(void)state;
	for (int i = 0; i < 100; i++) {
		(void)snprintf(name, sizeof(name), "x.y/r%d", i);
		json_array_append_new(
			list, json_pack("{s:s, s:i}", "name", name, "allocatable", i));
		json_array_append_new(
			zones, json_pack("{s:s, s:s}", "name", name, "type", "Device"));
	}
	json_array_append_new(
		list, json_pack("{s:s, s:s}", "name", "memory", "allocatable", "8Gi"));
	json_array_append_new(list,
			      json_pack("{s:s, s:i}", "name", "cpu", "allocatable", 8));
	for (int i = 63; i >= 0; i--) {
		(void)snprintf(name, sizeof(name), "node-%d", i);
		json_array_append_new(zones,
				      json_pack("{s:s, s:s, s:O}", "name", name, "type",
						"Node", "resources", list));
	}
	json_array_append_new(zones,
			      json_pack("{s:s, s:s}", "name", "node-3", "type", "Node"));
	json_object_set_new(object, "zones", zones);
	assert_int_equal(neap_numa_facts_read(object, resources, &facts, NULL), 0);
	assert_true(facts.has_left_out);
	assert_int_equal(facts.zone_count, 64);
	spec = (struct neap_numa_spec){.resources = resources,
				       .topology = topology,
				       .zones = facts.zones,
				       .zone_count = facts.zone_count};
	for (size_t i = 0; i < 60; i++)
		facts.zones[0].total.of[i].resource = (uint32_t)(500 + i);
	assert_int_equal(neap_numa_node_new(&spec, &node, NULL), 0);
	assert_true(node->has_left_out);
	assert_int_equal(node->resource_count, NEAP_NUMA_RESOURCES_MAX);
	assert_int_equal(neap_numa_node_resource(node, NEAP_RESOURCE_MEMORY), 0);
	assert_int_equal(neap_numa_node_resource(node, NEAP_RESOURCE_CPU), 1);
	assert_int_equal(node->total[1], 8000);
	neap_numa_node_free(node);
	neap_numa_facts_done(&facts);
	json_decref(list);
	json_decref(object);
	neap_resources_free(resources);
	(void)neap_topology_unref(topology);
}

static void test_trim(void **state)
{
	struct neap_resources *resources = neap_resources_new();
	json_t *annotation = json_loads("{\"resources\": {\"cpu\": \"-3\", \"memory\": "
					"\"1Ti\", \"kubernetes.io/batch-cpu\": 5}, "
					"\"reservedCPUs\": \"4-3x\"}",
					0, NULL);
	struct neap_amounts allocatable = {0};
	struct neap_node_reserve reserve;
	uint32_t batch;

	(void)state;
	assert_int_equal(
		neap_resources_add(resources, "kubernetes.io/batch-cpu", &batch, NULL),
		0);
	(void)neap_amounts_set(&allocatable, NEAP_RESOURCE_CPU, 4000);
	(void)neap_amounts_set(&allocatable, NEAP_RESOURCE_MEMORY, GI);
	(void)neap_amounts_set(&allocatable, batch, 9);
	assert_int_equal(neap_node_reserve_read(annotation, resources, &reserve, NULL),
			 0);
	assert_false(reserve.has_cpus);
	assert_true(neap_node_reserve_trim(&reserve, resources, &allocatable));
	assert_int_equal(neap_amounts_get(&allocatable, NEAP_RESOURCE_CPU), 4000);
	assert_int_equal(neap_amounts_get(&allocatable, NEAP_RESOURCE_MEMORY), 0);
	assert_int_equal(neap_amounts_get(&allocatable, batch), 9);
	json_decref(annotation);
	neap_resources_free(resources);
}

/* A member of the wrong form spoils all of it. */
static void test_reservation_of_wrong_form(void **state)
{
	static const struct {
		const char *text;
		int wanted;
		int64_t milli;
	} table[] = {
		{"{\"resources\": {\"cpu\": 2}, \"reservedCPUs\": null, "
		 "\"applyPolicy\": \"\"}",
		 0, 2000},
		/* One that no machine has counts, too. */
		{"{\"resources\": {\"cpu\": 4}, \"reservedCPUs\": \"0,9000\"}", 0, 2000},
		{"{\"resources\": {\"cpu\": 2}, \"reservedCPUs\": 1}", -NEAP_EINVAL},
		{"{\"resources\": {\"cpu\": 2}, \"applyPolicy\": true}", -NEAP_EINVAL},
		{"{\"resources\": [2], \"reservedCPUs\": \"1\"}", -NEAP_EINVAL},
		{"{\"resources\": {\"cpu\": \"two\"}, \"reservedCPUs\": \"1\"}",
		 -NEAP_EINVAL},
		{"[1]", -NEAP_EINVAL},
	};
	struct neap_resources *resources = neap_resources_new();

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(table); i++) {
		json_t *annotation = json_loads(table[i].text, 0, NULL);
		struct neap_node_reserve reserve;
		int got = neap_node_reserve_read(annotation, resources, &reserve, NULL);

		if (got != table[i].wanted)
			fail_msg("%s: %d", table[i].text, got);
		if (got == 0)
			assert_int_equal(
				neap_amounts_get(&reserve.amounts, NEAP_RESOURCE_CPU),
				table[i].milli);
		json_decref(annotation);
	}
	neap_resources_free(resources);
}

/* Every allocation fails once. */
static void test_without_memory(void **state)
{
	static const struct neap_numa_weight weights[] = {{NEAP_RESOURCE_CPU, 1}};
	static const struct neap_numa_scoring scoring = {false, weights, 1};
	struct neap_topology *topology = machine();
	struct neap_resources *resources = neap_resources_new();
	struct neap_amount requests[] = {{NEAP_RESOURCE_CPU, 4000}};
	struct neap_numa_ask ask = {
		.requests = requests, .request_count = 1, .is_binding = true, .cpus = 4};
	struct neap_numa_room *room = calloc(1, sizeof(*room));
	struct neap_numa_grant *grant = calloc(1, sizeof(*grant));
	bool is_done = false;

	(void)state;
	for (uint64_t n = 1; !is_done; n++) {
		struct neap_numa_node *node = NULL;
		uint64_t nodes;

		assert_true(n < 1000);
		neap_mem_fail_at(n);
		room->own = NULL;
		is_done = make_node(resources, topology, 1, 1, &node) == 0 &&
			  neap_numa_node_hold(node, "a", grant->cpus, grant->cells,
					      NEAP_EXCLUSIVE_NONE, NULL) == 0 &&
			  neap_numa_room_open(room, node, node->pods, 1, NULL) == 0 &&
			  neap_numa_align(room, &ask, NEAP_NUMA_RESTRICTED,
					  NEAP_NUMA_EXCLUSIVE_REQUIRED, &scoring, NULL,
					  &nodes, NULL) == 0;
		neap_mem_fail_at(0);
		if (is_done)
			assert_int_equal(nodes, 1);
		neap_numa_room_close(room);
		neap_numa_node_free(node);
	}
	free(room);
	free(grant);
	neap_resources_free(resources);
	(void)neap_topology_unref(topology);
}

/* The same as in whole numbers, just below and at each whole point, where rounding would
 * show. */
static void test_score_of_one(void **state)
{
	uint64_t dice = 5;

	(void)state;
	for (int i = 0; i < 200000; i++) {
		int64_t capacity, part;

		dice = dice * 6364136223846793005 + 1442695040888963407;
		capacity = (int64_t)(dice >> 17) >> dice % 47;
		capacity = i % 3 == 0 ? (INT64_C(1) << 46) - i / 3 : capacity + 1;
		part = (int64_t)(((__int128)capacity * (i % 101) + 99) / 100);
		for (int64_t less = 0; less <= 2 && less <= part; less++)
			assert_int_equal(
				neap_numa_score_one(true, part - less, capacity),
				(int64_t)((__int128)(part - less) * 100 / capacity));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holding_at_random),
		cmocka_unit_test(test_handed_back),
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_objects),
		cmocka_unit_test(test_many),
		cmocka_unit_test(test_trim),
		cmocka_unit_test(test_reservation_of_wrong_form),
		cmocka_unit_test(test_score_of_one),
		cmocka_unit_test(test_without_memory),
	};

	neap_json_setup();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
