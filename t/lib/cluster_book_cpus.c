/* SPDX-License-Identifier: Apache-2.0
 *
 * CPUs and NUMA nodes: topologies as they are told, what pods have of them by their
 * annotations, and whether somebody has what he must not have. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "t/lib/cluster_book_priv.h"

static json_t *parse(const char *text)
{
	json_error_t where;
	json_t *json = NULL;

	if (!*text)
		return NULL;
	if (neap_json_parse(text, strlen(text), 0, &json, &where) < 0)
		fail_msg("no JSON: %s", text);
	return json;
}

int book_read_list(const char *text, int *ret, int size)
{
	int count = 0;

	while (*text) {
		char *end;
		long first = strtol(text, &end, 10), last = first;

		assert_true(end != text);
		if (*end == '-')
			last = strtol(end + 1, &end, 10);
		for (; first <= last; first++) {
			assert_true(count < size);
			ret[count++] = (int)first;
		}
		text = end + (*end == ',');
	}
	return count;
}

static struct book_cpu *find_cpu(const struct book_topology *topology, int id)
{
	for (int i = 0; i < topology->cpu_count; i++)
		if (topology->cpus[i].id == id)
			return (struct book_cpu *)(uintptr_t)&topology->cpus[i];
	return NULL;
}

static int count_per_core(const struct book_topology *topology)
{
	int cores = 0;

	for (int i = 0; i < topology->cpu_count; i++) {
		bool is_first = true;

		for (int n = 0; n < i && is_first; n++)
			is_first = topology->cpus[n].core != topology->cpus[i].core ||
				   topology->cpus[n].socket != topology->cpus[i].socket;
		cores += is_first;
	}
	return cores ? topology->cpu_count / cores : 0;
}

/* --- a node's --- */

static void reserve(struct book_topology *topology, const char *list)
{
	int ids[BOOK_CPUS], count = book_read_list(list, ids, BOOK_CPUS);

	for (int i = 0; i < count; i++) {
		struct book_cpu *cpu = find_cpu(topology, ids[i]);

		if (cpu)
			cpu->is_reserved = true;
	}
}

static void read_kept(struct book_topology *topology, const json_t *object)
{
	json_t *kubelet = parse(book_annotation(
		       object, "kubelet.koordinator.sh/cpu-manager-policy")),
	       *node = parse(book_annotation(object, "node.koordinator.sh/reservation")),
	       *system = parse(book_annotation(
		       object, "node.koordinator.sh/system-qos-resource"));

	reserve(topology, book_text(kubelet, "reservedCPUs"));
	reserve(topology, book_text(node, "reservedCPUs"));
	if (!json_is_false(book_at(system, "cpusetExclusive")))
		reserve(topology, book_text(system, "cpuset"));
	topology->is_full_only =
		strcmp(book_text(kubelet, "policy"), "static") == 0 &&
		strcmp(book_text(kubelet, "options.full-pcpus-only"), "true") == 0;
	json_decref(kubelet);
	json_decref(node);
	json_decref(system);
}

static void read_zones(struct book *book, struct book_topology *topology,
		       const json_t *zones)
{
	for (size_t i = 0; i < json_array_size(zones); i++) {
		const json_t *zone = json_array_get(zones, i), *list;
		const char *name = book_text(zone, "name");
		struct book_zone *to;
		long number;

		if (strcmp(book_text(zone, "type"), "Node") != 0 ||
		    strncmp(name, "node-", 5) != 0)
			continue;
		number = strtol(name + 5, NULL, 10);
		assert_true(number >= 0 && number < BOOK_ZONES);
		to = &topology->zones[number];
		to->is_there = true;
		for (int n = 0; n < BOOK_NAMES; n++)
			to->room[n] = -1;
		list = json_object_get(zone, "resources");
		for (size_t n = 0; n < json_array_size(list); n++) {
			const json_t *item = json_array_get(list, n);
			const char *what = book_text(item, "name");

			to->room[book_name(book, what)] =
				book_amount(what, json_object_get(item, "allocatable"));
		}
	}
}

