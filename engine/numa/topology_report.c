/* SPDX-License-Identifier: Apache-2.0 */
#include "engine/numa/topology_report.h"

#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/cpu/pick.h"
#include "engine/json/json.h"
#include "engine/numa/node_reserve.h"
#include "engine/numa/topology_zones.h"

#define KEY_SYSTEM "node.koordinator.sh/system-qos-resource"

/* Shared by all parts: which CPUs belong to whom. */
struct book {
	const struct neap_topology_report_from *from;
	const struct neap_topology *topology;
	json_t *reservation, *system; /* as they are reported; NULL: none */
	struct neap_cpuset reserved;  /* of the node */
	struct neap_cpuset system_only;
	struct neap_cpuset kubelet; /* given to pods by a kubelet */
	struct neap_cpu_pools pools;
	char *text; /* NEAP_CPUSET_TEXT */
};

static const char *cpus_text(struct book *book, const struct neap_cpuset *cpus)
{
	(void)neap_cpuset_format(cpus, book->text, NEAP_CPUSET_TEXT);
	return book->text;
}

static bool is_static(const struct neap_kubelet_facts *kubelet)
{
	return kubelet && strcmp(kubelet->cpu_policy, "static") == 0;
}

/* --- the book --- */

/* The JSON of an annotation of the Node: NULL when there is none, or none that can be
 * read. */
static int annotation(const json_t *node, const char *key, json_t **ret,
		      struct neap_error *err)
{
	const char *text = neap_json_text(
		json_object_get(json_object_get(node, "metadata"), "annotations"), key);
	json_error_t where;

	*ret = NULL;
	if (*text == '\0')
		return 0;
	if (neap_json_parse(text, strlen(text), 0, ret, &where) == -NEAP_ENOMEM)
		return neap_error_nomem(err);
	if (!json_is_object(*ret)) {
		json_decref(*ret);
		*ret = NULL;
	}
	return 0;
}

/* An amount of CPU becomes CPUs, all of them when it is more. */
static int fill_reservation(struct book *book, int cores, struct neap_error *err)
{
	int count = book->topology->cpu_count;
	int failed =
		neap_pick_packed(book->topology, &book->topology->online,
				 cores < count ? cores : count, &book->reserved, err);

	if (failed < 0)
		return failed;
	return json_object_set_new(book->reservation, "reservedCPUs",
				   json_string(cpus_text(book, &book->reserved))) < 0
		       ? neap_error_nomem(err)
		       : 0;
}

static int read_reservation(struct book *book, struct neap_error *err)
{
	const struct neap_cpuset *cpus = book->from->reserved_cpus;
	struct neap_resources *names;
	struct neap_node_reserve reserve;
	int failed = annotation(book->from->node, NEAP_KEY_NODE_RESERVATION,
				&book->reservation, err);

	if (failed < 0)
		return failed;
	if (!book->reservation) {
		if (!cpus || neap_cpuset_is_empty(cpus))
			return 0;
		neap_cpuset_copy(&book->reserved, cpus);
		book->reservation =
			json_pack("{s:s, s:s}", "reservedCPUs", cpus_text(book, cpus),
				  "applyPolicy", "ReservedCPUsOnly");
		return book->reservation ? 0 : neap_error_nomem(err);
	}
	names = neap_resources_new();
	if (!names)
		return neap_error_nomem(err);
	failed = neap_node_reserve_read(book->reservation, names, &reserve, err);
	neap_resources_free(names);
	if (failed == -NEAP_ENOMEM)
		return failed;
	if (failed < 0) /* amounts that are none: it is passed on, and keeps nothing */
		return 0;
	if (reserve.has_cpus)
		neap_cpuset_copy(&book->reserved, &reserve.cpus);
	return reserve.cores > 0 ? fill_reservation(book, reserve.cores, err) : 0;
}

static int read_system(struct book *book, struct neap_error *err)
{
	const struct neap_cpuset *cpus = book->from->system_cpus;
	int failed = annotation(book->from->node, KEY_SYSTEM, &book->system, err);

	if (failed < 0)
		return failed;
	if (!book->system && cpus && !neap_cpuset_is_empty(cpus)) {
		book->system = json_pack("{s:s}", "cpuset", cpus_text(book, cpus));
		if (!book->system)
			return neap_error_nomem(err);
	}
	if (json_is_false(json_object_get(book->system, "cpusetExclusive")) ||
	    neap_cpuset_parse_told(&book->system_only,
				   neap_json_text(book->system, "cpuset"), NULL) < 0)
		neap_cpuset_clear(&book->system_only);
	return 0;
}

