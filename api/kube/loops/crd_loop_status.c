/* SPDX-License-Identifier: Apache-2.0
 *
 * The status of a definition, as a kube-apiserver writes it: conditions, accepted names,
 * stored versions. */
#include <string.h>

#include "api/kube/loops/crd_loop_priv.h"
#include "engine/base/quantity.h"

static const char *text_of(const json_t *object, const char *member)
{
	const char *text = json_string_value(json_object_get(object, member));

	return text ? text : "";
}

static json_t *find_condition(const json_t *tree, const char *type)
{
	const json_t *list =
		json_object_get(json_object_get(tree, "status"), "conditions");
	json_t *condition;
	size_t i;

	json_array_foreach (list, i, condition)
		if (strcmp(text_of(condition, "type"), type) == 0)
			return condition;
	return NULL;
}

bool declared_is_true(const json_t *tree, const char *condition)
{
	return strcmp(text_of(find_condition(tree, condition), "status"), "True") == 0;
}

/* Returns the member; if missing, sets it to fresh. NULL without memory. */
static json_t *need(json_t *object, const char *member, json_t *fresh)
{
	json_t *value = json_object_get(object, member);

	if (value && fresh && json_typeof(value) == json_typeof(fresh)) {
		json_decref(fresh);
		return value;
	}
	return json_object_set_new(object, member, fresh) == 0 ? fresh : NULL;
}

bool declared_set_condition(json_t *tree, const char *type, bool is, const char *reason,
			    const char *message, int64_t now)
{
	const char *status = is ? "True" : "False";
	json_t *condition = find_condition(tree, type), *all = NULL, *list = NULL;
	char time[32];

	if (!condition) {
		all = need(tree, "status", json_object());
		list = all ? need(all, "conditions", json_array()) : NULL;
		condition = list ? json_object() : NULL;
		if (!condition || json_array_append_new(list, condition) < 0 ||
		    json_object_set_new(condition, "type", json_string(type)) < 0)
			return false;
	}
	if (strcmp(text_of(condition, "status"), status) != 0 &&
	    json_object_set_new(
		    condition, "lastTransitionTime",
		    json_string(neap_time_format(now, 0, time, sizeof(time)))) < 0)
		return false;
	return json_object_set_new(condition, "status", json_string(status)) == 0 &&
	       json_object_set_new(condition, "reason", json_string(reason)) == 0 &&
	       json_object_set_new(condition, "message", json_string(message)) == 0;
}

static void drop_condition(json_t *tree, const char *type)
{
	json_t *list = json_object_get(json_object_get(tree, "status"), "conditions");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (strcmp(text_of(json_array_get(list, i), "type"), type) == 0)
			(void)json_array_remove(list, i);
}

/* Adds the storage version to the versions in which objects may be stored. */
static bool set_stored(json_t *tree)
{
	const json_t *versions =
		json_object_get(json_object_get(tree, "spec"), "versions");
	json_t *stored =
		need(json_object_get(tree, "status"), "storedVersions", json_array());
	const json_t *version, *other;
	size_t i, k;

	if (!stored)
		return false;
	json_array_foreach (versions, i, version) {
		json_t *name = json_object_get(version, "name");
		bool is_there = !json_is_true(json_object_get(version, "storage"));

		json_array_foreach (stored, k, other)
			is_there = is_there || json_equal(other, name);
		if (!is_there && json_array_append(stored, name) < 0)
			return false;
	}
	return true;
}

bool declared_set_status(json_t *tree, const struct declared_entry *entry,
			 const json_t *names, int64_t now)
{
	bool was_established = declared_is_true(tree, "Established");
	json_t *status = need(tree, "status", json_object());
	bool is;

	if (!status || !set_stored(tree))
		return false;
	if (entry->is_broken) {
		return declared_set_condition(tree, "NonStructuralSchema", true,
					      "Violations", entry->why, now) &&
		       declared_set_condition(tree, "Established", false, "NotServed",
					      "the definition cannot be served", now);
	}
	drop_condition(tree, "NonStructuralSchema");
	if (entry->has_conflict)
		is = declared_set_condition(tree, "NamesAccepted", false, entry->reason,
					    entry->why, now);
	else
		is = declared_set_condition(tree, "NamesAccepted", true, "NoConflicts",
					    "no conflicts found", now);
	if (is && !entry->kind)
		is = declared_set_condition(tree, "Established", false, "NotAccepted",
					    "not all names are accepted", now);
	else if (is && !was_established)
		is = declared_set_condition(tree, "Established", true,
					    "InitialNamesAccepted",
					    "the initial names have been accepted", now);
	if (is && entry->kind)
		is = json_object_set(status, "acceptedNames",
				     (json_t *)(uintptr_t)names) == 0;
	return is;
}
