/* SPDX-License-Identifier: Apache-2.0
 *
 * The inputs of a pod's load estimate, besides its requests. */
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/pod/pod_priv.h"

#define PREFIX "scheduling.koordinator.sh/load-estimated-"

/* When the condition became True; 0: it is not. */
static int64_t condition_usec(const json_t *conditions, const char *type)
{
	for (size_t i = 0; i < json_array_size(conditions); i++) {
		const json_t *json = json_array_get(conditions, i);
		const char *text = neap_json_text(json, "lastTransitionTime");
		int64_t usec;

		if (strcmp(neap_json_text(json, "type"), type) == 0 &&
		    neap_json_is_text(json, "status", "True") &&
		    neap_time_parse(text, &usec, NULL) == 0)
			return usec;
	}
	return 0;
}

static int64_t read_seconds(const json_t *annotations, const char *name)
{
	const char *text = neap_json_text(annotations, name);
	int64_t seconds;

	if (!*text || neap_int_parse(text, &seconds, NULL) < 0 || seconds < 0 ||
	    seconds > INT32_MAX)
		return -1;
	return seconds * 1000000;
}

static bool are_factors(const json_t *map)
{
	const char *name;
	json_t *value;

	json_object_foreach ((json_t *)(uintptr_t)map, name, value)
		if (!json_is_integer(value) && !json_is_null(value))
			return false;
	return json_object_size(map) <= NEAP_POD_FACTORS_MAX;
}

/* As in the reference: one invalid number makes all invalid, null is 0. False without
 * memory. */
static bool read_factors(struct neap_pod *pod, const json_t *annotations)
{
	const char *text = neap_json_text(annotations, PREFIX "scaling-factors"), *name;
	struct neap_pod_factor *factors;
	json_t *map = NULL, *value;
	json_error_t where;
	int ret;

	if (!*text)
		return true;
	ret = neap_json_parse(text, strlen(text), 0, &map, &where);
	if (ret < 0)
		return ret != -NEAP_ENOMEM;
	if (are_factors(map)) {
		factors = neap_arena_array(&pod->arena, json_object_size(map),
					   sizeof(*factors));
		pod->load.factors = factors;
		json_object_foreach (map, name, value) {
			if (!factors)
				break;
			factors[pod->load.factor_count++] = (struct neap_pod_factor){
				neap_arena_strdup(&pod->arena, name),
				json_integer_value(value)};
		}
	}
	json_decref(map);
	return !pod->arena.failed;
}

static bool is_daemon(const json_t *owners)
{
	for (size_t i = 0; i < json_array_size(owners); i++)
		if (neap_json_is_text(json_array_get(owners, i), "kind", "DaemonSet"))
			return true;
	return false;
}

int neap_pod_read_load(struct neap_pod *pod, const json_t *tree,
		       const struct neap_resources *resources, struct neap_error *err)
{
	const json_t *meta = json_object_get(tree, "metadata");
	const json_t *annotations = json_object_get(meta, "annotations");
	const json_t *conditions =
		json_object_get(json_object_get(tree, "status"), "conditions");
	struct neap_pod_load *load = &pod->load;
	struct neap_error fault = {0};
	struct neap_amounts limits;
	struct neap_amount *list;

	load->band = neap_pod_class_read(tree).band;
	load->is_daemon = is_daemon(json_object_get(meta, "ownerReferences"));
	load->assigned_usec = condition_usec(conditions, "PodScheduled");
	if (!load->assigned_usec)
		load->assigned_usec = INT64_MAX;
	load->initialized_usec = condition_usec(conditions, "Initialized");
	load->after_scheduled_usec =
		read_seconds(annotations, PREFIX "seconds-after-pod-scheduled");
	load->after_initialized_usec =
		read_seconds(annotations, PREFIX "seconds-after-initialized");
	if (!read_factors(pod, annotations))
		return neap_error_nomem(err);
	if (neap_pod_read_limits(&limits, json_object_get(tree, "spec"), resources,
				 &fault) < 0) {
		if (fault.code == NEAP_ENOMEM)
			return neap_error_nomem(err);
		limits.count = 0;
	}
	list = neap_arena_array(&pod->arena, limits.count, sizeof(*list));
	if (!list)
		return neap_error_nomem(err);
	for (size_t i = 0; i < limits.count; i++)
		list[i] = limits.of[i];
	load->limits = list;
	load->limit_count = limits.count;
	return 0;
}