static const struct neap_report_pod *pod_of(const struct neap_topology_report_from *from,
					    const char *uid)
{
	for (size_t i = 0; i < from->pod_count; i++)
		if (strcmp(from->pods[i].uid, uid) == 0)
			return &from->pods[i];
	return NULL;
}

bool neap_topology_is_kubelets(const struct neap_topology_report_from *from,
			       const struct neap_kubelet_pod *pod)
{
	const struct neap_report_pod *known = pod_of(from, pod->uid);

	return !known || neap_cpuset_is_empty(&known->cpus);
}

static int make_pools(struct book *book, struct neap_error *err)
{
	const struct neap_kubelet_facts *kubelet = book->from->kubelet;
	struct neap_cpu_pools_from from = {.all = &book->topology->online,
					   .kubelet = &book->kubelet,
					   .node_reserved = &book->reserved,
					   .system_only = &book->system_only,
					   .pod_count = book->from->pod_count};
	neap_auto_free struct neap_cpu_pool_pod *pods =
		neap_alloc_array(from.pod_count, sizeof(*pods));

	if (!pods)
		return neap_error_nomem(err);
	for (size_t i = 0; kubelet && i < kubelet->pod_count; i++)
		if (neap_topology_is_kubelets(book->from, &kubelet->pods[i]))
			neap_cpuset_or(&book->kubelet, &book->kubelet,
				       &kubelet->pods[i].cpus);
	for (size_t i = 0; i < from.pod_count; i++) {
		pods[i].qos = book->from->pods[i].qos;
		pods[i].cpus = &book->from->pods[i].cpus;
	}
	from.pods = pods;
	neap_cpu_pools_make(&from, &book->pools);
	return 0;
}

static void book_done(struct book *book)
{
	json_decref(book->reservation);
	json_decref(book->system);
	free(book->text);
}

/* done in any case. */
static int book_open(const struct neap_topology_report_from *from, struct book *book,
		     struct neap_error *err)
{
	int failed;

	memset(book, 0, sizeof(*book));
	book->from = from;
	book->topology = from->topology;
	book->text = neap_alloc(NEAP_CPUSET_TEXT);
	if (!book->text)
		return neap_error_nomem(err);
	failed = read_reservation(book, err);
	if (failed == 0)
		failed = read_system(book, err);
	return failed < 0 ? failed : make_pools(book, err);
}

/* --- annotations --- */

static int node_of(const struct neap_topology *topology, const struct neap_cpu *cpu)
{
	if (cpu->node >= 0)
		return topology->nodes[cpu->node].os_node;
	return topology->node_count == 0 ? 0 : -1;
}

static int compare_cores(const void *a, const void *b)
{
	const struct neap_core *const *x = a, *const *y = b;

	if ((*x)->socket != (*y)->socket)
		return (*x)->socket < (*y)->socket ? -1 : 1;
	return ((*x)->os_core > (*y)->os_core) - ((*x)->os_core < (*y)->os_core);
}

/* Firmware may repeat core numbers in a socket, or use large ones; then core rows are
 * reported. */
static int are_cores_told(const struct neap_topology *topology, bool *ret,
			  struct neap_error *err)
{
	size_t count = (size_t)topology->core_count;
	neap_auto_free const struct neap_core **cores =
		neap_alloc_array(count, sizeof(*cores));

	if (!cores)
		return neap_error_nomem(err);
	*ret = true;
	for (size_t i = 0; i < count; i++) {
		cores[i] = &topology->cores[i];
		if (cores[i]->os_core < 0 || cores[i]->os_core > UINT16_MAX)
			*ret = false;
	}
	qsort(cores, count, sizeof(*cores), compare_cores);
	for (size_t i = 1; i < count; i++)
		if (compare_cores(&cores[i - 1], &cores[i]) == 0)
			*ret = false;
	return 0;
}

