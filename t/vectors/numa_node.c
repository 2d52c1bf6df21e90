/* SPDX-License-Identifier: Apache-2.0
 *
 * Area node-allocate, and of numa-hints what a node says. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "t/vectors/cpu_case.h"
#include "t/vectors/numa_rig.h"
#include "t/vectors/vectors.h"

static int64_t number(const json_t *given, const char *key)
{
	return json_integer_value(json_object_get(given, key));
}

/* Zones with so many milli of CPU each. */
static int cpu_zones(struct numa_rig *rig, const json_t *list, struct neap_error *err)
{
	const json_t *milli;
	size_t i;

	if (!json_is_array(list) || json_array_size(list) > NEAP_ARRAY_LEN(rig->zones))
		return vector_bad(err, "NUMA nodes have another form");
	json_array_foreach (list, i, milli) {
		rig->zones[i].node = (int)i;
		(void)neap_amounts_set(&rig->zones[i].total, NEAP_RESOURCE_CPU,
				       json_integer_value(milli));
	}
	rig->spec.zone_count = json_array_size(list);
	return 0;
}

static void set_ratio(struct numa_rig *rig, const json_t *given)
{
	const json_t *ratio = json_object_get(given, "cpu_amplification_ratio");

	rig->ratio =
		(struct neap_numa_ratio){NEAP_RESOURCE_CPU, json_number_value(ratio)};
	rig->spec.ratios = &rig->ratio;
	rig->spec.ratio_count = 1;
}

static uint64_t nodes_of(const json_t *list)
{
	uint64_t nodes = 0;
	const json_t *node;
	size_t i;

	json_array_foreach (list, i, node)
		nodes |= UINT64_C(1) << (json_integer_value(node) % NEAP_NUMA_NODES_MAX);
	return nodes;
}

static int open_room(struct numa_rig *rig, struct neap_error *err)
{
	rig->ask.request_count = rig->requests.count;
	return neap_numa_room_open(&rig->room, rig->node, NULL, 0, err);
}

/* CPUs and milli of CPU by zone that others have. */
static int hold_others(struct numa_rig *rig, const json_t *given, struct neap_error *err)
{
	const json_t *list = json_object_get(given, "allocated_numa_cpu_milli"), *milli;
	int64_t cells[NEAP_NUMA_CELLS_MAX] = {0};
	size_t i;

	json_array_foreach (list, i, milli)
		cells[i * (size_t)rig->node->resource_count] = json_integer_value(milli);
	return numa_rig_hold(rig, "others", vector_text(given, "allocated_cpus"), cells,
			     err);
}

static int set_allocate(struct numa_rig *rig, json_t *given, struct neap_error *err)
{
	struct neap_numa_ask *ask = &rig->ask;
	const char *strategy = vector_text(given, "numa_strategy");
	const json_t *zones = json_object_get(given, "numa_node_cpu_milli");
	int rc = numa_rig_topology(rig, given, (int)json_array_size(zones), err);

	if (rc == 0)
		rc = cpu_zones(rig, zones, err);
	set_ratio(rig, given);
	if (rc == 0)
		rc = numa_rig_node(rig, err);
	if (rc == 0)
		rc = hold_others(rig, given, err);
	if (rc == 0 && json_object_get(given, "extra_requests"))
		rc = numa_rig_amounts(rig, json_object_get(given, "extra_requests"),
				      &rig->requests, err);
	(void)neap_amounts_set(&rig->requests, NEAP_RESOURCE_CPU,
			       number(given, "request_cpu_milli"));
	ask->is_binding = json_is_true(json_object_get(given, "request_cpu_bind"));
	ask->is_required = json_is_true(json_object_get(given, "required_bind_policy"));
	ask->bind = numa_rig_bind(vector_text(given, "bind_policy"));
	ask->cpus = (int)number(given, "need");
	ask->is_most_allocated = strategy && strcmp(strategy, "MostAllocated") == 0;
	return rc < 0 ? rc : open_room(rig, err);
}

