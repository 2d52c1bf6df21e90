/* SPDX-License-Identifier: Apache-2.0
 *
 * The usage of the node and its pods as a NodeMetric. CPU comes from the node's windows;
 * memory has a separate window with one value per check. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/node/node_keep_priv.h"
#include "api/agent/pod/pins.h"
#include "engine/base/map.h"
#include "engine/base/quantity.h"
#include "engine/machine/sample.h"
#include "engine/object/pod_class.h"

#define MIB         1048576
#define WINDOW_USEC (300 * 1000000LL)

static int64_t milli_of(double cores)
{
	return isnan(cores) || cores < 0 || cores > 1e6 ? NEAP_MISSING
							: (int64_t)(cores * 1000);
}

/* NULL: neither value is known. */
static json_t *usage_json(int64_t cpu_milli, int64_t memory_bytes)
{
	char cpu[32], memory[32];

	if (cpu_milli == NEAP_MISSING && memory_bytes == NEAP_MISSING)
		return NULL;
	return json_pack("{s:{s:s*, s:s*}}", "resources", "cpu",
			 cpu_milli == NEAP_MISSING ? NULL
						   : neap_quantity_format_milli(
							     cpu_milli, cpu, sizeof(cpu)),
			 "memory",
			 memory_bytes == NEAP_MISSING
				 ? NULL
				 : neap_quantity_format_bytes(memory_bytes, memory,
							      sizeof(memory)));
}

void node_metric_look(struct node_state *state)
{
	const struct neap_sample *sample =
		state->config->node ? neap_node_sample(state->config->node) : NULL;

	if (!sample || sample->mono_usec == state->sampled_usec ||
	    sample->memory_used_bytes == NEAP_MISSING)
		return;
	state->sampled_usec = sample->mono_usec;
	neap_window_add(state->memory_used, sample->mono_usec,
			(float)sample->memory_used_bytes / MIB);
}

/* --- the node --- */

static json_t *aggregated_json(const struct node_state *state,
			       const struct neap_sample *sample)
{
	const struct {
		const char *name;
		double cores;
		enum neap_aggregate aggregate;
	} rows[] = {
		{"avg", sample->used_avg_cores, NEAP_AGG_AVG},
		{"p50", sample->used_p50_cores, NEAP_AGG_P50},
		{"p90", sample->used_p90_cores, NEAP_AGG_P90},
		{"p95", sample->used_p95_cores, NEAP_AGG_P95},
		{"p99", sample->used_p99_cores, NEAP_AGG_P99},
	};
	struct neap_window_result memory;
	bool has_memory = neap_window_get(state->memory_used, sample->mono_usec,
					  WINDOW_USEC, &memory);
	json_t *usage = json_object();

	for (size_t i = 0; i < NEAP_ARRAY_LEN(rows); i++) {
		int64_t bytes =
			has_memory
				? (int64_t)((double)memory.value[rows[i].aggregate] * MIB)
				: NEAP_MISSING;
		json_t *figure = usage_json(milli_of(rows[i].cores), bytes);

		if (figure)
			(void)json_object_set_new(usage, rows[i].name, figure);
	}
	return json_pack("[{s:o, s:s}]", "usage", usage, "duration", "5m0s");
}

/* --- its pods --- */

/* The usage of listed pods and host applications; the rest of the node's usage is the
 * system's. */
struct listed {
	double cores;
	int64_t bytes;
};

static double cores_of(const struct neap_workload *workload)
{
	return isnan(workload->used_avg_cores) ? workload->used_cores
					       : workload->used_avg_cores;
}

/* NULL: no value is known. */
static json_t *workload_json(const struct neap_workload *workload, struct listed *listed)
{
	double cores = cores_of(workload);
	json_t *usage = usage_json(milli_of(cores), workload->memory_bytes);

	if (usage && milli_of(cores) != NEAP_MISSING)
		listed->cores += cores;
	if (usage && workload->memory_bytes != NEAP_MISSING)
		listed->bytes += workload->memory_bytes;
	return usage;
}

struct pods {
	const struct node_state *state;
	struct neap_map *by_uid; /* workloads of the sample */
	struct listed *listed;
	json_t *list;
	bool is_short; /* true: memory is short */
};

