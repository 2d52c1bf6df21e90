/* SPDX-License-Identifier: Apache-2.0
 *
 * Machines as firmware and kernels tell them: numbers of NUMA nodes far above how many
 * there are, more of them than a set has room for. What is told of one is read again, and
 * given out. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/base.h"
#include "engine/numa/numa_object.h"

/* A NodeResourceTopology of NUMA nodes of two cores with two threads, numbered first,
 * first + step ... */
static json_t *object_of(int nodes, int first, int step)
{
	json_t *zones = json_array(), *detail = json_array(), *object;
	char name[32], *text;

	for (int i = 0; i < nodes; i++) {
		(void)snprintf(name, sizeof(name), "node-%d", first + i * step);
		(void)json_array_append_new(zones, json_pack("{s:s, s:s, s:[{s:s, s:s}]}",
							     "name", name, "type", "Node",
							     "resources", "name", "cpu",
							     "allocatable", "4"));
		for (int cpu = i * 4; cpu < i * 4 + 4; cpu++)
			(void)json_array_append_new(
				detail, json_pack("{s:i, s:i, s:i, s:i}", "id", cpu,
						  "core", cpu / 2, "socket", i / 2,
						  "node", first + i * step));
	}
	object = json_pack("{s:o}", "detail", detail);
	text = json_dumps(object, JSON_COMPACT);
	json_decref(object);
	object = json_pack("{s:{s:{s:s}}, s:o}", "metadata", "annotations",
			   "node.koordinator.sh/cpu-topology", text, "zones", zones);
	free(text);
	assert_non_null(object);
	return object;
}

struct rig {
	struct neap_resources *names;
	struct neap_numa_facts facts;
	struct neap_numa_node *node;
	struct neap_numa_room room;
	struct neap_numa_grant grant;
};

static struct rig *rig_of(int nodes, int first, int step)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	json_t *object = object_of(nodes, first, step);
	struct neap_numa_spec spec = {.max_refs = 1};
	struct neap_error err = {0};

	assert_non_null(rig);
	rig->names = neap_resources_new();
	if (neap_numa_facts_read(object, rig->names, &rig->facts, &err) < 0)
		fail_msg("%s", err.msg);
	json_decref(object);
	spec.resources = rig->names;
	spec.topology = rig->facts.topology;
	spec.zones = rig->facts.zones;
	spec.zone_count = rig->facts.zone_count;
	if (neap_numa_node_new(&spec, &rig->node, &err) < 0)
		fail_msg("%s", err.msg);
	return rig;
}

static void rig_free(struct rig *rig)
{
	neap_numa_node_free(rig->node);
	neap_numa_facts_done(&rig->facts);
	neap_resources_free(rig->names);
	free(rig);
}

/* All of it on one NUMA node: the text of resource-status, "": none has the room. The pod
 * then holds it. */
static void place(struct rig *rig, const char *uid, int cpus, char *ret, size_t size)
{
	static const struct neap_numa_weight weights[] = {{NEAP_RESOURCE_CPU, 1}};
	static const struct neap_numa_scoring scoring = {true, weights, 1};
	struct neap_amount request = {NEAP_RESOURCE_CPU, cpus * INT64_C(1000)};
	struct neap_numa_ask ask = {.requests = &request,
				    .request_count = 1,
				    .is_binding = true,
				    .cpus = cpus,
				    .bind = NEAP_BIND_FULL_PCPUS};
	struct neap_error err = {0};
	uint64_t nodes = 0;
	json_t *status;
	int rc;

	*ret = '\0';
	assert_int_equal(neap_numa_room_open(&rig->room, rig->node, NULL, 0, &err), 0);
	rc = neap_numa_align(&rig->room, &ask, NEAP_NUMA_SINGLE, NEAP_NUMA_EXCLUSIVE_NONE,
			     &scoring, NULL, &nodes, &err);
	if (rc == 0)
		rc = neap_numa_take(&rig->room, &ask, nodes, &rig->grant, &err);
	neap_numa_room_close(&rig->room);
	if (rc < 0)
		return;
	status = neap_numa_status_write(rig->node, &rig->grant);
	assert_true(json_dumpb(status, ret, size - 1, JSON_COMPACT) < size);
	ret[json_dumpb(status, NULL, 0, JSON_COMPACT)] = '\0';
	json_decref(status);
	assert_int_equal(neap_numa_node_hold(rig->node, uid, rig->grant.cpus,
					     rig->grant.cells, NEAP_EXCLUSIVE_NONE, &err),
			 0);
}

static void test_numbers(void **state)
{
	static const struct {
		int first, step;
	} table[] = {{0, 1}, {0, 21}, {62, 1}, {72, 1}, {1, 500}, {1021, 1}};

	(void)state;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(table); i++) {
		struct rig *rig = rig_of(3, table[i].first, table[i].step);
		uint64_t cpus[NEAP_CPU_WORDS_MAX];
		int64_t cells[NEAP_NUMA_CELLS_MAX];
		char got[256], want[256];
		struct neap_error err;

		assert_int_equal(rig->node->zone_count, 3);
		/* Each has its own, and a fourth finds none. */
		for (int k = 0; k < 3; k++) {
			(void)snprintf(
				want, sizeof(want),
				"{\"cpuset\":\"%d-%d\",\"numaNodeResources\":[{\"node\":%d,"
				"\"resources\":{\"cpu\":\"4\"}}]}",
				k * 4, k * 4 + 3, table[i].first + k * table[i].step);
			place(rig, (const char *[]){"a", "b", "c"}[k], 4, got,
			      sizeof(got));
			assert_string_equal(got, want);
			if (neap_numa_status_read(rig->node, got, rig->names, cpus, cells,
						  &err) < 0)
				fail_msg("%s: %s", got, err.msg);
			assert_int_equal(cells[k * rig->node->resource_count], 4000);
			assert_int_equal(neap_numa_node_cpus_in(rig->node, k, cpus), 4);
		}
		place(rig, "d", 1, got, sizeof(got));
		assert_string_equal(got, "");
		rig_free(rig);
	}
}

/* Of more than there is room for the first ones count, and it is known. */
static void test_too_many(void **state)
{
	struct rig *rig = rig_of(NEAP_NUMA_NODES_MAX, 0, 1);
	struct neap_numa_zone zones[NEAP_NUMA_NODES_MAX + 1] = {{0}};
	struct neap_numa_spec spec = {.max_refs = 1, .zones = zones};
	struct neap_numa_node *node;
	struct neap_error err;

	(void)state;
	assert_false(rig->facts.has_more_zones);
	assert_int_equal(rig->node->zone_count, NEAP_NUMA_NODES_MAX);
	assert_true(rig->node->zones == UINT64_MAX);
	spec.topology = rig->facts.topology;
	spec.resources = rig->names;
	spec.zone_count = NEAP_ARRAY_LEN(zones);
	assert_int_equal(neap_numa_node_new(&spec, &node, &err), -NEAP_ETOOLARGE);
	assert_string_equal(err.msg, "65 NUMA nodes: at most 64");
	rig_free(rig);
	rig = rig_of(NEAP_NUMA_NODES_MAX + 6, 0, 2);
	assert_true(rig->facts.has_more_zones);
	assert_int_equal(rig->node->zone_count, NEAP_NUMA_NODES_MAX);
	rig_free(rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
