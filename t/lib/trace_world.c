/* SPDX-License-Identifier: Apache-2.0
 *
 * What there is in the cluster of a trace: nodes by their number, pods by chance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "api/client/client.h"
#include "engine/json/json.h"
#include "t/lib/trace_rig_priv.h"

uint32_t trace_roll(struct trace *trace, uint32_t below)
{
	trace->seed = trace->seed * 1664525 + 1013904223;
	return (uint32_t)(((uint64_t)(trace->seed >> 8) * below) >> 24);
}

/* --- asking --- */

static void told(void *arg, struct neap_object *object,
		 const struct neap_client_failure *failure)
{
	struct trace *trace = arg;

	(void)object;
	trace->refused += failure != NULL;
}

struct neap_client_ask trace_ask_of(struct trace *trace, const char *resource,
				    const char *name)
{
	bool is_pod = strcmp(resource, "pods") == 0;

	trace->asked++;
	return (struct neap_client_ask){.resource = resource,
					.ns = is_pod ? "default" : "",
					.name = name,
					.told = told,
					.arg = trace};
}

void trace_create_take(struct trace *trace, const char *resource, json_t *object)
{
	struct neap_client_ask ask = trace_ask_of(trace, resource, NULL);

	assert_non_null(object);
	neap_client_create_take(trace->rig->client, &ask, object);
}

void trace_name_pod(int i, char name[32])
{
	(void)snprintf(name, 32, "p%d", i);
}

void trace_name_node(int i, char name[32])
{
	(void)snprintf(name, 32, "n%d", i);
}

/* --- nodes --- */

/* Sockets, NUMA nodes of a socket, cores of a NUMA node, CPUs of a core; CPUs that are
 * kept back; labels. */
static const struct {
	int sockets, zones, cores, threads;
	const char *reserved, *bind, *numa;
} shapes[] = {
	{1, 1, 4, 2, "", "", ""},
	{2, 1, 4, 2, "0-1", "", ""},
	{2, 1, 6, 1, "", "", ""},
	{2, 2, 2, 2, "0,2", "", "SingleNUMANode"},
	{1, 1, 8, 2, "3", "FullPCPUsOnly", ""},
	{4, 1, 3, 2, "", "", "Restricted"},
	{2, 1, 4, 4, "0-3", "", ""},
	{1, 2, 6, 1, "", "SpreadByPCPUs", "BestEffort"},
	{1, 1, 3, 4, "", "", ""},
};

static bool has_topology(const struct trace *trace, int i)
{
	return trace->has_cpus && i % 3;
}

/* Decided by the number alone, so that a node that comes back is the same. */
static uint32_t node_roll(int i, uint32_t salt, uint32_t below)
{
	uint32_t x = (uint32_t)i * 2654435761U + salt * 40503U;

	x ^= x >> 15;
	x *= 2246822519U;
	x ^= x >> 13;
	return x % below;
}

static int cpus_of(const struct trace *trace, int i)
{
	size_t shape = (size_t)i / 3 % NEAP_ARRAY_LEN(shapes);

	if (!has_topology(trace, i))
		return 2 + (int)node_roll(i, 1, 14);
	return shapes[shape].sockets * shapes[shape].zones * shapes[shape].cores *
	       shapes[shape].threads;
}

static int gib_of(const struct trace *trace, int i)
{
	return has_topology(trace, i) ? 32 : 4 + (int)node_roll(i, 2, 28);
}