void book_read_topology(struct book *book, struct book_topology *topology,
			const json_t *object)
{
	json_t *tree = parse(book_annotation(object, "node.koordinator.sh/cpu-topology"));
	const json_t *detail = json_object_get(tree, "detail");
	const json_t *policies = json_object_get(object, "topologyPolicies");

	for (size_t i = 0; i < json_array_size(detail); i++) {
		const json_t *item = json_array_get(detail, i);

		assert_true(topology->cpu_count < BOOK_CPUS);
		topology->cpus[topology->cpu_count++] = (struct book_cpu){
			.id = (int)json_integer_value(json_object_get(item, "id")),
			.core = (int)json_integer_value(json_object_get(item, "core")),
			.socket =
				(int)json_integer_value(json_object_get(item, "socket")),
			.zone = (int)json_integer_value(json_object_get(item, "node"))};
	}
	json_decref(tree);
	read_kept(topology, object);
	read_zones(book, topology, json_object_get(object, "zones"));
	topology->per_core = count_per_core(topology);
	for (int i = 0; i < topology->cpu_count; i++) {
		struct book_zone *zone = &topology->zones[topology->cpus[i].zone];

		if (topology->cpus[i].is_reserved && zone->is_there &&
		    zone->room[BOOK_CPU] >= 1000)
			zone->room[BOOK_CPU] -= 1000;
	}
	for (size_t i = 0; i < json_array_size(policies) && !topology->is_single &&
			   !topology->is_restricted;
	     i++) {
		const char *name = json_string_value(json_array_get(policies, i));

		topology->is_single = strcmp(name, "SingleNUMANodePodLevel") == 0;
		topology->is_restricted = strcmp(name, "Restricted") == 0;
	}
}

/* --- a pod's --- */

static enum book_bind bind_of(const char *text)
{
	if (strcmp(text, "FullPCPUs") == 0)
		return BOOK_BIND_FULL;
	return strcmp(text, "SpreadByPCPUs") == 0 ? BOOK_BIND_SPREAD : BOOK_BIND_NONE;
}

static bool is_prod(const struct book_pod *pod)
{
	const char *class = book_label(pod->labels, "koordinator.sh/priority-class");

	if (class)
		return strcmp(class, "koord-prod") == 0;
	if (pod->priority >= 3000 && pod->priority <= 9999)
		return pod->priority >= 9000;
	return true; /* as its class has it */
}

static void read_spec(struct book_pod *pod, const json_t *object)
{
	const char *qos = book_label(pod->labels, "koordinator.sh/qosClass");
	json_t *spec = parse(book_annotation(object,
					     "scheduling.koordinator.sh/resource-spec")),
	       *numa = parse(book_annotation(
		       object, "scheduling.koordinator.sh/numa-topology-spec"));
	const char *wish = book_text(spec, "preferredCPUBindPolicy");
	const char *must = book_text(spec, "requiredCPUBindPolicy");

	pod->required = strcmp(must, "Default") == 0 ? BOOK_BIND_FULL : bind_of(must);
	pod->asked = pod->required                            ? pod->required
		     : !*wish || strcmp(wish, "Default") == 0 ? BOOK_BIND_FULL
							      : bind_of(wish);
	pod->binds = qos && (strcmp(qos, "LSR") == 0 || strcmp(qos, "LSE") == 0) &&
		     is_prod(pod) && pod->asked && pod->needs[BOOK_CPU];
	pod->has_numa_policy = *book_text(numa, "numaTopologyPolicy");
	pod->is_single =
		strcmp(book_text(numa, "numaTopologyPolicy"), "SingleNUMANode") == 0;
	json_decref(spec);
	json_decref(numa);
}

