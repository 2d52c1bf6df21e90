/* SPDX-License-Identifier: Apache-2.0
 *
 * Checks whether a definition may be stored. */
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd/crd.h"
#include "api/kube/rules/check_priv.h"
#include "api/kube/rules/rules.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

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
	int rc = more ? neap_kube_crd_parse(object, &kind, more, &err) : -NEAP_ENOMEM;

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
	const json_t *versions = neap_json_at(object, "spec.versions");
	const json_t *stored = neap_json_at(object, "status.storedVersions");
	struct rule_seen seen = {0};
	size_t i;
	const json_t *item;

	json_array_foreach (versions, i, item)
		(void)rule_seen_add(&seen, neap_json_text(item, "name"), causes);
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
	const json_t *list = neap_json_at(object, "status.conditions");
	const json_t *condition;
	size_t i;

	json_array_foreach (list, i, condition)
		if (neap_json_is_text(condition, "type", "Established"))
			return neap_json_is_text(condition, "status", "True");
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
	if (json_object_get(spec, "version"))
		neap_causes_invalid(causes, "spec.version",
				    json_object_get(spec, "version"),
				    "must be the name of the first of spec.versions");
	check_stored(object, causes);
	if (!before)
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

/* --- v1beta1 ---
 *
 * Converts definitions of apiextensions.k8s.io/v1beta1 to v1, in which they are
 * stored. */

#define KEEPS     "x-kubernetes-preserve-unknown-fields"
#define DEPTH_MAX 64 /* deeper schemas are refused */

/* Fields beside the versions, and their names within a version. */
static const struct {
	const char *beside, *inside;
} shared[] = {
	{"additionalPrinterColumns", "additionalPrinterColumns"},
	{"subresources", "subresources"},
	{"validation", "schema"},
};

static bool is_type(const json_t *schema, const char *type)
{
	return strcmp(neap_json_text(schema, "type"), type) == 0;
}

/* v1beta1 pruned nothing, at any level. */
static bool keep_unknown(json_t *schema, unsigned depth)
{
	static const char *const inner[] = {"items", "additionalProperties"};
	const char *name;
	json_t *field;

	if (!json_is_object(schema) || depth > DEPTH_MAX)
		return true;
	json_object_foreach (json_object_get(schema, "properties"), name, field)
		if (!keep_unknown(field, depth + 1))
			return false;
	for (size_t i = 0; i < NEAP_ARRAY_LEN(inner); i++)
		if (!keep_unknown(json_object_get(schema, inner[i]), depth + 1))
			return false;
	return !is_type(schema, "object") ||
	       json_object_get(schema, "additionalProperties") ||
	       neap_kube_member_take(schema, KEEPS, json_true());
}

static bool keep_in_version(json_t *version)
{
	json_t *schema, *root = NULL;

	if (!neap_kube_child(version, "schema", &schema) ||
	    (schema && !neap_kube_child(schema, "openAPIV3Schema", &root)))
		return false;
	return !root || (neap_kube_default_take(root, "type", json_string("object")) &&
			 keep_unknown(root, 0));
}

static bool rename_paths(const json_t *columns)
{
	json_t *column, *path;
	size_t i;

	json_array_foreach (columns, i, column) {
		path = json_object_get(column, "JSONPath");
		if (path && json_object_set(column, "jsonPath", path) < 0)
			return false;
		(void)json_object_del(column, "JSONPath");
	}
	return true;
}

static bool complete_version(json_t *version, const json_t *spec, bool is_keeping)
{
	/* Shared, not copied: many versions may get the same part. */
	for (size_t i = 0; i < NEAP_ARRAY_LEN(shared); i++) {
		json_t *part = json_object_get(spec, shared[i].beside);

		if (part && !json_is_null(part) &&
		    json_object_set(version, shared[i].inside, part) < 0)
			return false;
	}
	return rename_paths(json_object_get(version, "additionalPrinterColumns")) &&
	       (!is_keeping || keep_in_version(version));
}

static bool make_version(json_t *spec, const char *name)
{
	return *name == '\0' ||
	       neap_kube_member_take(spec, "versions",
				     json_pack("[{s:s, s:b, s:b}]", "name", name,
					       "served", 1, "storage", 1));
}

bool neap_kube_definition_from_version(const char *version, json_t *object,
				       const json_t *before)
{
	json_t *spec = json_object_get(object, "spec"), *versions, *one;
	json_t *keeps = json_object_get(spec, "preserveUnknownFields");
	const char *name = neap_json_text(spec, "version");
	bool has_versions = !neap_kube_is_empty(json_object_get(spec, "versions"));
	/* The stored form has no such field; its schemas express it. */
	bool is_keeping = !keeps || json_is_null(keeps) ? !before || !has_versions
							: json_is_true(keeps);
	size_t i;

	if (strcmp(version, "v1beta1") != 0 || !spec)
		return true;
	if (!has_versions && !make_version(spec, name))
		return false;
	versions = json_object_get(spec, "versions");
	if (json_array_size(versions) > NEAP_KUBE_CRD_VERSIONS)
		return true; /* the check refuses it */
	json_array_foreach (versions, i, one)
		if (json_is_object(one) && !complete_version(one, spec, is_keeping))
			return false;
	for (i = 0; i < NEAP_ARRAY_LEN(shared); i++)
		(void)json_object_del(spec, shared[i].beside);
	if (is_keeping)
		(void)json_object_del(spec, "preserveUnknownFields");
	if (strcmp(name, neap_json_text(json_array_get(versions, 0), "name")) == 0)
		(void)json_object_del(spec, "version");
	return true;
}
