/* SPDX-License-Identifier: Apache-2.0
 *
 * Area node-reservation, and of node-allocate what a pod gets in the end. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/numa/cpu_policy.h"
#include "engine/numa/node_reserve.h"
#include "engine/numa/numa_object.h"
#include "t/vectors/cpu_case.h"
#include "t/vectors/numa_rig.h"
#include "t/vectors/vectors.h"

static int64_t number(const json_t *given, const char *key)
{
	return json_integer_value(json_object_get(given, key));
}

static json_t *amounts_json(const struct neap_amounts *amounts,
			    const struct neap_resources *resources)
{
	json_t *map = json_object();
	char text[64];

	for (size_t i = 0; i < amounts->count; i++) {
		uint32_t name = amounts->of[i].resource;

		if (name == NEAP_RESOURCE_CPU)
			(void)neap_quantity_format_milli(amounts->of[i].amount, text,
							 sizeof(text));
		else
			(void)neap_quantity_format_bytes(amounts->of[i].amount, text,
							 sizeof(text));
		(void)json_object_set_new(map, neap_resources_name(resources, name),
					  json_string(text));
	}
	return map;
}

static int read_reserve(json_t *given, struct neap_resources *resources,
			struct neap_node_reserve *ret, struct neap_error *err)
{
	if (!resources)
		return neap_error_nomem(err);
	return neap_node_reserve_read(json_object_get(given, "annotation"), resources,
				      ret, err);
}

static int reserved_cpus(struct vector_context *context, json_t *given, json_t **ret,
			 struct neap_error *err)
{
	struct neap_resources *resources = neap_resources_new();
	struct neap_node_reserve reserve;
	int rc = read_reserve(given, resources, &reserve, err);

	(void)context;
	if (rc == 0)
		rc = vector_answer_new(json_pack("{s:s, s:i}", "want_cpus",
						 reserve.cpu_text, "want_count",
						 reserve.cores),
				       ret, err);
	neap_resources_free(resources);
	return rc;
}

static int reserved_resources(struct vector_context *context, json_t *given, json_t **ret,
			      struct neap_error *err)
{
	struct neap_resources *resources = neap_resources_new();
	struct neap_node_reserve reserve;
	int rc = read_reserve(given, resources, &reserve, err);

	(void)context;
	if (rc == 0)
		rc = vector_answer_new(
			json_is_null(json_object_get(given, "annotation"))
				? json_null()
				: amounts_json(&reserve.amounts, resources),
			ret, err);
	neap_resources_free(resources);
	return rc;
}

static int trim(struct vector_context *context, json_t *given, json_t **ret,
		struct neap_error *err)
{
	struct neap_resources *resources = neap_resources_new();
	struct neap_amounts allocatable = {0};
	struct neap_node_reserve reserve;
	int rc = read_reserve(given, resources, &reserve, err);
	bool is_trimmed;

	(void)context;
	if (rc == 0)
		rc = neap_amounts_read(&allocatable,
				       json_object_get(given, "allocatable"), resources,
				       err);
	if (rc == 0) {
		is_trimmed = neap_node_reserve_trim(&reserve, resources, &allocatable);
		rc = vector_answer_new(json_pack("{s:o, s:b}", "want",
						 amounts_json(&allocatable, resources),
						 "want_trimmed", is_trimmed),
				       ret, err);
	}
	neap_resources_free(resources);
	return rc;
}

/* --- what an object tells of a node --- */

static void annotate(json_t *object, const char *key, json_t *value)
{
	neap_auto_free char *text = json_dumps(value, JSON_ENCODE_ANY);

	(void)json_object_set_new(
		json_object_get(json_object_get(object, "metadata"), "annotations"), key,
		json_string(text ? text : ""));
	json_decref(value);
}

static json_t *object_of(const json_t *given, const struct neap_topology *topology)
{
	json_t *object =
		json_pack("{s:{s:{}}, s:[]}", "metadata", "annotations", "zones");
	json_t *detail = json_array(), *count;
	char name[32], cpus[32];
	size_t i;

	for (int k = 0; topology && k < topology->cpu_count; k++) {
		const struct neap_cpu *cpu = &topology->cpus[k];

		(void)json_array_append_new(
			detail, json_pack("{s:i, s:i, s:i, s:i}", "id", cpu->os_cpu,
					  "core", topology->cores[cpu->core].os_core,
					  "socket", cpu->socket, "node", cpu->node));
	}
	annotate(object, "node.koordinator.sh/cpu-topology",
		 json_pack("{s:o}", "detail", detail));
	annotate(object, "kubelet.koordinator.sh/cpu-manager-policy",
		 json_pack("{s:s, s:O}", "policy", "static", "reservedCPUs",
			   json_object_get(given, "kubelet_reserved")));
	annotate(object, "node.koordinator.sh/pod-cpu-allocs",
		 json_incref(json_object_get(given, "kubelet_pod_allocs")));
	annotate(object, "node.koordinator.sh/system-qos-resource",
		 json_incref(json_object_get(given, "system_qos")));
	annotate(object, NEAP_KEY_NODE_RESERVATION,
		 json_incref(json_object_get(given, "node_reservation")));
	json_array_foreach (json_object_get(given, "zones_cpu"), i, count) {
		(void)snprintf(name, sizeof(name), "node-%zu", i);
		(void)snprintf(cpus, sizeof(cpus), "%d", (int)json_integer_value(count));
		(void)json_array_append_new(json_object_get(object, "zones"),
					    json_pack("{s:s, s:s, s:[{s:s, s:s}]}",
						      "name", name, "type", "Node",
						      "resources", "name", "cpu",
						      "allocatable", cpus));
	}
	return object;
}