static json_t *cpus_json(const struct neap_topology *topology, bool is_told)
{
	json_t *list = json_array();

	for (int i = 0; list && i < topology->cpu_count; i++) {
		const struct neap_cpu *cpu = &topology->cpus[i];
		const struct neap_core *core = &topology->cores[cpu->core];

		(void)json_array_append_new(
			list, json_pack("{s:i, s:i, s:i, s:i}", "id", cpu->os_cpu, "core",
					is_told ? core->os_core : cpu->core, "socket",
					topology->sockets[cpu->socket].os_socket, "node",
					node_of(topology, cpu)));
	}
	return json_pack("{s:o}", "detail", list);
}

/* By socket, then NUMA node; of those that have CPUs in it. */
static json_t *pool_json(struct book *book, const struct neap_cpuset *pool)
{
	const struct neap_topology *topology = book->topology;
	json_t *list = json_array();

	for (int socket = 0; list && socket < topology->socket_count; socket++) {
		for (int node = -1; node < topology->node_count; node++) {
			struct neap_cpuset cpus = {0};
			const struct neap_cpu *one = NULL;

			for (int i = 0; i < topology->cpu_count; i++) {
				const struct neap_cpu *cpu = &topology->cpus[i];

				if (cpu->socket == socket && cpu->node == node &&
				    neap_cpuset_has(pool, cpu->os_cpu) &&
				    neap_cpuset_add(&cpus, cpu->os_cpu))
					one = cpu;
			}
			if (!one)
				continue;
			(void)json_array_append_new(
				list, json_pack("{s:i, s:i, s:s}", "socket",
						topology->sockets[socket].os_socket,
						"node", node_of(topology, one), "cpuset",
						cpus_text(book, &cpus)));
		}
	}
	return list;
}

/* CPUs that a kubelet keeps: by number, else as many as it would take for the amount. */
static int kubelet_json(struct book *book, json_t **ret, struct neap_error *err)
{
	const struct neap_kubelet_facts *kubelet = book->from->kubelet;
	int count = book->topology->cpu_count;
	struct neap_cpuset kept = {0};
	int failed = 0;

	if (is_static(kubelet) && !neap_cpuset_is_empty(&kubelet->reserved)) {
		neap_cpuset_copy(&kept, &kubelet->reserved);
	} else if (is_static(kubelet)) {
		int64_t cores = kubelet->reserved_milli / 1000 +
				(kubelet->reserved_milli % 1000 != 0);

		failed = neap_pick_packed(book->topology, &book->topology->online,
					  cores < count ? (int)cores : count, &kept, err);
	}
	if (failed < 0)
		return failed;
	*ret = json_pack("{s:s, s:O*, s:s*}", "policy", kubelet->cpu_policy, "options",
			 kubelet->options, "reservedCPUs",
			 neap_cpuset_is_empty(&kept) ? NULL : cpus_text(book, &kept));
	return *ret ? 0 : neap_error_nomem(err);
}

static json_t *allocs_json(struct book *book)
{
	const struct neap_kubelet_facts *kubelet = book->from->kubelet;
	json_t *list = json_array();

	for (size_t i = 0; kubelet && i < kubelet->pod_count; i++) {
		const struct neap_kubelet_pod *pod = &kubelet->pods[i];
		const struct neap_report_pod *known = pod_of(book->from, pod->uid);

		if (!neap_topology_is_kubelets(book->from, pod))
			continue;
		(void)json_array_append_new(list, json_pack("{s:s*, s:s*, s:s, s:s, s:b}",
							    "namespace",
							    known        ? known->ns
							    : *pod->name ? pod->ns
									 : NULL,
							    "name",
							    known        ? known->name
							    : *pod->name ? pod->name
									 : NULL,
							    "uid", pod->uid, "cpuset",
							    cpus_text(book, &pod->cpus),
							    "managedByKubelet", 1));
	}
	return list;
}

static json_t *basic_json(const struct book *book)
{
	const struct neap_topology *topology = book->topology;
	enum neap_turbo turbo = book->from->turbo;
	json_t *info = json_object();

	neap_json_set_text(info, "cpuModel", topology->model);
	if (info)
		(void)json_object_set_new(
			info, "hyperThreadEnabled",
			json_boolean(topology->core_count < topology->cpu_count));
	if (info && turbo != NEAP_TURBO_UNKNOWN)
		(void)json_object_set_new(info, "turboEnabled",
					  json_boolean(turbo == NEAP_TURBO_ON));
	return info;
}

