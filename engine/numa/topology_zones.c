/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/topology_zones.h"

#include <stdio.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/object/amounts.h"

#define TYPE          "Node"
#define HUGEPAGES     "hugepages-"
#define KEY_NUMA_KEPT "node.koordinator.sh/enable-numa-reservation"
/* CPUs of a pod that says nothing of amounts. */
#define PER_CPU INT64_C(1000)

struct figures {
	int64_t capacity, allocatable, available;
};

struct zone {
	int os_node;
	const struct neap_numa *numa; /* NULL: a machine without NUMA nodes */
	struct neap_cpuset cpus;      /* that use it first */
	int64_t kept_milli, kept_bytes;
};

static bool is_named(const json_t *item, const char *name)
{
	return strcmp(neap_json_text(item, "name"), name) == 0;
}

/* --- what pods have of a zone --- */

/* NEAP_MISSING: its resource-status does not tell. */
static int64_t told_of(const struct neap_report_pod *pod, int os_node, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach (pod->zones, i, item) {
		const json_t *node = json_object_get(item, "node");
		const json_t *value =
			json_object_get(json_object_get(item, "resources"), name);
		const char *text = json_string_value(value);
		int64_t amount = 0;
		bool is_cpu = strcmp(name, "cpu") == 0;

		if (!json_is_integer(node) || json_integer_value(node) != os_node)
			continue;
		if (!text ||
		    (is_cpu ? neap_quantity_parse_milli(text, &amount, NULL)
			    : neap_quantity_parse_units(text, &amount, NULL)) < 0)
			return NEAP_MISSING;
		return amount > 0 ? amount : 0;
	}
	return NEAP_MISSING;
}

static int64_t used_by_pods(const struct neap_topology_report_from *from,
			    const struct zone *zone, const char *name)
{
	const struct neap_kubelet_facts *kubelet = from->kubelet;
	bool is_cpu = strcmp(name, "cpu") == 0;
	struct neap_cpuset some, bound = {0};
	int64_t sum = 0;

	for (size_t i = 0; i < from->pod_count; i++) {
		int64_t told = told_of(&from->pods[i], zone->os_node, name);

		neap_cpuset_and(&some, &from->pods[i].cpus, &zone->cpus);
		neap_cpuset_or(&bound, &bound, &some);
		if (told == NEAP_MISSING && is_cpu)
			told = neap_cpuset_count(&some) * PER_CPU;
		sum = told == NEAP_MISSING ? sum : neap_amount_sum(sum, told);
	}
	for (size_t i = 0; is_cpu && kubelet && i < kubelet->pod_count; i++) {
		if (!neap_topology_is_kubelets(from, &kubelet->pods[i]))
			continue;
		neap_cpuset_and(&some, &kubelet->pods[i].cpus, &zone->cpus);
		neap_cpuset_minus(&some, &some, &bound);
		sum = neap_amount_sum(sum, neap_cpuset_count(&some) * PER_CPU);
	}
	return sum;
}

/* --- one zone --- */

static const json_t *find(const json_t *list, const char *name)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		if (is_named(item, name))
			return item;
	}
	return NULL;
}

static bool is_ours(const json_t *resource)
{
	const char *name = neap_json_text(resource, "name");

	return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0 ||
	       strncmp(name, HUGEPAGES, sizeof(HUGEPAGES) - 1) == 0;
}

static void add_resource(json_t *list, const char *name, const struct figures *figures)
{
	bool is_cpu = strcmp(name, "cpu") == 0;
	const int64_t values[] = {figures->capacity, figures->allocatable,
				  figures->available};
	char text[NEAP_ARRAY_LEN(values)][32];

	for (size_t i = 0; i < NEAP_ARRAY_LEN(values); i++)
		(void)(is_cpu ? neap_quantity_format_milli(values[i], text[i],
							   sizeof(text[i]))
			      : neap_quantity_format_bytes(values[i], text[i],
							   sizeof(text[i])));
	(void)json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", "name", name,
						    "capacity", text[0], "allocatable",
						    text[1], "available", text[2]));
}

static void add_amount(const struct neap_topology_report_from *from,
		       const struct zone *zone, json_t *list, const char *name,
		       int64_t amount, int64_t kept)
{
	struct figures figures = {.capacity = amount};
	int64_t used = used_by_pods(from, zone, name);

	figures.allocatable = amount > kept ? amount - kept : 0;
	figures.available = figures.allocatable > used ? figures.allocatable - used : 0;
	add_resource(list, name, &figures);
}

