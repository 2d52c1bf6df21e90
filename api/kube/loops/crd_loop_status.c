/* SPDX-License-Identifier: Apache-2.0
 *
 * The status of a definition, as a kube-apiserver writes it: conditions, accepted names,
 * stored versions. */
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/crd/crd.h"
#include "api/kube/loops/crd_loop_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/json/json.h"

bool declared_is_true(const json_t *tree, const char *condition)
{
	return neap_json_is_text(
		neap_json_condition(json_object_get(tree, "status"), condition), "status",
		"True");
}

bool declared_set_condition(json_t *tree, const char *type, bool is, const char *reason,
			    const char *message, int64_t now)
{
	return neap_kube_condition_set(tree, type, is ? "True" : "False", reason, message,
				       now);
}

static void drop_condition(json_t *tree, const char *type)
{
	json_t *list = neap_json_at(tree, "status.conditions");

	for (size_t i = json_array_size(list); i-- > 0;)
		if (strcmp(neap_json_text(json_array_get(list, i), "type"), type) == 0)
			(void)json_array_remove(list, i);
}

/* Adds the storage version to the versions in which objects may be stored. */
static bool set_stored(json_t *tree)
{
	const json_t *versions = neap_json_at(tree, "spec.versions");
	json_t *stored = neap_json_need_take(json_object_get(tree, "status"),
					     "storedVersions", json_array());
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
	json_t *status = neap_json_need_take(tree, "status", json_object());
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

/* --- requests ---
 *
 * Checks of requests that involve declared kinds: creating objects, and writing and
 * deleting definitions. */

/* Per definition: clients print a line for each warning. */
#define WARNED_PATHS 5

int call_check_declared(struct call *call)
{
	const struct neap_kube_declared *declared = call->kube->declared;
	const struct declared_entry *entry =
		declared ? neap_map_find(declared->entries, call->resource) : NULL;
	const struct neap_object *newest;

	if (!entry || entry->kind != call->target.kind)
		return 0;
	newest = neap_store_newest(call->kube->store, KUBE_DEFINITIONS, "",
				   call->resource);
	/* The definition is deleted, and perhaps replaced. The kinds of this turn are
	 * older. */
	if (!newest || strcmp(newest->uid, entry->uid) != 0)
		return call_refuse(call, NEAP_CLIENT_NOT_FOUND,
				   "the server could not find the requested resource");
	if (newest->is_deleting)
		return call_refuse(call, NEAP_CLIENT_METHOD_NOT_ALLOWED,
				   "create not allowed while custom resource "
				   "definition is terminating");
	return 0;
}

bool call_mark_definition(struct call *call, json_t *tree)
{
	if (!call->kube->declared || !call_is_of_definitions(call))
		return true;
	return neap_kube_meta_add_finalizer(tree, FINALIZER) &&
	       declared_set_condition(
		       tree, "Terminating", true, "InstanceDeletionInProgress",
		       "CustomResource deletion is in progress", call->kube->now());
}

/* --- what is not heeded --- */

/* Most definitions have no rules, and need not be parsed again. */
static bool has_rules(const json_t *json)
{
	const char *key;
	const json_t *value;
	size_t i;

	if (json_array_size(json_object_get(json, "x-kubernetes-validations")))
		return true;
	json_object_foreach ((json_t *)(uintptr_t)json, key, value)
		if (has_rules(value))
			return true;
	json_array_foreach (json, i, value)
		if (has_rules(value))
			return true;
	return false;
}

struct told {
	char text[700];
	size_t count;
};

static void tell(void *arg, const char *path)
{
	struct told *told = arg;
	size_t len = strlen(told->text);

	/* Clients show them unchanged. A path that cannot be quoted is left out. */
	if (told->count++ < WARNED_PATHS && !strpbrk(path, "\"\\\r\n"))
		(void)snprintf(told->text + len, sizeof(told->text) - len, "%s%.120s",
			       len ? ", " : "", *path ? path : "the object itself");
}

void call_warn_definition(struct call *call, const json_t *tree)
{
	struct neap_causes *causes = &call->kube->causes;
	struct neap_kube_kind *kind;
	struct told told = {.count = 0};
	char warning[1000], more[32] = "";
	struct neap_error err;

	if (!call->request || !has_rules(tree))
		return;
	neap_causes_clear(causes);
	if (neap_kube_crd_parse(tree, &kind, causes, &err) < 0)
		return;
	(void)neap_schema_rules(kind->schema, tell, &told);
	neap_kube_crd_free(kind);
	if (!told.count)
		return;
	if (told.count > WARNED_PATHS)
		(void)snprintf(more, sizeof(more), " and %zu more",
			       told.count - WARNED_PATHS);
	(void)snprintf(warning, sizeof(warning),
		       "299 - \"x-kubernetes-validations are not evaluated here: %s%s\"",
		       told.text, more);
	(void)neap_http_header_add(call->request, "Warning", warning);
}