static void list_pod(struct pods *pods, const struct neap_object *object,
		     const json_t *tree)
{
	const struct neap_workload *workload =
		neap_map_find(pods->by_uid, neap_pins_group_uid(object, tree));
	struct neap_pod_class class = neap_pod_class_read(tree);
	json_t *usage = workload ? workload_json(workload, pods->listed) : NULL;

	if (usage)
		(void)json_array_append_new(
			pods->list,
			json_pack("{s:s, s:s, s:o, s:s, s:s}", "name", object->name,
				  "namespace", object->ns, "podUsage", usage, "priority",
				  neap_band_name(class.band), "qos",
				  neap_qos_name(class.qos)));
}

static bool take_pod(void *arg, struct neap_object *object)
{
	struct pods *pods = arg;
	const char *place = neap_object_field(object, "spec.nodeName");
	json_t *tree;

	if (!place || strcmp(place, pods->state->config->node_name) != 0)
		return true;
	tree = neap_object_tree(object);
	if (tree)
		list_pod(pods, object, tree);
	pods->is_short = !tree;
	json_decref(tree);
	return !pods->is_short;
}

/* False without memory. */
static bool find_pods(const struct node_state *state, const struct neap_sample *sample,
		      json_t *list, struct listed *listed)
{
	struct neap_client *client = state->config->client;
	struct neap_client_place place = {.version = neap_client_version(client)};
	struct pods pods = {
		.state = state, .by_uid = neap_map_new(), .listed = listed, .list = list};
	bool ok = pods.by_uid;
	struct neap_error err;

	for (size_t i = 0; ok && i < sample->workload_count; i++)
		ok = neap_map_set(pods.by_uid, sample->workloads[i].id,
				  &sample->workloads[i]);
	/* Workloads that are not pods do not matter here. */
	ok = ok &&
	     neap_client_list(client, "pods", NULL, &place, take_pod, &pods, &err) >= 0 &&
	     !pods.is_short;
	neap_map_free(pods.by_uid);
	return ok;
}

/* --- the whole --- */

static void list_host_apps(const struct neap_sample *sample, json_t *list,
			   struct listed *listed)
{
	for (size_t i = 0; i < sample->workload_count; i++) {
		const struct neap_workload *workload = &sample->workloads[i];
		json_t *usage;

		if (strcmp(workload->source, "host") != 0)
			continue;
		usage = workload_json(workload, listed);
		if (usage)
			(void)json_array_append_new(
				list, json_pack("{s:s, s:o, s:s*}", "name",
						workload->name, "usage", usage, "qos",
						workload->qos == NEAP_QOS_NONE
							? NULL
							: workload->qos_name));
	}
}

/* The node's usage less the listed usage, not below 0. */
static json_t *rest_json(const struct neap_sample *sample, const struct listed *listed)
{
	double cores = sample->used_avg_cores - listed->cores;
	int64_t bytes = sample->memory_used_bytes;

	if (bytes != NEAP_MISSING)
		bytes = bytes > listed->bytes ? bytes - listed->bytes : 0;
	return usage_json(milli_of(cores < 0 ? 0 : cores), bytes);
}

json_t *node_metric_make(const struct node_state *state, int64_t now)
{
	const struct neap_sample *sample =
		state->config->node ? neap_node_sample(state->config->node) : NULL;
	struct listed listed = {0};
	json_t *pods, *host_apps, *usage;
	char time[32];

	if (!sample)
		return NULL;
	usage = usage_json(milli_of(sample->used_avg_cores), sample->memory_used_bytes);
	if (!usage)
		return NULL;
	pods = json_array();
	host_apps = json_array();
	if (!pods || !find_pods(state, sample, pods, &listed)) {
		json_decref(usage);
		json_decref(pods);
		json_decref(host_apps);
		return NULL;
	}
	list_host_apps(sample, host_apps, &listed);
	(void)neap_time_format(now, 0, time, sizeof(time));
	return json_pack("{s:s, s:{s:o, s:o, s:o*}, s:o, s:o}", "updateTime", time,
			 "nodeMetric", "nodeUsage", usage, "aggregatedNodeUsages",
			 aggregated_json(state, sample), "systemUsage",
			 rest_json(sample, &listed), "podsMetric", pods,
			 "hostApplicationMetric", host_apps);
}
