/* SPDX-License-Identifier: Apache-2.0
 *
 * What the node and its pods use, as NodeMetric has it. CPU figures are those of the node's own windows; of memory
 * a window of its own has one value a look. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/agent/node_keep_priv.h"
#include "engine/base/json.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/machine/window.h"

#define MIB         1048576
#define WINDOW_USEC (300 * 1000000LL)

static int64_t milli_of(double cores)
{
	return isnan(cores) || cores < 0 || cores > 1e6 ? NEAP_MISSING
							: (int64_t)(cores * 1000);
}

/* NULL: neither is known. */
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

/* Bands of spec.priority; the label wins. NULL: none. */
static const char *class_of(const struct neap_object *pod, const json_t *tree)
{
	static const struct {
		const char *name;
		json_int_t from, to;
	} bands[] = {{"koord-prod", 9000, 9999},
		     {"koord-mid", 7000, 7999},
		     {"koord-batch", 5000, 5999},
		     {"koord-free", 3000, 3999}};
	const char *label = neap_object_label(pod, "koordinator.sh/priority-class");
	const json_t *priority =
		json_object_get(json_object_get(tree, "spec"), "priority");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(bands); i++) {
		json_int_t value = json_integer_value(priority);

		if (label ? strcmp(label, bands[i].name) == 0
			  : json_is_integer(priority) && value >= bands[i].from &&
				    value <= bands[i].to)
			return bands[i].name;
	}
	return NULL;
}

struct pods {
	const struct node_state *state;
	struct neap_map *by_uid; /* workloads of the sample */
	json_t *list;
};

static bool take_pod(void *arg, struct neap_object *object)
{
	struct pods *pods = arg;
	const char *place = neap_object_field(object, "spec.nodeName");
	const struct neap_workload *workload;
	json_t *usage, *tree;

	if (!place || strcmp(place, pods->state->config->node_name) != 0)
		return true;
	workload = neap_map_find(pods->by_uid, object->uid);
	usage = workload ? usage_json(milli_of(isnan(workload->used_avg_cores)
						       ? workload->used_cores
						       : workload->used_avg_cores),
				      workload->memory_bytes)
			 : NULL;
	if (!usage)
		return true;
	tree = neap_object_tree(object);
	(void)json_array_append_new(
		pods->list,
		json_pack("{s:s, s:s, s:o, s:s*, s:s*}", "name", object->name,
			  "namespace", object->ns, "podUsage", usage, "priority",
			  class_of(object, tree), "qos",
			  neap_object_label(object, "koordinator.sh/qosClass")));
	json_decref(tree);
	return true;
}

/* False without memory. */
static bool find_pods(const struct node_state *state, const struct neap_sample *sample,
		      json_t *list)
{
	struct neap_store *store = state->config->store;
	struct neap_store_place place = {.version = neap_store_version(store)};
	struct pods pods = {.state = state, .by_uid = neap_map_new(), .list = list};
	bool ok = pods.by_uid;
	struct neap_error err;

	for (size_t i = 0; ok && i < sample->workload_count; i++)
		ok = neap_map_set(pods.by_uid, sample->workloads[i].id,
				  &sample->workloads[i]);
	/* With what others than pods use it is no matter. */
	ok = ok &&
	     neap_store_list(store, "pods", NULL, &place, take_pod, &pods, &err) >= 0;
	neap_map_free(pods.by_uid);
	return ok;
}

/* --- the whole --- */

/* Use of the node less that of its workloads, not below 0. Host applications are listed beside. */
static json_t *rest_json(const struct neap_sample *sample, json_t *host_apps)
{
	double cores = sample->used_avg_cores;
	int64_t bytes = sample->memory_used_bytes;

	for (size_t i = 0; i < sample->workload_count; i++) {
		const struct neap_workload *workload = &sample->workloads[i];
		int64_t milli = milli_of(workload->used_avg_cores);
		json_t *usage;

		if (milli != NEAP_MISSING)
			cores -= workload->used_avg_cores;
		if (bytes != NEAP_MISSING && workload->memory_bytes != NEAP_MISSING)
			bytes -= workload->memory_bytes;
		if (strcmp(workload->source, "host") != 0)
			continue;
		usage = usage_json(milli, workload->memory_bytes);
		if (usage)
			(void)json_array_append_new(
				host_apps,
				json_pack("{s:s, s:o, s:s*}", "name", workload->name,
					  "usage", usage, "qos",
					  workload->qos == NEAP_QOS_NONE
						  ? NULL
						  : workload->qos_name));
	}
	if (bytes != NEAP_MISSING && bytes < 0)
		bytes = 0;
	return usage_json(milli_of(cores < 0 ? 0 : cores), bytes);
}

json_t *node_metric_make(const struct node_state *state, int64_t now)
{
	const struct neap_sample *sample =
		state->config->node ? neap_node_sample(state->config->node) : NULL;
	json_t *pods, *host_apps, *usage;
	char time[32];

	if (!sample)
		return NULL;
	usage = usage_json(milli_of(sample->used_avg_cores), sample->memory_used_bytes);
	if (!usage)
		return NULL;
	pods = json_array();
	host_apps = json_array();
	if (!pods || !find_pods(state, sample, pods)) {
		json_decref(usage);
		json_decref(pods);
		json_decref(host_apps);
		return NULL;
	}
	(void)neap_time_format(now, 0, time, sizeof(time));
	return json_pack("{s:s, s:{s:o, s:o, s:o*}, s:o, s:o}", "updateTime", time,
			 "nodeMetric", "nodeUsage", usage, "aggregatedNodeUsages",
			 aggregated_json(state, sample), "systemUsage",
			 rest_json(sample, host_apps), "podsMetric", pods,
			 "hostApplicationMetric", host_apps);
}
