/* SPDX-License-Identifier: Apache-2.0
 *
 * The Reservation that is created for a job: room for the pod's successor, on any node
 * except the pod's. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/cluster/kept.h"
#include "engine/json/json.h"
#include "engine/migrate/job.h"
#include "engine/numa/cpu_policy.h"
#include "engine/reserve/reserve.h"

/* Who takes longer to end is not waited for. */
#define GRACE_MAX_S 86400

/* What schedulers and evictors wrote about the pod itself. */
static const char *const own_notes[] = {NEAP_KEY_RESOURCE_STATUS,
					NEAP_KEY_RESERVATION_ALLOCATED,
					"scheduling.koordinator.sh/device-allocated",
					"scheduling.koordinator.sh/soft-eviction"};

bool neap_migrate_exclude_node(json_t *spec, const char *node)
{
	json_t *at = neap_json_need_take(spec, "affinity", json_object());
	json_t *terms, *term;
	size_t i;

	at = at ? neap_json_need_take(at, "nodeAffinity", json_object()) : NULL;
	at = at ? neap_json_need_take(at,
				      "requiredDuringSchedulingIgnoredDuringExecution",
				      json_object())
		: NULL;
	terms = at ? neap_json_need_take(at, "nodeSelectorTerms", json_array()) : NULL;
	if (!terms)
		return false;
	if (json_array_size(terms) == 0 &&
	    json_array_append_new(terms, json_object()) < 0)
		return false;
	json_array_foreach (terms, i, term) {
		json_t *fields = neap_json_need_take(term, "matchFields", json_array());

		if (!fields ||
		    json_array_append_new(fields, json_pack("{s:s, s:s, s:[s]}", "key",
							    "metadata.name", "operator",
							    "NotIn", "values", node)) < 0)
			return false;
	}
	return true;
}

static bool prefer_node(json_t *spec, const char *node)
{
	json_t *at = neap_json_need_take(spec, "affinity", json_object());
	json_t *list;

	at = at ? neap_json_need_take(at, "nodeAffinity", json_object()) : NULL;
	list = at ? neap_json_need_take(at,
					"preferredDuringSchedulingIgnoredDuringExecution",
					json_array())
		  : NULL;
	return list && json_array_append_new(
			       list, json_pack("{s:i, s:{s:[{s:s, s:s, s:[s]}]}}",
					       "weight", 100, "preference", "matchFields",
					       "key", "metadata.name", "operator", "In",
					       "values", node)) == 0;
}

/* What of the pod's metadata its successor will have, too. */
static bool copy_meta(const json_t *from, json_t *to)
{
	static const char *const names[] = {"name", "namespace", "labels", "annotations"};
	json_t *notes;

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		json_t *value = json_object_get(from, names[i]);

		if (value &&
		    json_object_set_new(to, names[i], neap_json_deep_copy(value)) < 0)
			return false;
	}
	notes = json_object_get(to, "annotations");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(own_notes); i++)
		(void)json_object_del(notes, own_notes[i]);
	return true;
}

static bool is_waiting_for_place(const json_t *pod)
{
	const json_t *status = json_object_get(pod, "status");

	return neap_json_is_text(status, "phase", "Pending") &&
	       neap_json_is_text(neap_json_condition(status, "PodScheduled"), "status",
				 "False");
}

/* NULL: there is nobody to name, or no memory. */
static json_t *owner_new(const json_t *pod)
{
	const json_t *meta = json_object_get(pod, "metadata");
	const json_t *controller = neap_migrate_controller(pod);
	const char *ns = neap_json_text(meta, "namespace");
	json_t *one;

	if (is_waiting_for_place(pod))
		return json_pack("{s:{s:s, s:s, s:s, s:s}}", "object", "kind", "Pod",
				 "namespace", ns, "name", neap_json_text(meta, "name"),
				 "uid", neap_json_text(meta, "uid"));
	if (!controller)
		return NULL;
	one = neap_json_deep_copy(controller);
	if (!one || json_object_set_new(one, "namespace", json_string(ns)) < 0) {
		json_decref(one);
		return NULL;
	}
	return json_pack("{s:o}", "controller", one);
}