bool book_read_status(struct book *book, const json_t *object, int **ret_cpus,
		      int *ret_count, int64_t zones[BOOK_ZONES][BOOK_NAMES])
{
	json_t *status = parse(
		book_annotation(object, "scheduling.koordinator.sh/resource-status"));
	const json_t *list = json_object_get(status, "numaNodeResources");
	bool is_there = status != NULL;
	int ids[BOOK_CPUS];

	*ret_count = book_read_list(book_text(status, "cpuset"), ids, BOOK_CPUS);
	if (*ret_count) {
		*ret_cpus = neap_alloc_array((size_t)*ret_count, sizeof(**ret_cpus));
		assert_non_null(*ret_cpus);
		memcpy(*ret_cpus, ids, (size_t)*ret_count * sizeof(*ids));
	}
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *item = json_array_get(list, i);
		json_int_t zone = json_integer_value(json_object_get(item, "node"));
		const char *name;
		json_t *resources, *value;

		assert_true(zone >= 0 && zone < BOOK_ZONES);
		resources = json_object_get(item, "resources");
		json_object_foreach (resources, name, value) {
			zones[zone][book_name(book, name)] += book_amount(name, value);
		}
	}
	json_decref(status);
	return is_there;
}

void book_read_cpus(struct book *book, struct book_pod *pod, const json_t *object)
{
	read_spec(pod, object);
	pod->has_status = book_read_status(book, object, &pod->cpus, &pod->cpu_count,
					   pod->zone_needs);
}

/* --- both together --- */

static enum book_bind node_bind(const struct book_node *node)
{
	const char *label =
		book_label(node->labels, "node.koordinator.sh/cpu-bind-policy");

	if ((label && strcmp(label, "FullPCPUsOnly") == 0) ||
	    (node->topology && node->topology->is_full_only))
		return BOOK_BIND_FULL;
	return label ? bind_of(label) : BOOK_BIND_NONE;
}

enum book_bind book_required_on(const struct book_node *node, const struct book_pod *pod)
{
	return pod->required ? pod->required : node_bind(node);
}

bool book_conflicts(const struct book_node *node, const struct book_pod *pod)
{
	enum book_bind bind = node_bind(node);

	return bind && pod->required && bind != pod->required;
}

bool book_binds_on(const struct book_node *node, const struct book_pod *pod)
{
	return pod->binds || (node_bind(node) && pod->needs[BOOK_CPU]);
}

static bool is_single(const struct book_node *node, const struct book_pod *pod)
{
	const char *label =
		book_label(node->labels, "node.koordinator.sh/numa-topology-policy");

	return pod->is_single || (label ? strcmp(label, "SingleNUMANode") == 0
					: node->topology && node->topology->is_single);
}

bool book_has_numa_policy(const struct book_node *node)
{
	const char *label =
		book_label(node->labels, "node.koordinator.sh/numa-topology-policy");

	return label || (node->topology &&
			 (node->topology->is_single || node->topology->is_restricted));
}

/* How many of the pod's CPUs are on the same core as this one. */
static int count_siblings(const struct book_topology *topology,
			  const struct book_pod *pod, const struct book_cpu *cpu)
{
	int count = 0;

	for (int i = 0; i < pod->cpu_count; i++) {
		const struct book_cpu *other = find_cpu(topology, pod->cpus[i]);

		count +=
			other && other->core == cpu->core && other->socket == cpu->socket;
	}
	return count;
}

static bool check_set(struct book *book, const struct book_node *node,
		      const struct book_pod *pod, int refs[BOOK_CPUS])
{
	const struct book_topology *topology = node->topology;
	enum book_bind required = book_required_on(node, pod);
	int per_core = topology->per_core;

	for (int i = 0; i < pod->cpu_count; i++) {
		const struct book_cpu *cpu = find_cpu(topology, pod->cpus[i]);
		int siblings;

		if (!cpu)
			return book_wrong(book, "node %s has no CPU %d, which %s has",
					  node->name, pod->cpus[i], pod->name);
		if (cpu->is_reserved)
			return book_wrong(book, "node %s: %s has CPU %d, reserved",
					  node->name, pod->name, cpu->id);
		if (!pod->is_room && ++refs[cpu - topology->cpus] > book->max_refs &&
		    book_blames(node, pod, pod))
			return book_wrong(book, "node %s: %d pods have CPU %d, one is %s",
					  node->name, refs[cpu - topology->cpus], cpu->id,
					  pod->name);
		siblings = count_siblings(topology, pod, cpu);
		if (required == BOOK_BIND_FULL && siblings != per_core)
			return book_wrong(book,
					  "node %s: %s has a part of a core, CPU %d",
					  node->name, pod->name, cpu->id);
		if (required == BOOK_BIND_SPREAD && siblings != 1)
			return book_wrong(book, "node %s: %s has a core twice, CPU %d",
					  node->name, pod->name, cpu->id);
		if (is_single(node, pod) &&
		    cpu->zone != find_cpu(topology, pod->cpus[0])->zone)
			return book_wrong(book, "node %s: %s has CPUs of two NUMA nodes",
					  node->name, pod->name);
	}
	return true;
}

