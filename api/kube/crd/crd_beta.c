/* SPDX-License-Identifier: Apache-2.0
 *
 * Converts definitions of apiextensions.k8s.io/v1beta1 to v1, in which they are
 * stored. */
#include <string.h>

#include "api/kube/crd/crd.h"
#include "api/kube/rules/defaults_priv.h"
#include "api/kube/rules/rules.h"

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
	return strcmp(neap_kube_text(schema, "type"), type) == 0;
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
	       json_object_get(schema, "additionalProperties") != NULL ||
	       neap_kube_member_take(schema, KEEPS, json_true());
}

static bool keep_in_version(json_t *version)
{
	json_t *schema, *root = NULL;

	if (!neap_kube_child(version, "schema", &schema) ||
	    (schema != NULL && !neap_kube_child(schema, "openAPIV3Schema", &root)))
		return false;
	return root == NULL ||
	       (neap_kube_default_take(root, "type", json_string("object")) &&
		keep_unknown(root, 0));
}

static bool rename_paths(const json_t *columns)
{
	json_t *column, *path;
	size_t i;

	json_array_foreach (columns, i, column) {
		path = json_object_get(column, "JSONPath");
		if (path != NULL && json_object_set(column, "jsonPath", path) < 0)
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

		if (part != NULL && !json_is_null(part) &&
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
	const char *name = neap_kube_text(spec, "version");
	bool has_versions = !neap_kube_is_empty(json_object_get(spec, "versions"));
	/* The stored form has no such field; its schemas express it. */
	bool is_keeping = keeps == NULL || json_is_null(keeps)
				  ? before == NULL || !has_versions
				  : json_is_true(keeps);
	size_t i;

	if (strcmp(version, "v1beta1") != 0 || spec == NULL)
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
	if (strcmp(name, neap_kube_text(json_array_get(versions, 0), "name")) == 0)
		(void)json_object_del(spec, "version");
	return true;
}