static json_t *new_topology(const struct trace *trace, int i, const char *name)
{
	size_t shape = (size_t)i / 3 % NEAP_ARRAY_LEN(shapes);
	int zones = shapes[shape].sockets * shapes[shape].zones;
	int per_zone = shapes[shape].cores * shapes[shape].threads;
	json_t *detail = json_array(), *list = json_array(), *all;
	char text[96], *cpus, memory[32];

	for (int cpu = 0; cpu < zones * per_zone; cpu++)
		json_array_append_new(detail,
				      json_pack("{s:i, s:i, s:i, s:i}", "id", cpu, "core",
						cpu / shapes[shape].threads, "socket",
						cpu / per_zone / shapes[shape].zones,
						"node", cpu / per_zone));
	(void)snprintf(memory, sizeof(memory), "%dMi", gib_of(trace, i) * 1024 / zones);
	for (int zone = 0; zone < zones; zone++) {
		char cpu[16];

		(void)snprintf(text, sizeof(text), "node-%d", zone);
		(void)snprintf(cpu, sizeof(cpu), "%d", per_zone);
		json_array_append_new(
			list,
			json_pack("{s:s, s:s, s:[{s:s, s:s, s:s, s:s},"
				  " {s:s, s:s, s:s, s:s}]}",
				  "name", text, "type", "Node", "resources", "name",
				  "cpu", "capacity", cpu, "allocatable", cpu, "available",
				  cpu, "name", "memory", "capacity", memory,
				  "allocatable", memory, "available", memory));
	}
	all = json_pack("{s:o}", "detail", detail);
	cpus = neap_json_dump(all, JSON_COMPACT);
	json_decref(all);
	(void)snprintf(text, sizeof(text),
		       "{\"policy\":\"static\",\"reservedCPUs\":\"%s\"}",
		       shapes[shape].reserved);
	all = json_pack("{s:{s:s, s:{s:s, s:s}}, s:[], s:o}", "metadata", "name", name,
			"annotations", "node.koordinator.sh/cpu-topology", cpus,
			"kubelet.koordinator.sh/cpu-manager-policy", text,
			"topologyPolicies", "zones", list);
	free(cpus);
	return all;
}

static json_t *new_labels(const struct trace *trace, int i, const char *name)
{
	size_t shape = (size_t)i / 3 % NEAP_ARRAY_LEN(shapes);
	json_t *labels = json_pack("{s:s, s:s}", "kubernetes.io/hostname", name, "disk",
				   node_roll(i, 3, 3) ? "hdd" : "ssd");
	char zone[16];

	(void)snprintf(zone, sizeof(zone), "z%u", node_roll(i, 4, 5));
	if (node_roll(i, 5, 20))
		json_object_set_new(labels, "zone", json_string(zone));
	if (!has_topology(trace, i))
		return labels;
	if (*shapes[shape].bind)
		json_object_set_new(labels, "node.koordinator.sh/cpu-bind-policy",
				    json_string(shapes[shape].bind));
	if (*shapes[shape].numa)
		json_object_set_new(labels, "node.koordinator.sh/numa-topology-policy",
				    json_string(shapes[shape].numa));
	return labels;
}

void trace_add_node(struct trace *trace, int i)
{
	struct neap_client_ask ask;
	json_t *spec = json_object();
	char name[32], cpu[16], memory[16], pods[16];

	trace_name_node(i, name);
	if (!node_roll(i, 6, 5))
		json_object_set_new(
			spec, "taints",
			json_pack("[{s:s, s:s, s:s}]", "key", "k", "value",
				  node_roll(i, 7, 2) ? "v" : "w", "effect",
				  node_roll(i, 8, 2) ? "NoSchedule" : "NoExecute"));
	if (!node_roll(i, 9, 25))
		json_object_set_new(spec, "unschedulable", json_true());
	if (has_topology(trace, i))
		trace_create_take(trace, TRACE_TOPOLOGIES, new_topology(trace, i, name));
	trace_create_take(trace, "nodes",
			  json_pack("{s:{s:s, s:o}, s:o}", "metadata", "name", name,
				    "labels", new_labels(trace, i, name), "spec", spec));
	(void)snprintf(cpu, sizeof(cpu), "%d", cpus_of(trace, i));
	(void)snprintf(memory, sizeof(memory), "%dGi", gib_of(trace, i));
	(void)snprintf(pods, sizeof(pods), "%u", 6 + node_roll(i, 10, 30));
	ask = trace_ask_of(trace, "nodes", name);
	neap_client_patch_take(trace->rig->client, &ask, true,
			       json_pack("{s:{s:{s:s, s:s, s:s}}}", "status",
					 "allocatable", "cpu", cpu, "memory", memory,
					 "pods", pods));
	trace->node_count = i < trace->node_count ? trace->node_count : i + 1;
}