static json_t *resources_json(const struct neap_topology_report_from *from,
			      const struct zone *zone, const json_t *before)
{
	int64_t memory = zone->numa ? zone->numa->memory_bytes : 0, pages = 0;
	json_t *list = json_array();
	const json_t *resource;
	size_t i;

	for (i = 0; i < from->page_count; i++)
		if (from->pages[i].os_node == zone->os_node)
			pages = neap_amount_sum(pages, from->pages[i].bytes);
	add_amount(from, zone, list, "cpu", neap_cpuset_count(&zone->cpus) * PER_CPU,
		   zone->kept_milli);
	if (memory > 0) /* else it is not known */
		add_amount(from, zone, list, "memory",
			   memory > pages ? memory - pages : 0, zone->kept_bytes);
	for (i = 0; i < from->page_count; i++)
		if (from->pages[i].os_node == zone->os_node)
			add_amount(from, zone, list, from->pages[i].name,
				   from->pages[i].bytes, 0);
	json_array_foreach (json_object_get(before, "resources"), i, resource) {
		if (!is_ours(resource))
			(void)json_array_append(list, (json_t *)(uintptr_t)resource);
	}
	return list;
}

static void add_zone(const struct neap_topology_report_from *from, struct zone *zone,
		     const json_t *before, json_t *to)
{
	const struct neap_topology *topology = from->topology;
	char name[32];
	const json_t *old;
	json_t *made;

	for (int i = 0; i < topology->cpu_count; i++) {
		int at = topology->cpus[i].node;

		if (at < 0 ? zone->numa == NULL : &topology->nodes[at] == zone->numa)
			(void)neap_cpuset_add(&zone->cpus, topology->cpus[i].os_cpu);
	}
	(void)snprintf(name, sizeof(name), "node-%d", zone->os_node);
	old = find(before, name);
	made = old ? neap_json_copy(old) : json_object();
	if (made) {
		(void)json_object_set_new(made, "name", json_string(name));
		(void)json_object_set_new(made, "type", json_string(TYPE));
		(void)json_object_set_new(made, "resources",
					  resources_json(from, zone, old));
	}
	(void)json_array_append_new(to, made);
}

/* --- all --- */

static int64_t share(int64_t amount, int count)
{
	return amount / count + (amount % count != 0);
}

/* With the label what the kubelet keeps is taken off the zones, in equal parts. */
static void keep_back(const struct neap_topology_report_from *from, struct zone *zone,
		      int count)
{
	const struct neap_kubelet_facts *kubelet = from->kubelet;
	bool has_kubelet = kubelet && kubelet->is_here;
	const char *label = neap_json_text(
		json_object_get(json_object_get(from->node, "metadata"), "labels"),
		KEY_NUMA_KEPT);

	if (strcmp(label, "true") != 0 || count == 0)
		return;
	zone->kept_milli = share(
		has_kubelet ? kubelet->reserved_milli : from->reserved_milli, count);
	zone->kept_bytes = share(
		has_kubelet ? kubelet->reserved_bytes : from->reserved_bytes, count);
}

json_t *neap_topology_zones(const struct neap_topology_report_from *from,
			    const json_t *object)
{
	const struct neap_topology *topology = from->topology;
	const json_t *before = json_object_get(object, "zones"), *zone;
	json_t *list = json_array();
	int count = 0;
	size_t i;

	for (int n = 0; n < topology->node_count; n++)
		count += topology->nodes[n].is_near;
	for (int n = 0; list && n < topology->node_count; n++) {
		struct zone ours = {.os_node = topology->nodes[n].os_node,
				    .numa = &topology->nodes[n]};

		if (!ours.numa->is_near)
			continue;
		keep_back(from, &ours, count);
		add_zone(from, &ours, before, list);
	}
	if (list && topology->node_count == 0 && topology->cpu_count > 0) {
		struct zone whole = {0};

		keep_back(from, &whole, 1);
		add_zone(from, &whole, before, list);
	}
	json_array_foreach (before, i, zone) {
		if (strcmp(neap_json_text(zone, "type"), TYPE) != 0)
			(void)json_array_append(list, (json_t *)(uintptr_t)zone);
	}
	return list;
}
