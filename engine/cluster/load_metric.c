/* SPDX-License-Identifier: Apache-2.0
 *
 * Reads a NodeMetric. */
#include <stdlib.h>
#include <string.h>

#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/cluster/load.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

#define INTERVAL_SECONDS     60
#define INTERVAL_SECONDS_MAX (INT64_C(365) * 24 * 3600)

static const json_t *resources_of(const json_t *json, const char *name)
{
	return json_object_get(json_object_get(json, name), "resources");
}

static bool read_aggregated(struct neap_load_metric *metric,
			    const struct neap_load_args *args, const json_t *list)
{
	metric->aggregated =
		neap_arena_array(&metric->arena, NEAP_LOAD_AGGREGATED_MAX,
				 json_array_size(list) ? sizeof(*metric->aggregated) : 0);
	if (!metric->aggregated)
		return false;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);
		const json_t *usage = json_object_get(json, "usage");
		const char *duration = neap_json_text(json, "duration");
		struct neap_load_which which = {0};

		if (*duration && neap_duration_parse(duration, &which.usec, NULL) < 0)
			continue;
		for (int n = NEAP_LOAD_AVG; n < NEAP_LOAD_TYPE_COUNT; n++) {
			const json_t *map = resources_of(usage, neap_load_types[n]);
			struct neap_load_usage *row =
				&metric->aggregated[metric->aggregated_count];

			if (!json_object_size(map) ||
			    metric->aggregated_count == NEAP_LOAD_AGGREGATED_MAX)
				continue;
			which.type = (enum neap_load_type)n;
			row->which = which;
			(void)neap_load_vector(args, map, row->used);
			metric->aggregated_count++;
		}
	}
	return true;
}

/* One without usage is not reported. */
static bool read_pods(struct neap_load_metric *metric, const struct neap_load_args *args,
		      const json_t *list)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *json = json_array_get(list, i);
		const json_t *used = resources_of(json, "podUsage");
		struct neap_load_pod *pod;
		char key[NEAP_POD_KEY];

		if (!json_object_size(used))
			continue;
		pod = neap_arena_alloc(&metric->arena, sizeof(*pod));
		if (!pod)
			return false;
		pod->is_prod = neap_json_is_text(json, "priority", "koord-prod");
		(void)neap_load_vector(args, used, pod->used);
		(void)neap_pod_key(neap_json_text(json, "namespace"),
				   neap_json_text(json, "name"), key);
		if (!neap_map_set(metric->pods, key, pod))
			return false;
	}
	return true;
}

/* 0 is valid; only a missing or invalid value gives the default. */
static int64_t interval_usec(const json_t *tree)
{
	const json_t *policy =
		json_object_get(json_object_get(tree, "spec"), "metricCollectPolicy");
	const json_t *value = json_object_get(policy, "reportIntervalSeconds");
	json_int_t seconds = json_integer_value(value);

	if (!json_is_integer(value) || seconds < 0 || seconds > INTERVAL_SECONDS_MAX)
		seconds = INTERVAL_SECONDS;
	return seconds * INT64_C(1000000);
}

int neap_load_metric_new(const struct neap_load_args *args, const json_t *tree,
			 struct neap_load_metric **ret, struct neap_error *err)
{
	const json_t *status = json_object_get(tree, "status");
	const json_t *usage = json_object_get(status, "nodeMetric");
	struct neap_load_metric *metric = neap_alloc(sizeof(*metric));

	if (!metric)
		return neap_error_nomem(err);
	metric->interval_usec = interval_usec(tree);
	metric->has_time = neap_time_parse(neap_json_text(status, "updateTime"),
					   &metric->update_usec, NULL) == 0;
	metric->has_usage = json_is_object(usage);
	(void)neap_load_vector(args, resources_of(usage, "nodeUsage"), metric->used);
	(void)neap_load_vector(args, resources_of(usage, "systemUsage"), metric->system);
	metric->pods = neap_map_new();
	if (!metric->pods ||
	    !read_aggregated(metric, args,
			     json_object_get(usage, "aggregatedNodeUsages")) ||
	    !read_pods(metric, args, json_object_get(status, "podsMetric"))) {
		neap_load_metric_free(metric);
		return neap_error_nomem(err);
	}
	*ret = metric;
	return 0;
}

void neap_load_metric_free(struct neap_load_metric *metric)
{
	if (!metric)
		return;
	neap_map_free(metric->pods);
	neap_arena_done(&metric->arena);
	free(metric);
}

const int64_t *neap_load_metric_get(const struct neap_load_metric *metric,
				    struct neap_load_which which)
{
	const struct neap_load_usage *best = NULL;

	if (which.type == NEAP_LOAD_PLAIN)
		return metric->used;
	for (size_t i = 0; i < metric->aggregated_count; i++) {
		const struct neap_load_usage *row = &metric->aggregated[i];

		if (row->which.type != which.type ||
		    (which.usec && row->which.usec != which.usec))
			continue;
		if (!best || row->which.usec >= best->which.usec)
			best = row;
	}
	return best ? best->used : NULL;
}