static bool fill_template(json_t *spec, const json_t *job, const json_t *pod)
{
	const char *landing = neap_json_text(neap_json_at(job, "metadata.annotations"),
					     NEAP_KEY_JOB_LANDING);
	json_t *template = json_object_get(spec, "template"), *inner;
	const char *node = neap_json_text(json_object_get(pod, "spec"), "nodeName");
	json_t *meta;

	if (!json_is_object(template)) {
		template = neap_json_need_take(spec, "template", json_object());
		meta = template ? neap_json_need_take(template, "metadata", json_object())
				: NULL;
		if (!meta || !copy_meta(json_object_get(pod, "metadata"), meta) ||
		    json_object_set_new(
			    template, "spec",
			    neap_json_deep_copy(json_object_get(pod, "spec"))) < 0)
			return false;
	}
	inner = neap_json_need_take(template, "spec", json_object());
	if (!inner)
		return false;
	(void)json_object_del(inner, "nodeName");
	if (*landing && !prefer_node(inner, landing))
		return false;
	return !*node || neap_migrate_exclude_node(inner, node);
}

/* The job's, and as long as the pod takes to end: evicted at the last moment it still has
 * the room for its successor. */
static bool fill_ttl(json_t *spec, const json_t *job, const json_t *pod)
{
	const char *given = neap_json_text(json_object_get(job, "spec"), "ttl");
	int64_t grace_s = json_integer_value(
		neap_json_at(pod, "spec.terminationGracePeriodSeconds"));
	int64_t ttl;
	char text[32];

	if (json_object_get(spec, "ttl") || json_object_get(spec, "expires") || !*given)
		return true;
	if (grace_s > 0 && grace_s <= GRACE_MAX_S &&
	    neap_duration_parse(given, &ttl, NULL) == 0 && ttl > 0) {
		(void)neap_duration_format(ttl + grace_s * 1000000, text, sizeof(text));
		given = text;
	}
	return json_object_set_new(spec, "ttl", json_string(given)) == 0;
}

static bool fill_spec(json_t *spec, const json_t *job, const json_t *pod)
{
	if (!fill_template(spec, job, pod) ||
	    json_object_set_new(spec, "allocateOnce", json_true()) < 0 ||
	    !fill_ttl(spec, job, pod))
		return false;
	if (json_array_size(json_object_get(spec, "owners")) == 0) {
		json_t *one = owner_new(pod);
		json_t *list = one ? json_pack("[o]", one) : json_array();

		if (json_object_set_new(spec, "owners", list) < 0)
			return false;
	}
	return true;
}

static bool fill_meta(json_t *meta, const json_t *job, int64_t now_usec)
{
	json_t *labels = neap_json_need_take(meta, "labels", json_object());
	const char *name = neap_migrate_reservation_name(job);
	char order[32];

	(void)snprintf(order, sizeof(order), "%" PRId64, now_usec / 1000);
	return labels &&
	       json_object_set_new(labels, NEAP_KEY_CREATED_BY,
				   json_string(NEAP_MIGRATE_CREATOR)) == 0 &&
	       json_object_set_new(labels, NEAP_KEY_RESERVATION_ORDER,
				   json_string(order)) == 0 &&
	       json_object_set_new(meta, "name", json_string(name)) == 0;
}

json_t *neap_migrate_reservation_new(const json_t *job, const json_t *pod,
				     int64_t now_usec)
{
	const json_t *given = neap_json_at(job, "spec.reservationOptions.template");
	json_t *ret = json_is_object(given) ? neap_json_deep_copy(given) : json_object();
	json_t *meta = ret ? neap_json_need_take(ret, "metadata", json_object()) : NULL;
	json_t *spec = ret ? neap_json_need_take(ret, "spec", json_object()) : NULL;

	return neap_json_made(meta && spec && fill_meta(meta, job, now_usec) &&
				      fill_spec(spec, job, pod),
			      ret);
}