/* The value, taken, as text; is_there false: null. */
static int put(json_t *to, const char *key, bool is_there, json_t *value,
	       struct neap_error *err)
{
	neap_auto_free char *text =
		is_there && value ? neap_json_dump(value, JSON_COMPACT) : NULL;
	int failed = 0;

	if (is_there && !text)
		failed = neap_error_nomem(err);
	else if (json_object_set_new(to, key, text ? json_string(text) : json_null()) < 0)
		failed = neap_error_nomem(err);
	json_decref(value);
	return failed;
}

static int put_annotations(struct book *book, json_t *to, struct neap_error *err)
{
	const struct neap_kubelet_facts *kubelet = book->from->kubelet;
	json_t *policy = NULL;
	bool has_kubelet = kubelet && kubelet->is_here, is_told = false;
	int failed = are_cores_told(book->topology, &is_told, err);

	if (failed == 0 && has_kubelet)
		failed = kubelet_json(book, &policy, err);
	if (failed < 0)
		return failed;
	failed = put(to, "kubelet.koordinator.sh/cpu-manager-policy", has_kubelet, policy,
		     err);
	if (failed == 0)
		failed = put(to, "node.koordinator.sh/cpu-topology", true,
			     cpus_json(book->topology, is_told), err);
	if (failed == 0)
		failed = put(to, "node.koordinator.sh/cpu-shared-pools", true,
			     pool_json(book, &book->pools.ls), err);
	if (failed == 0)
		failed = put(to, "node.koordinator.sh/be-cpu-shared-pools", true,
			     pool_json(book, &book->pools.be), err);
	if (failed == 0)
		failed = put(to, "node.koordinator.sh/pod-cpu-allocs", true,
			     allocs_json(book), err);
	if (failed == 0)
		failed = put(to, "node.koordinator.sh/cpu-basic-info", true,
			     basic_json(book), err);
	if (failed == 0)
		failed = put(to, NEAP_KEY_NODE_RESERVATION, book->reservation != NULL,
			     json_incref(book->reservation), err);
	if (failed == 0)
		failed = put(to, KEY_SYSTEM, book->system != NULL,
			     json_incref(book->system), err);
	return failed;
}

/* --- the whole --- */

static json_t *policies_json(const struct neap_kubelet_facts *kubelet)
{
	static const struct {
		const char *kubelet, *pod, *container;
	} names[] = {
		{"best-effort", "BestEffort", "BestEffort"},
		{"restricted", "Restricted", "Restricted"},
		{"single-numa-node", "SingleNUMANodePodLevel",
		 "SingleNUMANodeContainerLevel"},
	};
	const char *name = "None";

	for (size_t i = 0; kubelet && i < NEAP_ARRAY_LEN(names); i++)
		if (strcmp(kubelet->topology_policy, names[i].kubelet) == 0)
			name = kubelet->is_pod_scope ? names[i].pod : names[i].container;
	return json_pack("[s]", name);
}

int neap_topology_report(const struct neap_topology_report_from *from,
			 const json_t *object, json_t **ret, struct neap_error *err)
{
	neap_auto_free struct book *book = neap_alloc(sizeof(*book));
	json_t *annotations = json_object();
	uint64_t lost = neap_json_failures();
	int failed =
		book && annotations ? book_open(from, book, err) : neap_error_nomem(err);

	*ret = NULL;
	if (failed == 0)
		failed = put_annotations(book, annotations, err);
	if (failed == 0) {
		*ret = json_pack("{s:{s:O}, s:o, s:o}", "metadata", "annotations",
				 annotations, "topologyPolicies",
				 policies_json(from->kubelet), "zones",
				 neap_topology_zones(from, object));
		/* Lack of memory left members out. */
		if (!*ret || neap_json_failures() != lost) {
			json_decref(*ret);
			*ret = NULL;
			failed = neap_error_nomem(err);
		}
	}
	json_decref(annotations);
	if (book)
		book_done(book);
	return failed;
}