void trace_delete_node(struct trace *trace, int i)
{
	struct neap_client_ask ask;
	char name[32];

	trace_name_node(i, name);
	ask = trace_ask_of(trace, "nodes", name);
	neap_client_delete(trace->rig->client, &ask, NULL, -1);
}

/* --- pods --- */

static void add_cpus(struct trace *trace, json_t *meta, json_t *labels, char cpu[32])
{
	static const char *const specs[] = {
		"{\"preferredCPUBindPolicy\":\"SpreadByPCPUs\"}",
		"{\"requiredCPUBindPolicy\":\"FullPCPUs\"}",
		"{\"requiredCPUBindPolicy\":\"SpreadByPCPUs\"}",
		"{\"preferredCPUExclusivePolicy\":\"PCPULevel\"}",
		"{\"preferredCPUBindPolicy\":\"FullPCPUs\","
		"\"preferredCPUExclusivePolicy\":\"NUMANodeLevel\"}"};
	json_t *annotations = json_object();
	uint32_t spec = trace_roll(trace, 8);

	json_object_set_new(labels, "koordinator.sh/qosClass",
			    json_string(trace_roll(trace, 4) ? "LSR" : "LSE"));
	json_object_set_new(labels, "koordinator.sh/priority-class",
			    json_string("koord-prod"));
	(void)snprintf(cpu, 32, "%u", 1U + trace_roll(trace, 6));
	if (spec < NEAP_ARRAY_LEN(specs))
		json_object_set_new(annotations,
				    "scheduling.koordinator.sh/resource-spec",
				    json_string(specs[spec]));
	if (!trace_roll(trace, 8))
		json_object_set_new(
			annotations, "scheduling.koordinator.sh/numa-topology-spec",
			json_string("{\"numaTopologyPolicy\":\"SingleNUMANode\"}"));
	json_object_set_new(meta, "annotations", annotations);
}

static void add_wishes(struct trace *trace, json_t *spec, const char *app)
{
	if (!trace_roll(trace, 3))
		json_object_set_new(
			spec, "tolerations",
			json_pack("[{s:s, s:s}]", "key", "k", "operator", "Exists"));
	if (!trace_roll(trace, 6))
		json_object_set_new(spec, "nodeSelector",
				    json_pack("{s:s}", "disk", "ssd"));
	if (!trace_roll(trace, 40))
		json_object_set_new(spec, "overhead", json_pack("{s:s}", "cpu", "1500m"));
	if (trace->is_mild)
		return;
	if (!trace_roll(trace, 8))
		json_object_set_new(spec, "topologySpreadConstraints",
				    json_pack("[{s:i, s:s, s:s, s:{s:{s:s}}}]", "maxSkew",
					      (int)trace_roll(trace, 3) + 1,
					      "topologyKey", "zone", "whenUnsatisfiable",
					      trace_roll(trace, 3) ? "DoNotSchedule"
								   : "ScheduleAnyway",
					      "labelSelector", "matchLabels", "app",
					      app));
	if (!trace_roll(trace, 15))
		json_object_set_new(
			spec, "affinity",
			json_pack("{s:{s:[{s:s, s:{s:{s:s}}}]}}", "podAntiAffinity",
				  "requiredDuringSchedulingIgnoredDuringExecution",
				  "topologyKey", "kubernetes.io/hostname",
				  "labelSelector", "matchLabels", "alone", "yes"));
}

