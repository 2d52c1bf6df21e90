/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/numa_object.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"
#include "engine/numa/resource_status.h"

/* The JSON in an annotation: a new reference in *ret, NULL when there is none that can be
 * read. */
static int annotation(const json_t *object, const char *key, json_t **ret,
		      struct neap_error *err)
{
	const json_t *metadata = json_object_get(object, "metadata");
	const char *text = neap_json_text(json_object_get(metadata, "annotations"), key);
	json_error_t where;

	*ret = NULL;
	if (*text != '\0' &&
	    neap_json_parse(text, strlen(text), 0, ret, &where) == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	return 0;
}

static void add_cpus(struct neap_cpuset *to, const char *text)
{
	struct neap_cpuset more;

	if (neap_cpuset_parse_told(&more, text, NULL) == 0)
		neap_cpuset_or(to, to, &more);
}

/* --- CPUs --- */

static int read_processors(const json_t *list, struct neap_numa_facts *ret,
			   struct neap_error *err)
{
	size_t count = json_array_size(list), i;
	struct neap_processor *rows;
	const json_t *item;
	int failed;

	if (count == 0)
		return 0;
	if (count > NEAP_CPU_MAX)
		return neap_error_set(err, NEAP_EINVAL, "more than %d CPUs",
				      NEAP_CPU_MAX);
	rows = neap_alloc_array(count, sizeof(*rows));
	if (!rows)
		return neap_error_nomem(err);
	json_array_foreach (list, i, item) {
		static const char *const keys[] = {"id", "core", "socket", "node"};
		int value[NEAP_ARRAY_LEN(keys)];

		for (size_t k = 0; k < NEAP_ARRAY_LEN(keys); k++) {
			json_int_t number =
				json_integer_value(json_object_get(item, keys[k]));

			value[k] = number < 0 || number > INT32_MAX ? -1 : (int)number;
		}
		rows[i] = (struct neap_processor){value[0], value[1], value[2], value[3]};
	}
	failed = neap_topology_new_from_processors(rows, count, &ret->topology, err);
	free(rows);
	return failed;
}

static int read_pod_cpus(const json_t *object, struct neap_cpuset *to,
			 struct neap_error *err)
{
	json_t *list, *item;
	size_t i;
	int failed = annotation(object, "node.koordinator.sh/pod-cpu-allocs", &list, err);

	json_array_foreach (list, i, item) {
		if (json_is_true(json_object_get(item, "managedByKubelet")) &&
		    *neap_json_text(item, "uid") != '\0')
			add_cpus(to, neap_json_text(item, "cpuset"));
	}
	json_decref(list);
	return failed;
}

/* CPUs that the kubelet, the node and exclusive SYSTEM pods have. */
static int read_reserved(const json_t *object, struct neap_numa_facts *ret,
			 struct neap_error *err)
{
	json_t *kubelet = NULL, *node = NULL, *system = NULL;
	int failed = annotation(object, "kubelet.koordinator.sh/cpu-manager-policy",
				&kubelet, err);

	if (failed == 0)
		failed = annotation(object, NEAP_KEY_NODE_RESERVATION, &node, err);
	if (failed == 0)
		failed = annotation(object, "node.koordinator.sh/system-qos-resource",
				    &system, err);
	if (failed == 0)
		failed = read_pod_cpus(object, &ret->reserved, err);
	add_cpus(&ret->reserved, neap_json_text(kubelet, "reservedCPUs"));
	add_cpus(&ret->reserved, neap_json_text(node, "reservedCPUs"));
	if (!json_is_false(json_object_get(system, "cpusetExclusive")))
		add_cpus(&ret->reserved, neap_json_text(system, "cpuset"));
	ret->is_kubelet_full = neap_cpu_kubelet_is_full(kubelet);
	json_decref(kubelet);
	json_decref(node);
	json_decref(system);
	return failed;
}

/* --- zones --- */

static int zone_number(const json_t *zone)
{
	const char *name = neap_json_text(zone, "name");
	int64_t number;

	if (!neap_json_is_text(zone, "type", "Node") || strncmp(name, "node-", 5) != 0 ||
	    neap_int_parse(name + 5, &number, NULL) < 0)
		return -1;
	return number >= 0 && number < NEAP_STATUS_NODES_MAX ? (int)number : -1;
}

static int read_resource(const json_t *item, struct neap_resources *resources,
			 struct neap_numa_zone *to, struct neap_error *err)
{
	neap_auto_json json_t *one = json_object();
	json_t *value = json_object_get(item, "allocatable");
	int failed;

