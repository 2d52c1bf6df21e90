/* SPDX-License-Identifier: Apache-2.0
 *
 * The CPUs of a node, from the scheduler's book and its NodeResourceTopology. */
#include <stdlib.h>
#include <string.h>

#include "api/control/look_priv.h"
#include "engine/base/mem.h"
#include "engine/cluster/cpus.h"
#include "engine/cluster/kept.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"
#include "engine/numa/numa_object.h"

#define TOPOLOGIES "noderesourcetopologies.topology.node.k8s.io"

/* A pod that has something of the node. */
struct holder {
	const struct neap_numa_held *held;
	const struct neap_pod *pod;
};

static json_t *list_of(const struct neap_cpuset *set)
{
	char text[NEAP_CPUSET_TEXT];

	(void)neap_cpuset_format(set, text, sizeof(text));
	return json_string(text);
}

static json_t *list_of_slots(const struct neap_numa_node *numa, const uint64_t *slots)
{
	struct neap_cpuset set;

	neap_cpu_layout_from_slots(numa->layout, slots, &set);
	return list_of(&set);
}

static const struct neap_numa_node *book_of(const struct neap_look_view *view,
					    const struct neap_cluster_node *node)
{
	const struct neap_cpus *cpus = neap_cluster_cpus(view->cluster, node->row);

	return cpus ? cpus->numa : NULL;
}

void look_pod_cpus(const struct neap_look_view *view, const struct neap_pod *pod,
		   char *buf, size_t size)
{
	const struct neap_numa_node *numa =
		pod->seat.node ? book_of(view, pod->seat.node) : NULL;
	const struct neap_numa_held *held;
	struct neap_cpuset set;
	char key[NEAP_POD_KEY];

	held = numa ? neap_numa_node_find(numa, neap_pod_seat_key(pod, key)) : NULL;
	*buf = '\0';
	if (!held || !held->cpus)
		return;
	neap_cpu_layout_from_slots(numa->layout, held->cpus, &set);
	(void)neap_cpuset_format(&set, buf, size);
}

/* --- pods --- */

static int by_key(const void *a, const void *b)
{
	const struct holder *x = a, *y = b;

	return strcmp(x->held->uid, y->held->uid);
}

/* The holders in a book, where pods are named "NAMESPACE/NAME" and Reservations "/NAME";
 * NULL without memory. */
static struct holder *holders_of(const struct neap_look_view *view,
				 const struct neap_numa_node *numa)
{
	struct holder *list = neap_alloc_array(numa->pod_count + 1, sizeof(*list));

	for (size_t i = 0; list && i < numa->pod_count; i++)
		list[i] = (struct holder){
			&numa->pods[i],
			neap_cluster_find_key(view->cluster, numa->pods[i].uid)};
	if (list)
		qsort(list, numa->pod_count, sizeof(*list), by_key);
	return list;
}