static bool check_pod(struct book *book, const struct book_node *node,
		      const struct book_pod *pod, int refs[BOOK_CPUS])
{
	int64_t milli = pod->needs[BOOK_CPU];
	int zones = 0;

	if (!pod->is_blind && book_binds_on(node, pod) && !pod->cpu_count)
		return book_wrong(book, "node %s: %s has no CPUs of its own", node->name,
				  pod->name);
	if (pod->cpu_count && (milli != (int64_t)pod->cpu_count * 1000))
		return book_wrong(book, "node %s: %s has %d CPUs and asks for %lldm",
				  node->name, pod->name, pod->cpu_count,
				  (long long)milli);
	for (int i = 0; i < BOOK_ZONES; i++)
		for (int n = 0; n < BOOK_NAMES; n++)
			if (pod->zone_needs[i][n]) {
				zones++;
				break;
			}
	if (zones > 1 && is_single(node, pod))
		return book_wrong(book, "node %s: %s has a part of %d NUMA nodes",
				  node->name, pod->name, zones);
	return check_set(book, node, pod, refs);
}

static bool check_zone(struct book *book, const struct book_node *node, int zone)
{
	int64_t used[BOOK_NAMES] = {0};

	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		for (int i = 0; !pod->is_finished && !pod->is_room && i < BOOK_NAMES; i++)
			used[i] += pod->zone_needs[zone][i];
	for (int i = 0; i < BOOK_NAMES; i++)
		if (used[i] && used[i] > node->topology->zones[zone].room[i] &&
		    !node->is_stained)
			return book_wrong(book, "node %s, NUMA node %d: %lld of %lld %s",
					  node->name, zone, (long long)used[i],
					  (long long)node->topology->zones[zone].room[i],
					  book->names[i]);
	return true;
}

bool book_check_cpus(struct book *book, const struct book_node *node)
{
	int refs[BOOK_CPUS] = {0};

	if (!node->topology)
		return true;
	/* Those that just came are blamed for what was there before them. */
	for (int fresh = 0; fresh < 2; fresh++)
		for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
			if (!pod->is_finished && pod->is_fresh == fresh &&
			    !check_pod(book, node, pod, refs))
				return false;
	for (int zone = 0; zone < BOOK_ZONES; zone++)
		if (node->topology->zones[zone].is_there && !check_zone(book, node, zone))
			return false;
	return true;
}

int book_free_cpus(const struct book *book, const struct book_node *node,
		   enum book_bind required)
{
	const struct book_topology *topology = node->topology;
	int refs[BOOK_CPUS] = {0}, count = 0, per_core = topology->per_core;

	for (const struct book_pod *pod = node->pods; pod; pod = pod->next)
		for (int i = 0; !pod->is_finished && i < pod->cpu_count; i++) {
			const struct book_cpu *cpu = find_cpu(topology, pod->cpus[i]);

			if (cpu)
				refs[cpu - topology->cpus]++;
		}
	for (int i = 0; i < topology->cpu_count; i++) {
		const struct book_cpu *cpu = &topology->cpus[i];
		int open = 0, before = 0;

		for (int n = 0; n < topology->cpu_count; n++) {
			const struct book_cpu *other = &topology->cpus[n];
			bool is_free = !other->is_reserved && refs[n] < book->max_refs;

			if (other->core != cpu->core || other->socket != cpu->socket)
				continue;
			open += is_free;
			before += is_free && n < i;
		}
		if (cpu->is_reserved || refs[i] >= book->max_refs)
			continue;
		count += required == BOOK_BIND_FULL     ? open == per_core
			 : required == BOOK_BIND_SPREAD ? !before
							: 1;
	}
	return count;
}