	if (!one ||
	    (value && json_object_set(one, neap_json_text(item, "name"), value) < 0))
		failed = neap_error_nomem(err);
	else
		failed = neap_amounts_read(&to->total, one, resources, err);
	return failed;
}

static bool is_basic(const json_t *item)
{
	const char *name = neap_json_text(item, "name");

	return strcmp(name, "cpu") == 0 || strcmp(name, "memory") == 0;
}

/* CPU and memory first: of names that are too many it is others that are left out. */
static int read_zone(const json_t *zone, struct neap_resources *resources,
		     struct neap_numa_zone *to, bool *ret_left_out,
		     struct neap_error *err)
{
	const json_t *list = json_object_get(zone, "resources");
	size_t count = json_array_size(list);

	for (size_t i = 0; i < count * 2; i++) {
		const json_t *item = json_array_get(list, i % count);
		int failed;

		if (is_basic(item) != (i < count))
			continue;
		failed = read_resource(item, resources, to, err);
		if (failed == -NEAP_ETOOLARGE) {
			*ret_left_out = true;
		} else if (failed < 0) {
			(void)neap_error_wrap(err, "%s", neap_json_text(zone, "name"));
			return failed;
		}
	}
	return 0;
}

static void take_reserved(struct neap_numa_facts *facts, struct neap_numa_zone *zone)
{
	int64_t milli = neap_amounts_get(&zone->total, NEAP_RESOURCE_CPU);
	struct neap_cpuset lost;

	for (int i = 0; facts->topology && i < facts->topology->node_count; i++) {
		if (facts->topology->nodes[i].os_node != zone->node)
			continue;
		neap_cpuset_and(&lost, &facts->topology->nodes[i].cpus, &facts->reserved);
		milli -= neap_cpuset_count(&lost) * INT64_C(1000);
	}
	for (size_t i = 0; i < zone->total.count; i++)
		if (zone->total.of[i].resource == NEAP_RESOURCE_CPU)
			zone->total.of[i].amount = milli > 0 ? milli : 0;
}

static bool has_zone(const struct neap_numa_facts *facts, int number)
{
	for (size_t i = 0; i < facts->zone_count; i++)
		if (facts->zones[i].node == number)
			return true;
	return false;
}

static int read_zones(const json_t *list, struct neap_resources *resources,
		      struct neap_numa_facts *ret, struct neap_error *err)
{
	size_t count = json_array_size(list), i;
	const json_t *zone;

	/* Each of them once at most; others may be among them. */
	if (count > NEAP_NUMA_NODES_MAX)
		count = NEAP_NUMA_NODES_MAX;
	ret->zones = neap_alloc_array(count, sizeof(*ret->zones));
	if (!ret->zones)
		return neap_error_nomem(err);
	json_array_foreach (list, i, zone) {
		int number = zone_number(zone), failed;
		struct neap_numa_zone *to;

		if (number < 0 || has_zone(ret, number))
			continue;
		if (ret->zone_count == count) {
			ret->has_more_zones = true;
			break;
		}
		to = &ret->zones[ret->zone_count];
		to->node = number;
		failed = read_zone(zone, resources, to, &ret->has_left_out, err);
		if (failed < 0)
			return failed;
		take_reserved(ret, to);
		ret->zone_count++;
	}
	return 0;
}

static enum neap_numa_policy read_policy(const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		const char *name = json_string_value(item);

		if (!name)
			continue;
		if (strcmp(name, "SingleNUMANodePodLevel") == 0)
			return NEAP_NUMA_SINGLE;
		if (strcmp(name, "BestEffort") == 0)
			return NEAP_NUMA_BEST_EFFORT;
		if (strcmp(name, "Restricted") == 0)
			return NEAP_NUMA_RESTRICTED;
	}
	return NEAP_NUMA_ANY;
}

int neap_numa_facts_read(const json_t *object, struct neap_resources *resources,
			 struct neap_numa_facts *ret, struct neap_error *err)
{
	json_t *cpus, *ratios = NULL;
	int failed;

	memset(ret, 0, sizeof(*ret));
	failed = annotation(object, "node.koordinator.sh/cpu-topology", &cpus, err);
	if (failed == 0)
		failed = read_processors(json_object_get(cpus, "detail"), ret, err);
	json_decref(cpus);
	if (failed == 0)
		failed = read_reserved(object, ret, err);
	if (failed == 0)
		failed = annotation(object,
				    "node.koordinator.sh/resource-amplification-ratio",
				    &ratios, err);
	ret->is_amplified = ratios != NULL;
	json_decref(ratios);
	ret->numa = read_policy(json_object_get(object, "topologyPolicies"));
	return failed < 0 ? failed
			  : read_zones(json_object_get(object, "zones"), resources, ret,
				       err);
}