static json_t *numa_nodes_of(const struct neap_numa_node *numa,
			     const struct neap_numa_held *held)
{
	json_t *list = json_array();

	for (int zone = 0; list && held->cells && zone < numa->zone_count; zone++) {
		bool has_any = false;

		for (int i = 0; i < numa->resource_count; i++)
			has_any |= held->cells[zone * numa->resource_count + i] > 0;
		if (has_any && json_array_append_new(
				       list, json_integer(numa->zone_node[zone])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static json_t *pod_json(const struct neap_numa_node *numa, const struct holder *holder)
{
	static const char *const exclusives[] = {[NEAP_EXCLUSIVE_NONE] = "",
						 [NEAP_EXCLUSIVE_PCPU] = "PCPULevel",
						 [NEAP_EXCLUSIVE_NUMA] = "NUMANodeLevel"};
	const struct neap_numa_held *held = holder->held;
	const struct neap_object *object = holder->pod ? holder->pod->object : NULL;
	json_t *row = json_pack("{s:o}", "numa_nodes", numa_nodes_of(numa, held));

	if (!row)
		return NULL;
	if (object && neap_pod_is_stand(holder->pod)) {
		neap_json_set_text(row, "reservation", holder->pod->keep->name);
		neap_json_set_text(row, "uid", holder->pod->keep->uid);
	} else if (object) {
		neap_json_set_text(row, "namespace", object->ns);
		neap_json_set_text(row, "name", object->name);
		neap_json_set_text(row, "uid", object->uid);
	}
	if (object) {
		neap_json_set_text(row, "qos",
				   neap_object_label(object, "koordinator.sh/qosClass"));
		neap_json_set_text(row, "state",
				   holder->pod->seat.is_assumed ? "assumed" : "bound");
	}
	neap_json_set_text(row, "exclusive", exclusives[held->exclusive]);
	if (held->cpus &&
	    json_object_set_new(row, "cpus", list_of_slots(numa, held->cpus)) < 0) {
		json_decref(row);
		return NULL;
	}
	return row;
}

static json_t *pods_json(const struct neap_numa_node *numa, const struct holder *list)
{
	json_t *rows = json_array();

	for (size_t i = 0; rows && i < numa->pod_count; i++)
		neap_json_push_new(&rows, pod_json(numa, &list[i]));
	return rows;
}

/* --- CPUs --- */

static bool has_slot(const uint64_t *slots, int slot)
{
	return slots && slot >= 0 && slots[slot / 64] >> (slot % 64) & 1;
}

static json_t *holders_json(const struct neap_numa_node *numa, const struct holder *list,
			    int slot)
{
	json_t *names = json_array();

	for (size_t i = 0; names && i < numa->pod_count; i++)
		if (has_slot(list[i].held->cpus, slot))
			neap_json_push_new(&names, json_string(list[i].held->uid));
	return names;
}

static json_t *known(int number)
{
	return number < 0 ? json_null() : json_integer(number);
}

static json_t *cpus_json(const struct neap_topology *topology,
			 const struct neap_numa_node *numa, const struct holder *list)
{
	json_t *rows = json_array();

	for (int i = 0; rows && i < topology->cpu_count; i++) {
		const struct neap_cpu *cpu = &topology->cpus[i];
		int slot = numa->layout->slot_of[cpu->os_cpu];
		json_t *row = json_pack(
			"{s:i, s:i, s:i, s:o, s:o, s:b, s:o}", "cpu", cpu->os_cpu, "core",
			topology->cores[cpu->core].os_core, "socket",
			topology->sockets[cpu->socket].os_socket, "node",
			known(cpu->node < 0 ? -1 : topology->nodes[cpu->node].os_node),
			"l3", known(cpu->l3), "reserved", has_slot(numa->reserved, slot),
			"pods", holders_json(numa, list, slot));

		neap_json_push_new(&rows, row);
	}
	return rows;
}

/* --- what the topology object says --- */

/* The JSON of an annotation; NULL: none that can be read. */
static json_t *annotation(const json_t *object, const char *name)
{
	const char *text = neap_json_text(
		json_object_get(json_object_get(object, "metadata"), "annotations"),
		name);
	json_error_t where;
	json_t *value = NULL;

	(void)neap_json_parse(text, strlen(text), 0, &value, &where);
	return value;
}

static bool add_reserved(json_t *rows, const char *cpus, const char *why,
			 const char *ns_name)
{
	struct neap_cpuset set;
	json_t *row;

	if (neap_cpuset_parse_told(&set, cpus, NULL) < 0 || neap_cpuset_is_empty(&set))
		return true;
	row = json_pack("{s:o, s:s}", "cpus", list_of(&set), "why", why);
	if (row)
		neap_json_set_text(row, "pod", ns_name);
	return json_array_append_new(rows, row) == 0;
}

static bool add_kubelet_pods(json_t *rows, const json_t *list)
{
	const json_t *item;
	size_t i;

	json_array_foreach (list, i, item) {
		char key[NEAP_POD_KEY];

		/* A kubelet's file has uids alone; who reported it may know the name. */
		if (*neap_json_text(item, "name"))
			(void)snprintf(key, sizeof(key), "%s/%s",
				       neap_json_text(item, "namespace"),
				       neap_json_text(item, "name"));
		else
			(void)snprintf(key, sizeof(key), "%s",
				       neap_json_text(item, "uid"));
		if (json_is_true(json_object_get(item, "managedByKubelet")) &&
		    *neap_json_text(item, "uid") &&
		    !add_reserved(rows, neap_json_text(item, "cpuset"),
				  "given out by the kubelet", key))
			return false;
	}
	return true;
}

/* Which CPUs no pod is given, and why. */
static json_t *reserved_json(const json_t *object)
{
	json_t *rows = json_array();
	neap_auto_json json_t *kubelet =
		annotation(object, "kubelet.koordinator.sh/cpu-manager-policy");
	neap_auto_json json_t *node = annotation(object, NEAP_KEY_NODE_RESERVATION);
	neap_auto_json json_t *system =
		annotation(object, "node.koordinator.sh/system-qos-resource");
	neap_auto_json json_t *pods =
		annotation(object, "node.koordinator.sh/pod-cpu-allocs");
	bool done = rows &&
		    add_reserved(rows, neap_json_text(kubelet, "reservedCPUs"),
				 "reserved by the kubelet", NULL) &&
		    add_reserved(rows, neap_json_text(node, "reservedCPUs"),
				 "reserved on the node", NULL) &&
		    add_kubelet_pods(rows, pods);

	if (done && !json_is_false(json_object_get(system, "cpusetExclusive")))
		done = add_reserved(rows, neap_json_text(system, "cpuset"),
				    "for SYSTEM pods", NULL);
	return neap_json_made(done, rows);
}

static bool add_pools(json_t *rows, const json_t *object, const char *name,
		      const char *of)
{
	neap_auto_json json_t *list = annotation(object, name);
	const json_t *item;
	bool done = true;
	size_t i;

	json_array_foreach (list, i, item) {
		struct neap_cpuset set;

		if (neap_cpuset_parse_told(&set, neap_json_text(item, "cpuset"), NULL) <
		    0)
			continue;
		done = done &&
		       json_array_append_new(
			       rows, json_pack("{s:s, s:I, s:I, s:o}", "of", of, "socket",
					       json_integer_value(
						       json_object_get(item, "socket")),
					       "node",
					       json_integer_value(
						       json_object_get(item, "node")),
					       "cpus", list_of(&set))) == 0;
	}
	return done;
}

static json_t *pools_json(const json_t *object)
{
	json_t *rows = json_array();

	return neap_json_made(
		rows &&
			add_pools(rows, object, "node.koordinator.sh/cpu-shared-pools",
				  "LS") &&
			add_pools(rows, object, "node.koordinator.sh/be-cpu-shared-pools",
				  "BE"),
		rows);
}

/* By resource, for those with a ratio. */
static json_t *ratios_json(const struct neap_cpus *cpus)
{
	const struct neap_numa_node *numa = cpus->numa;
	json_t *rows = json_object();
	bool done = rows != NULL;

	if (done && cpus->load.ratio > 1)
		done = json_object_set_new(rows, "cpu", json_real(cpus->load.ratio)) == 0;
	for (int i = 0; done && i < numa->resource_count; i++)
		if (numa->ratio[i] > 1)
			done = json_object_set_new(rows,
						   neap_resources_name(numa->names,
								       numa->resource[i]),
						   json_real(numa->ratio[i])) == 0;
	return neap_json_made(done, rows);
}

/* --- a node --- */

static int count_held(const struct neap_numa_node *numa)
{
	int count = 0;

	for (int slot = 0; slot < numa->layout->words * 64; slot++)
		count += numa->layout->cpu_of[slot] >= 0 && numa->use->refs[slot] > 0;
	return count;
}

static int count_slots(const struct neap_numa_node *numa, const uint64_t *slots)
{
	int count = 0;

	for (int i = 0; i < numa->layout->words; i++)
		count += __builtin_popcountll(slots[i]);
	return count;
}

static bool add_summary(json_t *row, const struct neap_cpus *cpus)
{
	const struct neap_numa_node *numa = cpus->numa;
	json_t *more =
		json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:s, s:s, s:b, s:i, s:o}",
			  "cpu_count", numa->layout->cpus, "core_count",
			  numa->layout->cores, "node_count", numa->layout->node_count,
			  "socket_count", numa->layout->socket_count, "reserved_count",
			  count_slots(numa, numa->reserved), "held_count",
			  count_held(numa), "pod_count", (int)numa->pod_count,
			  "bind_policy", neap_cpu_bind_name(cpus->rule.bind),
			  "numa_policy", neap_numa_policy_name(cpus->rule.numa),
			  "most_allocated", cpus->is_most_allocated, "shared_by",
			  numa->max_refs, "amplification", ratios_json(cpus));
	bool done = more && json_object_update(row, more) == 0;

	json_decref(more);
	return done;
}

static bool add_detail(json_t *row, const struct neap_look_view *view,
		       const json_t *object, const struct neap_numa_node *numa)
{
	struct neap_numa_facts facts = {0};
	struct neap_error err;
	struct holder *list = holders_of(view, numa);
	json_t *more = NULL;
	bool done;

	if (list &&
	    neap_numa_facts_read(object, neap_cluster_resources(view->cluster), &facts,
				 &err) == 0 &&
	    facts.topology)
		more = json_pack("{s:o, s:o, s:o, s:o}", "reserved",
				 reserved_json(object), "shared_pools",
				 pools_json(object), "pods", pods_json(numa, list),
				 "cpus", cpus_json(facts.topology, numa, list));
	done = more && json_object_update(row, more) == 0;
	neap_numa_facts_done(&facts);
	json_decref(more);
	free(list);
	return done;
}

void look_add_warning(json_t *row, const struct neap_cluster_node *node)
{
	neap_json_set_text(row, "warning", node->trouble ? node->trouble : "");
}

json_t *look_cpus_json(const struct neap_look_view *view,
		       const struct neap_cluster_node *node, bool is_summary)
{
	const struct neap_cpus *cpus = neap_cluster_cpus(view->cluster, node->row);
	struct neap_object *stored =
		view->client ? neap_client_find(view->client, TOPOLOGIES, "", node->name)
			     : NULL;
	json_t *row = json_pack("{s:s}", "node", node->name), *object;
	bool done = row != NULL;

	if (!done)
		return NULL;
	look_add_warning(row, node);
	(void)neap_cluster_settle(view->cluster);
	/* The object is seen a moment before the book, or after it. */
	if (!cpus || !cpus->numa || !stored) {
		neap_json_set_text(row, "trouble",
				   cpus && cpus->trouble
					   ? cpus->trouble
					   : "there is no NodeResourceTopology of it");
		return row;
	}
	if (!node->trouble)
		neap_json_set_text(row, "warning", cpus->trouble);
	done = add_summary(row, cpus);
	if (done && !is_summary) {
		object = neap_object_tree(stored);
		done = object && add_detail(row, view, object, cpus->numa);
		json_decref(object);
	}
	return neap_json_made(done, row);
}
