/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks of requests that involve declared kinds: creating objects, and writing and
 * deleting definitions. */
#include <string.h>

#include "api/kube/crd/crd.h"
#include "api/kube/loops/crd_loop_priv.h"
#include "engine/base/mem.h"

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
		return neap_kube_fail(&call->failure, NEAP_KUBE_NOT_FOUND,
				      "the server could not find the requested resource");
	if (newest->is_deleting)
		return neap_kube_fail(&call->failure, NEAP_KUBE_METHOD_NOT_ALLOWED,
				      "create not allowed while custom resource "
				      "definition is terminating");
	return 0;
}

static bool add_finalizer(json_t *tree)
{
	json_t *meta = json_object_get(tree, "metadata");
	json_t *list = json_object_get(meta, "finalizers");
	const json_t *value;
	size_t i;

	if (!list) {
		list = json_array();
		if (json_object_set_new(meta, "finalizers", list) < 0)
			return false;
	}
	json_array_foreach (list, i, value) {
		const char *text = json_string_value(value);

		if (text && strcmp(text, FINALIZER) == 0)
			return true;
	}
	return json_array_append_new(list, json_string(FINALIZER)) == 0;
}

bool call_mark_definition(struct call *call, json_t *tree)
{
	if (!call->kube->declared || !call_is_of_definitions(call))
		return true;
	return add_finalizer(tree) &&
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