static int topology_options(struct vector_context *context, json_t *given, json_t **ret,
			    struct neap_error *err)
{
	struct neap_resources *resources = neap_resources_new();
	struct neap_topology *topology = NULL;
	struct neap_numa_facts facts = {0};
	char text[NEAP_CPUSET_TEXT], name[16];
	json_t *object = NULL, *cells;
	int rc = cpu_case_topology(json_object_get(given, "topology"), &topology, err);

	(void)context;
	if (rc == 0) {
		object = object_of(given, topology);
		rc = neap_numa_facts_read(object, resources, &facts, err);
	}
	if (rc == 0) {
		cells = json_object();
		for (size_t i = 0; i < facts.zone_count; i++) {
			(void)snprintf(name, sizeof(name), "%d", facts.zones[i].node);
			(void)json_object_set_new(
				cells, name,
				json_integer(neap_amounts_get(&facts.zones[i].total,
							      NEAP_RESOURCE_CPU)));
		}
		(void)neap_cpuset_format(&facts.reserved, text, sizeof(text));
		rc = vector_answer_new(json_pack("{s:s, s:o}", "want_reserved", text,
						 "want_numa_cpu_milli", cells),
				       ret, err);
	}
	neap_numa_facts_done(&facts);
	(void)neap_topology_unref(topology);
	json_decref(object);
	neap_resources_free(resources);
	return rc;
}

/* --- what a pod gets --- */

static int make_node(struct numa_rig *rig, json_t *given, struct neap_error *err)
{
	int rc = numa_rig_topology(rig, given, 1, err);

	for (int i = 0; rc == 0 && i < rig->topology->node_count && i < 8; i++) {
		rig->zones[i].node = i;
		(void)neap_amounts_set(&rig->zones[i].total, NEAP_RESOURCE_CPU,
				       neap_cpuset_count(&rig->topology->nodes[i].cpus) *
					       INT64_C(1000));
		rig->spec.zone_count++;
	}
	if (rc == 0)
		rc = numa_rig_node(rig, err);
	if (rc == 0)
		rc = numa_rig_hold(rig, "others", vector_text(given, "allocated_cpus"),
				   NULL, err);
	return rc < 0 ? rc : neap_numa_room_open(&rig->room, rig->node, NULL, 0, err);
}

static int take(struct numa_rig *rig, const json_t *given, uint64_t nodes,
		struct neap_error *why, struct neap_error *err)
{
	const json_t *reservation = json_object_get(given, "reservation"), *amount;
	json_t *cells_json = json_object_get(reservation, "remaining_numa_cpu_milli");
	const char *policy = vector_text(reservation, "allocate_policy"), *zone;
	uint64_t slots[NEAP_CPU_WORDS_MAX];
	int64_t cells[NEAP_NUMA_CELLS_MAX] = {0};
	struct neap_numa_kept kept = {.cpus = slots};
	int rc;

	if (!json_is_object(reservation))
		return neap_numa_take(&rig->room, &rig->ask, nodes, &rig->grant, why);
	rc = numa_rig_slots(rig, vector_text(reservation, "remaining_cpus"), slots, err);
	if (rc < 0)
		return rc;
	json_object_foreach (cells_json, zone, amount) {
		cells[strtoul(zone, NULL, 10) % NEAP_NUMA_NODES_MAX] =
			json_integer_value(amount);
		kept.cells = cells;
	}
	kept.is_restricted = policy && strcmp(policy, "Restricted") == 0;
	rc = neap_numa_take_kept(&rig->room, &rig->ask, nodes, &kept, &rig->grant, why);
	if (rc == -NEAP_ENOFIT &&
	    !json_is_true(json_object_get(given, "reservation_required")))
		rc = neap_numa_take(&rig->room, &rig->ask, nodes, &rig->grant, why);
	return rc;
}