/* Runs one case in a rig. */
static int run(json_t *given, json_t **ret, struct neap_error *err,
	       int (*set)(struct numa_rig *, json_t *, struct neap_error *),
	       int (*answer)(struct numa_rig *, json_t *, json_t **, struct neap_error *))
{
	struct numa_rig *rig = calloc(1, sizeof(*rig));
	int rc = rig ? numa_rig_init(rig, err) : neap_error_nomem(err);

	if (rc == 0)
		rc = set(rig, given, err);
	if (rc == 0)
		rc = answer(rig, given, ret, err);
	if (rig)
		numa_rig_done(rig);
	free(rig);
	return rc < 0 ? vector_bad(err, "%s", err->msg) : 0;
}

static int tell_allocate(struct numa_rig *rig, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	struct neap_error why;
	uint64_t nodes = nodes_of(json_object_get(given, "affinity"));
	int rc;

	if (!rig->is_told && rig->ask.is_binding)
		return numa_rig_answer(rig, NUMA_RIG_UNTOLD, ret, err);
	rc = neap_numa_take(&rig->room, &rig->ask, nodes, &rig->grant, &why);
	if (rc == 0 && rig->grant.cpu_count != (rig->ask.is_binding ? rig->ask.cpus : 0))
		return vector_bad(err, "not as many CPUs as are needed");
	return numa_rig_answer(rig, rc < 0 ? why.msg : NULL, ret, err);
}

static int allocate(struct vector_context *context, json_t *given, json_t **ret,
		    struct neap_error *err)
{
	(void)context;
	return run(given, ret, err, set_allocate, tell_allocate);
}

/* --- available --- */

static int set_available(struct numa_rig *rig, json_t *given, struct neap_error *err)
{
	int rc = numa_rig_topology(rig, given, 1, err);
	const json_t *operation;
	size_t i;

	rig->spec.max_refs = (int)number(given, "max_ref_count");
	if (rc == 0)
		rc = numa_rig_node(rig, err);
	json_array_foreach (json_object_get(given, "operations"), i, operation) {
		const char *what = json_string_value(json_array_get(operation, 0));
		const char *uid = json_string_value(json_array_get(operation, 1));

		if (rc < 0)
			break;
		if (what && uid && strcmp(what, "add") == 0)
			rc = numa_rig_hold(
				rig, uid, json_string_value(json_array_get(operation, 2)),
				NULL, err);
		else if (what && uid && strcmp(what, "release") == 0)
			neap_numa_node_release(rig->node, uid);
		else
			rc = vector_bad(err, "an operation has another form");
	}
	return rc;
}

static int tell_available(struct numa_rig *rig, json_t *given, json_t **ret,
			  struct neap_error *err)
{
	const json_t *list = json_object_get(given, "returned_cpus"), *text;
	uint64_t slots[4][NEAP_CPU_WORDS_MAX];
	struct neap_numa_held back[4] = {{0}};
	char free_text[NEAP_CPUSET_TEXT];
	struct neap_cpuset set;
	int rc = 0;
	size_t i;

	if (json_array_size(list) > NEAP_ARRAY_LEN(back))
		return vector_bad(err, "too much is handed back");
	json_array_foreach (list, i, text) {
		back[i].cpus = slots[i];
		if (rc == 0)
			rc = numa_rig_slots(rig, json_string_value(text), slots[i], err);
	}
	if (rc == 0)
		rc = neap_numa_room_open(&rig->room, rig->node, back, i, err);
	if (rc < 0)
		return rc;
	neap_cpu_layout_from_slots(rig->node->layout, rig->room.cpus, &set);
	if (!rig->is_told)
		neap_cpuset_clear(&set);
	(void)neap_cpuset_format(&set, free_text, sizeof(free_text));
	return vector_answer_new(json_pack("{s:s}", "want_available", free_text), ret,
				 err);
}

static int available(struct vector_context *context, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	(void)context;
	return run(given, ret, err, set_available, tell_available);
}

/* --- numa-available --- */