static json_t *new_container(struct trace *trace, const char *cpu, const char *memory)
{
	json_t *container =
		json_pack("{s:s, s:s, s:{s:{s:s, s:s}, s:{s:s, s:s}}}", "name", "c",
			  "image", "i", "resources", "requests", "cpu", cpu, "memory",
			  memory, "limits", "cpu", cpu, "memory", memory);

	if (!trace->is_mild && !trace_roll(trace, 10)) {
		int port = 8000 + (int)trace_roll(trace, 6);

		json_object_set_new(container, "ports",
				    json_pack("[{s:i, s:i}]", "containerPort", port,
					      "hostPort", port));
	}
	return container;
}

static void make_pod(struct trace *trace, int i)
{
	static const char *const classes[] = {"low", "middle", "high"};
	bool wants_cpus = trace->has_cpus && !trace_roll(trace, 3);
	json_t *meta = json_object(), *labels = json_object();
	json_t *spec = json_pack("{s:s}", "schedulerName",
				 trace->has_others && i % 2 == 0 ? "default-scheduler"
								 : "neap-scheduler");
	uint32_t class = trace_roll(trace, 10);
	char name[32], app[16], cpu[32], memory[32];

	trace_name_pod(i, name);
	(void)snprintf(app, sizeof(app), "a%u", trace_roll(trace, 12));
	(void)snprintf(cpu, sizeof(cpu), "%um",
		       trace->is_spread        ? 50 + trace_roll(trace, 300)
		       : trace_roll(trace, 12) ? 50 + trace_roll(trace, 1500)
					       : 1000 * (1 + trace_roll(trace, 6)));
	(void)snprintf(memory, sizeof(memory), "%uMi", 16 + trace_roll(trace, 1500));
	json_object_set_new(labels, "app", json_string(app));
	if (wants_cpus)
		add_cpus(trace, meta, labels, cpu);
	add_wishes(trace, spec, app);
	if (json_object_get(spec, "affinity") || !trace_roll(trace, 12))
		json_object_set_new(labels, "alone", json_string("yes"));
	if (wants_cpus)
		json_object_del(spec, "overhead");
	if (!trace->is_spread && class < NEAP_ARRAY_LEN(classes))
		json_object_set_new(spec, "priorityClassName",
				    json_string(classes[class]));
	json_object_set_new(spec, "containers",
			    json_pack("[o]", new_container(trace, cpu, memory)));
	json_object_set_new(meta, "name", json_string(name));
	json_object_set_new(meta, "labels", labels);
	trace_create_take(trace, "pods",
			  json_pack("{s:o, s:o}", "metadata", meta, "spec", spec));
}

void trace_add_pod(struct trace *trace)
{
	assert_true(trace->pod_count < TRACE_PODS_MAX);
	make_pod(trace, trace->pod_count++);
}

void trace_add_pod_again(struct trace *trace, int i)
{
	make_pod(trace, i);
}

void trace_delete_pod(struct trace *trace, int i)
{
	struct neap_client_ask ask;
	char name[32];

	trace_name_pod(i, name);
	ask = trace_ask_of(trace, "pods", name);
	neap_client_delete(trace->rig->client, &ask, NULL, 0);
}

void trace_bind(struct trace *trace, int pod, int node)
{
	struct neap_client_ask ask;
	char name[32], to[32];

	trace_name_pod(pod, name);
	trace_name_node(node, to);
	ask = trace_ask_of(trace, "pods", name);
	book_blind(trace->book, "default", name);
	neap_client_bind(trace->rig->client, &ask,
			 &(struct neap_client_binding){.node = to});
}

void trace_touch_pod(struct trace *trace, int i)
{
	struct neap_client_ask ask;
	char name[32], text[32];

	trace_name_pod(i, name);
	(void)snprintf(text, sizeof(text), "%zu", trace->asked);
	ask = trace_ask_of(trace, "pods", name);
	neap_client_patch_take(
		trace->rig->client, &ask, false,
		json_pack("{s:{s:{s:s}}}", "metadata", "labels", "touch", text));
}
