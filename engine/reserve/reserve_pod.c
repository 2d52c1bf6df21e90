/* SPDX-License-Identifier: Apache-2.0
 *
 * The placeholder pod of a Reservation: its template under the Reservation's uid. */
#include <stdio.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/json/json.h"
#include "engine/reserve/reserve.h"

#define LABEL_PRIORITY "koordinator.sh/priority"
/* Nobody preempts it. */
#define PRIORITY_MAX INT32_MAX

static const json_t *at(const json_t *object, const char *a, const char *b)
{
	return json_object_get(json_object_get(object, a), b);
}

/* NULL when it is missing or "". */
static const char *text_at(const json_t *object, const char *name)
{
	const char *text = json_string_value(json_object_get(object, name));

	return text && *text ? text : NULL;
}

const char *neap_reserve_scheduler(const json_t *reservation)
{
	const char *name =
		text_at(json_object_get(at(reservation, "spec", "template"), "spec"),
			"schedulerName");

	return name ? name : "default-scheduler";
}

json_t *neap_reserve_amounts_json(const struct neap_amounts *amounts,
				  const struct neap_resources *resources)
{
	json_t *map = json_object();
	char text[64];

	for (size_t i = 0; map && i < amounts->count; i++) {
		const struct neap_amount *one = &amounts->of[i];

		if (one->resource == NEAP_RESOURCE_CPU)
			(void)neap_quantity_format_milli(one->amount, text, sizeof(text));
		else
			(void)neap_quantity_format_bytes(one->amount, text, sizeof(text));
		if (json_object_set_new(map,
					neap_resources_name(resources, one->resource),
					json_string(text)) < 0) {
			json_decref(map);
			return NULL;
		}
	}
	return map;
}

/* --- requests in place of the template's --- */

static void clear_requests(json_t *containers)
{
	json_t *container;
	size_t i;

	json_array_foreach (containers, i, container)
		(void)json_object_del(container, "resources");
}

static bool set_requests(json_t *spec, const struct neap_amounts *requests,
			 const struct neap_resources *resources)
{
	json_t *containers = json_object_get(spec, "containers");
	json_t *map = neap_reserve_amounts_json(requests, resources);

	clear_requests(containers);
	clear_requests(json_object_get(spec, "initContainers"));
	(void)json_object_del(spec, "overhead");
	(void)json_object_del(spec, "resources");
	if (!json_is_array(containers)) {
		containers = json_array();
		if (json_object_set_new(spec, "containers", containers) < 0)
			containers = NULL;
	}
	if (!map || !containers) {
		json_decref(map);
		return false;
	}
	return json_array_append_new(containers,
				     json_pack("{s:s, s:{s:o}}", "name", "reserved",
					       "resources", "requests", map)) == 0;
}

/* --- metadata and spec --- */

/* Those of the reservation over those of the template. */
static bool overlay(json_t *meta, const char *name, const json_t *under,
		    const json_t *over)
{
	json_t *map = json_is_object(under) ? neap_json_copy(under) : json_object();

	if (map && json_is_object(over) &&
	    json_object_update(map, (json_t *)(uintptr_t)over) < 0) {
		json_decref(map);
		return false;
	}
	return json_object_set_new(meta, name, map) == 0;
}

static bool set_text(json_t *object, const char *name, const char *value)
{
	return json_object_set_new(object, name, json_string(value)) == 0;
}

static bool fill_meta(json_t *meta, const json_t *reservation)
{
	const json_t *own = json_object_get(reservation, "metadata");
	const json_t *template = at(reservation, "spec", "template");
	const json_t *under = json_object_get(template, "metadata");
	const char *uid = text_at(own, "uid"), *ns = text_at(under, "namespace");
	const char *pinned = text_at(json_object_get(template, "spec"), "nodeName");
	const char *created = text_at(own, "creationTimestamp");
	json_t *notes;

	if (!overlay(meta, "labels", json_object_get(under, "labels"),
		     json_object_get(own, "labels")) ||
	    !overlay(meta, "annotations", json_object_get(under, "annotations"),
		     json_object_get(own, "annotations")))
		return false;
	notes = json_object_get(meta, "annotations");
	if (json_is_true(at(reservation, "spec", "preAllocation")) &&
	    !set_text(notes, NEAP_KEY_RESERVE_POD_PRE, "true"))
		return false;
	if (pinned && !set_text(notes, NEAP_KEY_RESERVE_POD_NODE, pinned))
		return false;
	if (created && !set_text(meta, "creationTimestamp", created))
		return false;
	return set_text(meta, "name", uid ? uid : "unknown") &&
	       set_text(meta, "uid", uid ? uid : "") &&
	       set_text(meta, "namespace", ns ? ns : "default") &&
	       set_text(notes, NEAP_KEY_RESERVE_POD, "true") &&
	       set_text(notes, NEAP_KEY_RESERVE_POD_NAME,
			text_at(own, "name") ? text_at(own, "name") : "");
}

static bool set_priority(json_t *spec, const json_t *reservation)
{
	const char *label = json_string_value(
		json_object_get(at(reservation, "metadata", "labels"), LABEL_PRIORITY));
	int64_t priority = PRIORITY_MAX;

	if (json_is_integer(json_object_get(spec, "priority")))
		return true;
	if (label && (neap_int_parse(label, &priority, NULL) < 0 ||
		      priority < INT32_MIN || priority > INT32_MAX))
		priority = PRIORITY_MAX;
	return json_object_set_new(spec, "priority", json_integer(priority)) == 0;
}

static bool fill_spec(json_t *spec, const json_t *reservation)
{
	const char *node = text_at(json_object_get(reservation, "status"), "nodeName");

	(void)json_object_del(spec, "nodeName");
	if (node && !set_text(spec, "nodeName", node))
		return false;
	return set_text(spec, "schedulerName", neap_reserve_scheduler(reservation)) &&
	       set_priority(spec, reservation);
}

json_t *neap_reserve_pod_tree(const json_t *reservation,
			      const struct neap_amounts *requests,
			      const struct neap_resources *resources)
{
	const json_t *template =
		json_object_get(at(reservation, "spec", "template"), "spec");
	const char *phase = text_at(json_object_get(reservation, "status"), "phase");
	json_t *spec =
		json_is_object(template) ? neap_json_deep_copy(template) : json_object();
	json_t *pod = json_pack("{s:{}, s:{}}", "metadata", "status");
	bool is_good = spec && pod &&
		       fill_meta(json_object_get(pod, "metadata"), reservation) &&
		       fill_spec(spec, reservation) &&
		       (!requests || set_requests(spec, requests, resources));

	if (is_good && phase &&
	    (strcmp(phase, "Succeeded") == 0 || strcmp(phase, "Failed") == 0))
		is_good = set_text(json_object_get(pod, "status"), "phase", phase);
	if (is_good)
		is_good = json_object_set_new(pod, "spec", json_incref(spec)) == 0;
	json_decref(spec);
	return neap_json_made(is_good, pod);
}
