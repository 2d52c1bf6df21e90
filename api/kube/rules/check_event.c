/* SPDX-License-Identifier: Apache-2.0
 *
 * Events. Those of events.k8s.io/v1 have stricter rules. They are checked in their stored
 * form, and messages use stored field names, as in a kube-apiserver; except
 * reportingController. */
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/rules/check_priv.h"

#define NOTE_MAX 1024

static void need_up_to(const json_t *object, const char *name, const char *shown,
		       size_t max, struct neap_causes *causes)
{
	const json_t *value = json_object_get(object, name);

	if (json_string_length(value) == 0)
		neap_causes_required(causes, shown, "");
	else if (json_string_length(value) > max)
		neap_causes_invalid(causes, shown, value,
				    "can have at most %zu characters", max);
}

/* Whether an event in namespace own may be about an object in namespace space. New events
 * (with eventTime) about an object with a namespace may be in any. */
static bool is_place(const char *own, const char *space, bool is_new)
{
	if (space[0] != '\0')
		return is_new || strcmp(space, own) == 0;
	return strcmp(own, "default") == 0 ||
	       (is_new ? strcmp(own, "kube-system") == 0 : own[0] == '\0');
}

static void check_event(const json_t *object, const char *reporter,
			struct neap_causes *causes)
{
	const json_t *about = json_object_get(object, "involvedObject");
	const char *space = neap_kube_text(about, "namespace");
	const char *own = neap_kube_meta_text(object, "namespace");
	const json_t *message = json_object_get(object, "message");
	bool is_new = json_is_string(json_object_get(object, "eventTime"));

	if (!is_place(own, space, is_new))
		rule_invalid_text(causes, "involvedObject.namespace", space,
				  "does not match event.namespace");
	if (!is_new)
		return;
	need_up_to(object, "reportingComponent", reporter, 253 + 1 + 63, causes);
	if (neap_kube_text(object, "reportingComponent")[0] != '\0')
		rule_qualified(object, "reportingComponent", causes);
	need_up_to(object, "reportingInstance", "reportingInstance", 128, causes);
	need_up_to(object, "action", "action", 128, causes);
	need_up_to(object, "reason", "reason", 128, causes);
	if (json_string_length(message) > NOTE_MAX)
		neap_causes_invalid(causes, "message", message,
				    "can have at most %d characters", NOTE_MAX);
}

void neap_kube_check_event(const json_t *object, const json_t *before,
			   struct neap_causes *causes)
{
	(void)before;
	check_event(object, "reportingComponent", causes);
}

/* --- of events.k8s.io/v1 --- */

static void check_series(const json_t *series, struct neap_causes *causes)
{
	if (!json_is_object(series))
		return;
	/* Clients before 1.26 start a series at 1. */
	if (rule_int(series, "count") < 1)
		rule_invalid_text(causes, "series.count", "", "should be at least 1");
	if (!json_is_string(json_object_get(series, "lastObservedTime")))
		neap_causes_required(causes, "series.lastObservedTime", "");
}

/* Fields that only core events may have. */
static void check_unset(const json_t *object, struct neap_causes *causes)
{
	static const char *const names[] = {"firstTimestamp", "lastTimestamp", "count",
					    "source"};
	const json_t *source = json_object_get(object, "source");

	for (size_t i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const json_t *value = json_object_get(object, names[i]);
		bool is_set = value == source ? neap_kube_text(source, "component")[0] ||
							neap_kube_text(source, "host")[0]
			      : json_is_integer(value) ? json_integer_value(value) != 0
						       : json_is_string(value);

		if (is_set)
			rule_invalid_text(causes, names[i], "", "needs to be unset");
	}
}

static void check_new(const json_t *object, struct neap_causes *causes)
{
	const char *type = neap_kube_text(object, "type");

	check_series(json_object_get(object, "series"), causes);
	if (!json_is_string(json_object_get(object, "eventTime")))
		neap_causes_required(causes, "eventTime", "");
	if (strcmp(type, "Normal") != 0 && strcmp(type, "Warning") != 0)
		neap_causes_add(causes, "FieldValueInvalid", "type",
				"Invalid value: \"\": has invalid value: %.100s", type);
	check_unset(object, causes);
}

void neap_kube_check_event_view(const json_t *object, const json_t *before,
				struct neap_causes *causes)
{
	static const char *const kept[] = {"involvedObject",
					   "reason",
					   "message",
					   "firstTimestamp",
					   "lastTimestamp",
					   "count",
					   "type",
					   "eventTime",
					   "action",
					   "related",
					   "reportingComponent",
					   "reportingInstance"};

	check_event(object, "reportingController", causes);
	if (before == NULL) {
		check_new(object, causes);
		return;
	}
	if (!rule_same(json_object_get(object, "series"),
		       json_object_get(before, "series")))
		check_series(json_object_get(object, "series"), causes);
	for (size_t i = 0; i < NEAP_ARRAY_LEN(kept); i++)
		rule_immutable(object, before, kept[i], causes);
}