static int reserve_in(struct numa_rig *rig, json_t *given, json_t **ret,
		      struct neap_error *err)
{
	const json_t *labels = json_object_get(given, "node_labels"), *node;
	const char *strategy = vector_text(labels, NEAP_KEY_NODE_STRATEGY);
	struct neap_cpu_wish wish = {
		.is_binding = json_is_true(json_object_get(given, "request_cpu_bind")),
		.preferred = numa_rig_bind(vector_text(given, "preferred_bind_policy")),
		.cpu_milli = number(given, "request_cpu_milli")};
	struct neap_cpu_choice choice;
	struct neap_cpu_rule rule;
	struct neap_error why;
	uint64_t nodes = 0;
	size_t i;
	int rc = make_node(rig, given, err);

	if (rc < 0)
		return rc;
	neap_cpu_rule_make(
		vector_text(labels, NEAP_KEY_NODE_BIND), NULL,
		neap_cpu_kubelet_is_full(json_object_get(given, "kubelet_policy")),
		NEAP_NUMA_ANY, &rule);
	rc = neap_cpu_choose(&wish, &rule, NULL,
			     rig->is_told ? rig->node->layout->per_core : 0, &choice,
			     &why);
	if (rc < 0)
		return rc == -NEAP_ENOFIT ? numa_rig_answer(rig, why.msg, ret, err) : rc;
	(void)neap_amounts_set(&rig->requests, NEAP_RESOURCE_CPU, wish.cpu_milli);
	rig->ask.request_count = rig->requests.count;
	rig->ask.is_binding = choice.is_binding;
	rig->ask.is_required = choice.is_required;
	rig->ask.bind = choice.bind;
	rig->ask.cpus = choice.cpus;
	rig->ask.is_most_allocated = strategy && strcmp(strategy, "MostAllocated") == 0;
	json_array_foreach (json_object_get(given, "affinity"), i, node)
		nodes |= UINT64_C(1) << (json_integer_value(node) % NEAP_NUMA_NODES_MAX);
	rc = take(rig, given, nodes, &why, err);
	if (rc < 0 && rc != -NEAP_ENOFIT)
		return vector_bad(err, "no answer");
	return numa_rig_answer(rig, rc < 0 ? why.msg : NULL, ret, err);
}

static int reserve(struct vector_context *context, json_t *given, json_t **ret,
		   struct neap_error *err)
{
	struct numa_rig *rig = calloc(1, sizeof(*rig));
	int rc = rig ? numa_rig_init(rig, err) : neap_error_nomem(err);

	(void)context;
	if (rc == 0)
		rc = reserve_in(rig, given, ret, err);
	if (rig)
		numa_rig_done(rig);
	free(rig);
	return rc < 0 ? vector_bad(err, "%s", err->msg) : 0;
}

static const char *const annotation_keys[] = {"annotation", "annotation.*",
					      "annotation.*.*", NULL};
static const char *const trim_keys[] = {"annotation",  "annotation.*",  "annotation.*.*",
					"allocatable", "allocatable.*", NULL};
static const char *const options_keys[] = {"topology",
					   "topology.*",
					   "zones_cpu",
					   "kubelet_reserved",
					   "kubelet_pod_allocs",
					   "kubelet_pod_allocs[].uid",
					   "kubelet_pod_allocs[].cpuset",
					   "kubelet_pod_allocs[].managedByKubelet",
					   "system_qos",
					   "system_qos.cpuset",
					   "node_reservation",
					   "node_reservation.reservedCPUs",
					   NULL};
static const char *const reserve_keys[] = {"topology",
					   "topology.*",
					   "need",
					   "request_cpu_bind",
					   "preferred_bind_policy",
					   "node_labels",
					   "node_labels.*",
					   "allocated_cpus",
					   "reservation",
					   "reservation.remaining_cpus",
					   "reservation.allocate_policy",
					   "reservation.remaining_numa_cpu_milli",
					   "reservation.remaining_numa_cpu_milli.*",
					   "reservation_required",
					   "reservation_ignored",
					   "kubelet_policy",
					   "kubelet_policy.policy",
					   "kubelet_policy.options",
					   "kubelet_policy.options.*",
					   "affinity",
					   "request_cpu_milli",
					   NULL};
static const char *const cpu_fields[] = {"want_reserved", NULL};

const struct vector_row vector_reserve_rows[] = {
	{"node-reservation", "reserved-cpus", annotation_keys, reserved_cpus},
	{"node-reservation", "reserved-resources", annotation_keys, reserved_resources},
	{"node-reservation", "trim-allocatable", trim_keys, trim},
	{"node-reservation", "topology-options", options_keys, topology_options,
	 cpu_fields},
	{"node-allocate", "reserve", reserve_keys, reserve},
	{0},
};
