/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks whether a definition may be stored. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/base/meta.h"
#include "api/kube/crd/crd.h"
#include "api/kube/rules/check_priv.h"
#include "engine/base/mem.h"

/* Adds the causes that the schema has not reported. */
static void add_new(struct neap_causes *causes, const struct neap_causes *more)
{
	size_t told = causes->count;

	for (size_t i = 0; i < more->count; i++) {
		const struct neap_cause *cause = &more->list[i];
		bool is_told = false;

		for (size_t k = 0; k < told; k++)
			is_told = is_told ||
				  (strcmp(causes->list[k].field, cause->field) == 0 &&
				   strcmp(causes->list[k].reason, cause->reason) == 0);
		if (!is_told)
			neap_causes_add(causes, cause->reason, cause->field, "%s",
					cause->message);
	}
	causes->more += more->more;
	causes->is_short = causes->is_short || more->is_short;
}

static void check_definition(const json_t *object, struct neap_causes *causes)
{
	struct neap_causes *more = neap_alloc(sizeof(*more));
	struct neap_kube_kind *kind = NULL;
	struct neap_error err;
	int rc = more != NULL ? neap_kube_crd_parse(object, &kind, more, &err)
			      : -NEAP_ENOMEM;

	if (rc == 0)
		neap_kube_crd_free(kind);
	else if (rc == -NEAP_ENOMEM)
		rule_nomem(causes);
	else if (more->count > 0)
		add_new(causes, more);
	else
		neap_causes_add(causes, "FieldValueInvalid", err.field,
				"Invalid value: %s", err.msg);
	free(more);
}

/* Versions that objects may be stored in must stay. */
static void check_stored(const json_t *object, struct neap_causes *causes)
{
	const json_t *versions =
		json_object_get(json_object_get(object, "spec"), "versions");
	const json_t *stored =
		json_object_get(json_object_get(object, "status"), "storedVersions");
	struct rule_seen seen = {0};
	size_t i;
	const json_t *item;

	json_array_foreach (versions, i, item)
		(void)rule_seen_add(&seen, neap_kube_text(item, "name"), causes);
	json_array_foreach (stored, i, item) {
		char field[64];

		(void)snprintf(field, sizeof(field), "status.storedVersions[%zu]", i);
		if (json_is_string(item) &&
		    !rule_seen_has(&seen, json_string_value(item)))
			neap_causes_invalid(causes, field, item,
					    "must appear in spec.versions");
	}
	rule_seen_done(&seen);
}

/* Established: objects may be stored under its names. */
static bool is_established(const json_t *object)
{
	const json_t *list =
		json_object_get(json_object_get(object, "status"), "conditions");
	const json_t *condition;
	size_t i;

	json_array_foreach (list, i, condition)
		if (strcmp(neap_kube_text(condition, "type"), "Established") == 0)
			return strcmp(neap_kube_text(condition, "status"), "True") == 0;
	return false;
}

void neap_kube_check_customresourcedefinition(const json_t *object, const json_t *before,
					      struct neap_causes *causes)
{
	const json_t *spec = json_object_get(object, "spec");
	const json_t *old = json_object_get(before, "spec");
	const json_t *names = json_object_get(spec, "names");
	const json_t *old_names = json_object_get(old, "names");
	size_t from, inner;

	check_definition(object, causes);
	if (json_object_get(spec, "version") != NULL)
		neap_causes_invalid(causes, "spec.version",
				    json_object_get(spec, "version"),
				    "must be the name of the first of spec.versions");
	check_stored(object, causes);
	if (before == NULL)
		return;
	from = causes->count;
	rule_immutable(spec, old, "group", causes);
	if (is_established(before))
		rule_immutable(spec, old, "scope", causes);
	inner = causes->count;
	if (is_established(before))
		rule_immutable(names, old_names, "kind", causes);
	rule_immutable(names, old_names, "plural", causes);
	neap_causes_infield(causes, inner, "names");
	neap_causes_infield(causes, from, "spec");
}