void neap_numa_facts_done(struct neap_numa_facts *facts)
{
	facts->topology = neap_topology_unref(facts->topology);
	free(facts->zones);
	facts->zones = NULL;
	facts->zone_count = 0;
}

/* --- the allocation of a pod --- */

/* An unreadable amount counts as none, but the pod keeps its CPUs. Pods do not add
 * resource names. */
static int read_cells(const struct neap_numa_node *node, const json_t *list,
		      const struct neap_resources *resources, int64_t *ret,
		      struct neap_error *err)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		int zone = neap_numa_node_zone(
			node, json_integer_value(json_object_get(item, "node")));
		struct neap_unknown_names unknown = {0};
		struct neap_amounts amounts = {0};

		if (neap_amounts_look_up(&amounts, json_object_get(item, "resources"),
					 resources, &unknown, NULL) == -NEAP_ENOMEM)
			return neap_error_nomem(err);
		for (size_t k = 0; zone >= 0 && k < amounts.count; k++) {
			int at = neap_numa_node_resource(node, amounts.of[k].resource);

			if (at >= 0)
				ret[zone * node->resource_count + at] =
					amounts.of[k].amount;
		}
	}
	return 0;
}

int neap_numa_status_read(const struct neap_numa_node *node, const char *text,
			  const struct neap_resources *resources, uint64_t *ret_cpus,
			  int64_t *ret_cells, struct neap_error *err)
{
	size_t cells = (size_t)node->zone_count * (size_t)node->resource_count;
	struct neap_resource_status status;
	int failed = neap_resource_status_read(text, &status, err);

	memset(ret_cells, 0, cells * sizeof(*ret_cells));
	if (failed < 0) {
		(void)neap_error_infield(err, "%s", NEAP_KEY_RESOURCE_STATUS);
		return failed;
	}
	neap_cpu_layout_to_slots(node->layout, &status.cpus, ret_cpus);
	failed = read_cells(node, status.zones, resources, ret_cells, err);
	neap_resource_status_done(&status);
	return failed;
}

/* An empty object when nothing is taken there. */
static json_t *write_amounts(const struct neap_numa_node *node,
			     const struct neap_numa_grant *grant, int zone)
{
	json_t *amounts = json_object();
	char text[64];

	for (int i = 0; amounts && i < node->resource_count; i++) {
		int64_t amount = grant->cells[zone * node->resource_count + i];
		const char *name = neap_resources_name(node->names, node->resource[i]);

		if (amount <= 0 || !name)
			continue;
		if (node->resource[i] == NEAP_RESOURCE_CPU)
			(void)neap_quantity_format_milli(amount, text, sizeof(text));
		else
			(void)neap_quantity_format_bytes(amount, text, sizeof(text));
		if (json_object_set_new(amounts, name, json_string(text)) < 0) {
			json_decref(amounts);
			return NULL;
		}
	}
	return amounts;
}

static bool add_zone(json_t *zones, const struct neap_numa_node *node,
		     const struct neap_numa_grant *grant, int zone)
{
	json_t *amounts = write_amounts(node, grant, zone);
	bool is_whole = amounts;

	if (json_object_size(amounts) > 0)
		is_whole = json_array_append_new(zones,
						 json_pack("{s:i, s:O}", "node",
							   node->zone_node[zone],
							   "resources", amounts)) == 0;
	json_decref(amounts);
	return is_whole;
}

json_t *neap_numa_status_write(const struct neap_numa_node *node,
			       const struct neap_numa_grant *grant)
{
	/* A number of four digits and a comma for each CPU is more than enough for
	 * most. */
	size_t size = (size_t)grant->cpu_count * 5 + 1;
	neap_auto_free char *text = neap_alloc(size);
	json_t *status = json_object(), *zones = json_array();
	bool is_whole = text && status && zones;
	struct neap_cpuset cpus;

	if (is_whole && grant->cpu_count > 0) {
		neap_cpu_layout_from_slots(node->layout, grant->cpus, &cpus);
		(void)neap_cpuset_format(&cpus, text, size);
		is_whole = json_object_set_new(status, "cpuset", json_string(text)) == 0;
	}
	for (int zone = 0; is_whole && zone < node->zone_count; zone++)
		if (grant->nodes >> zone & 1)
			is_whole = add_zone(zones, node, grant, zone);
	if (is_whole && json_array_size(zones) > 0)
		is_whole = json_object_set(status, "numaNodeResources", zones) == 0;
	json_decref(zones);
	return neap_json_made(is_whole, status);
}