/* The machine is not told: two NUMA nodes of so many CPUs as they have. */
static int set_numa(struct numa_rig *rig, json_t *given, struct neap_error *err)
{
	const json_t *list = json_object_get(given, "numa_total"), *total;
	json_t *machine =
		json_pack("{s:i, s:i, s:i, s:i, s:s}", "sockets", 1, "nodes_per_socket",
			  (int)json_array_size(list), "cores_per_node", 12,
			  "threads_per_core", 2, "numbering", "adjacent");
	int64_t cells[NEAP_NUMA_CELLS_MAX] = {0};
	char cpus[32] = "", key[16];
	int rc = cpu_case_topology(machine, &rig->topology, err);
	int bound = (int)number(given, "allocated_cpuset_count_node0");
	size_t i;

	json_decref(machine);
	json_array_foreach (list, i, total) {
		json_t *map =
			json_pack("{s:O}", "memory", json_object_get(total, "memory"));

		rig->zones[i].node = (int)i;
		(void)neap_amounts_set(&rig->zones[i].total, NEAP_RESOURCE_CPU,
				       number(total, "cpu_milli"));
		if (rc == 0)
			rc = numa_rig_amounts(rig, map, &rig->zones[i].total, err);
		json_decref(map);
	}
	rig->spec.zone_count = i;
	rig->spec.is_amplified = true;
	set_ratio(rig, given);
	if (rc == 0)
		rc = numa_rig_node(rig, err);
	for (i = 0; rc == 0 && i < rig->spec.zone_count; i++) {
		(void)snprintf(key, sizeof(key), "%zu", i);
		cells[i * (size_t)rig->node->resource_count] =
			number(json_object_get(given, "allocated_cpu_milli"), key);
	}
	if (bound > 0)
		(void)snprintf(cpus, sizeof(cpus), "0-%d", bound - 1);
	if (rc == 0)
		rc = numa_rig_hold(rig, "others", cpus, cells, err);
	return rc < 0 ? rc : open_room(rig, err);
}

static int tell_numa(struct numa_rig *rig, json_t *given, json_t **ret,
		     struct neap_error *err)
{
	json_t *free_list = json_array(), *counted = json_object();
	const struct neap_numa_node *node = rig->node;
	char bytes[32], key[16];

	(void)given;
	for (int zone = 0; zone < node->zone_count; zone++) {
		const int64_t *cells = rig->room.cells + zone * node->resource_count;
		int64_t used = neap_numa_counted(node, node->use, zone, 0,
						 node->used[zone * node->resource_count]);

		(void)json_array_append_new(
			free_list, json_pack("{s:I, s:s}", "cpu_milli",
					     (json_int_t)cells[0], "memory",
					     neap_quantity_format_bytes(cells[1], bytes,
									sizeof(bytes))));
		(void)snprintf(key, sizeof(key), "%d", node->zone_node[zone]);
		if (used > 0)
			(void)json_object_set_new(counted, key, json_integer(used));
	}
	return vector_answer_new(json_pack("{s:o, s:o}", "want_available", free_list,
					   "want_allocated_cpu_milli", counted),
				 ret, err);
}

static int numa_available(struct vector_context *context, json_t *given, json_t **ret,
			  struct neap_error *err)
{
	(void)context;
	return run(given, ret, err, set_numa, tell_numa);
}

/* --- generate --- */

static int set_generate(struct numa_rig *rig, json_t *given, struct neap_error *err)
{
	const char *bind = vector_text(given, "required_bind_policy");
	const json_t *list = json_object_get(given, "allocated_numa"), *map;
	int64_t cells[NEAP_NUMA_CELLS_MAX] = {0};
	int rc = numa_rig_topology(rig, given, (int)json_array_size(list), err);
	size_t i, count = rc == 0 ? (size_t)rig->topology->node_count : 0;

	/* The list is empty where nothing is allocated. */
	if (rc == 0 &&
	    (count > NEAP_ARRAY_LEN(rig->zones) || json_array_size(list) > count))
		rc = vector_bad(err, "NUMA nodes have another form");
	for (i = 0; rc == 0 && i < count; i++) {
		rig->zones[i].node = (int)i;
		rc = numa_rig_amounts(rig, json_object_get(given, "numa_total"),
				      &rig->zones[i].total, err);
	}
	rig->spec.zone_count = count;
	set_ratio(rig, given);
	if (rc == 0)
		rc = numa_rig_node(rig, err);
	json_array_foreach (list, i, map) {
		struct neap_amounts amounts = {0};

		if (rc == 0)
			rc = numa_rig_amounts(rig, map, &amounts, err);
		for (size_t k = 0; rc == 0 && k < amounts.count; k++) {
			int at = neap_numa_node_resource(rig->node,
							 amounts.of[k].resource);

			if (at >= 0)
				cells[(int)i * rig->node->resource_count + at] =
					amounts.of[k].amount;
		}
	}
	if (rc == 0)
		rc = numa_rig_hold(rig, "others", vector_text(given, "allocated_cpus"),
				   cells, err);
	if (rc == 0)
		rc = numa_rig_amounts(rig, json_object_get(given, "requests"),
				      &rig->requests, err);
	rig->ask.bind = numa_rig_bind(bind);
	rig->ask.is_binding = rig->ask.is_required = rig->ask.bind != NEAP_BIND_DEFAULT;
	rig->ask.cpus = (int)(neap_amounts_get(&rig->requests, NEAP_RESOURCE_CPU) / 1000);
	return rc < 0 ? rc : open_room(rig, err);
}

static int tell_generate(struct numa_rig *rig, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	static const struct neap_numa_weight weights[] = {{NEAP_RESOURCE_CPU, 1},
							  {NEAP_RESOURCE_MEMORY, 1}};
	const struct neap_numa_scoring scoring = {false, weights, 2};
	const char *policy = vector_text(given, "policy");
	struct neap_numa_hint_set set;
	int rc = neap_numa_hints_make(&rig->room, &rig->ask,
				      neap_numa_policy_parse(policy ? policy : ""),
				      &scoring, NULL, &set, err);
	json_t *answer = json_object();

	for (size_t i = 0; rc == 0 && i < set.count; i++) {
		json_t *list = json_array();

		for (size_t k = 0; k < set.lists[i].count; k++) {
			const struct neap_numa_hint *hint = &set.lists[i].hints[k];
			json_t *nodes = json_array();

			for (uint64_t left = hint->nodes; left != 0; left &= left - 1)
				(void)json_array_append_new(
					nodes, json_integer(__builtin_ctzll(left)));
			(void)json_array_append_new(list, json_pack("{s:o, s:b}", "nodes",
								    nodes, "preferred",
								    hint->is_preferred));
		}
		(void)json_object_set_new(answer, set.lists[i].resource, list);
	}
	neap_numa_hints_done(&set);
	if (rc == 0)
		return vector_answer_new(answer, ret, err);
	json_decref(answer);
	return rc;
}

static int generate(struct vector_context *context, json_t *given, json_t **ret,
		    struct neap_error *err)
{
	(void)context;
	return run(given, ret, err, set_generate, tell_generate);
}

#define MACHINE                                                                          \
	"topology", "topology.sockets", "topology.nodes_per_socket",                     \
		"topology.cores_per_node", "topology.threads_per_core",                  \
		"topology.numbering"

static const char *const allocate_keys[] = {MACHINE,
					    "numa_node_cpu_milli",
					    "numa_strategy",
					    "need",
					    "affinity",
					    "request_cpu_bind",
					    "required_bind_policy",
					    "bind_policy",
					    "request_cpu_milli",
					    "amplified_request_cpu_milli",
					    "allocated_cpus",
					    "allocated_numa_cpu_milli",
					    "cpu_amplification_ratio",
					    "extra_requests",
					    "extra_requests.*",
					    NULL};
static const char *const available_keys[] = {MACHINE, "operations", "max_ref_count",
					     "returned_cpus", NULL};
static const char *const numa_keys[] = {"numa_total",
					"numa_total[].cpu_milli",
					"numa_total[].memory",
					"allocated_cpu_milli",
					"allocated_cpu_milli.*",
					"allocated_cpuset_count_node0",
					"cpu_amplification_ratio",
					NULL};
static const char *const generate_keys[] = {MACHINE,
					    "numa_total",
					    "numa_total.*",
					    "policy",
					    "requests",
					    "requests.*",
					    "required_bind_policy",
					    "allocated_cpus",
					    "allocated_numa",
					    "allocated_numa[].*",
					    "cpu_amplification_ratio",
					    NULL};
static const char *const cpu_fields[] = {"want_cpus", "want_available", NULL};

/* "any" stands for whatever text. */
static void settle_error(json_t *given, json_t *answer)
{
	(void)given;
	if (json_is_string(json_object_get(answer, "want_error")))
		(void)json_object_set_new(answer, "want_error", json_string("any"));
}

const struct vector_row vector_numa_node_rows[] = {
	{"node-allocate", "allocate", allocate_keys, allocate, cpu_fields,
	 .settle = settle_error},
	{"node-allocate", "available", available_keys, available, cpu_fields},
	{"node-allocate", "numa-available", numa_keys, numa_available},
	{"numa-hints", "generate", generate_keys, generate},
	{0},
};
