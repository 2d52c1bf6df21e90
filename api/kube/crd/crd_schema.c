/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of a declared kind, with the metadata of built-in kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd/crd_priv.h"

/* /status uses only a part of the schema. So the root must not have rules about the
 * whole. */
static void check_root(struct neap_crd *crd, const json_t *schema, const char *path)
{
	static const char *const allowed[] = {
		"description",
		"type",
		"format",
		"title",
		"maximum",
		"exclusiveMaximum",
		"minimum",
		"exclusiveMinimum",
		"maxLength",
		"minLength",
		"pattern",
		"maxItems",
		"minItems",
		"uniqueItems",
		"multipleOf",
		"required",
		"items",
		"properties",
		"externalDocs",
		"example",
		"x-kubernetes-preserve-unknown-fields",
		"x-kubernetes-validations",
	};
	char field[NEAP_CRD_PATH + 64];
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach ((json_t *)schema, key, value) {
		for (i = 0; i < NEAP_ARRAY_LEN(allowed); i++)
			if (strcmp(allowed[i], key) == 0)
				break;
		if (i < NEAP_ARRAY_LEN(allowed))
			continue;
		snprintf(field, sizeof(field), "%s.%s", path, key);
		neap_causes_forbidden(crd->causes, field,
				      "not allowed at the root of the schema if the "
				      "status subresource is enabled");
	}
}

/* "sh.koordinator.scheduling.v1alpha1.Reservation": the name of the OpenAPI
 * definition. */
static const char *definition_name(struct neap_crd *crd)
{
	const struct neap_kube_kind *kind = &crd->kind;
	size_t size =
		strlen(kind->group) + strlen(kind->versions[0]) + strlen(kind->kind) + 3;
	char *name = neap_crd_keep(crd, size, 1);
	const char *end = kind->group + strlen(kind->group), *from;
	size_t used = 0;

	if (name == NULL)
		return NULL;
	while (end > kind->group) {
		for (from = end; from > kind->group && from[-1] != '.'; from--)
			;
		used += (size_t)snprintf(name + used, size - used, "%.*s.",
					 (int)(end - from), from);
		end = from > kind->group ? from - 1 : from;
	}
	snprintf(name + used, size - used, "%s.%s", kind->versions[0], kind->kind);
	return name;
}

/* Every object of the kind must be an object with fields. */
static void check_type(struct neap_crd *crd, struct neap_schema *parsed,
		       const json_t *schema, const char *path)
{
	char field[NEAP_CRD_PATH + 64];

	switch (parsed->type) {
	case NEAP_SCHEMA_OBJECT:
		break;
	case NEAP_SCHEMA_ANY: /* no type, but keeps unknown fields */
		parsed->type = NEAP_SCHEMA_OBJECT;
		break;
	case NEAP_SCHEMA_MAP:
		snprintf(field, sizeof(field), "%s.additionalProperties", path);
		neap_causes_forbidden(crd->causes, field, "must not be used at the root");
		break;
	default:
		snprintf(field, sizeof(field), "%s.type", path);
		neap_causes_invalid(crd->causes, field, json_object_get(schema, "type"),
				    "must be object at the root");
		break;
	}
}

static void schema_path(size_t index, char *buf, size_t size)
{
	snprintf(buf, size, "spec.versions[%zu].schema.openAPIV3Schema", index);
}

static const json_t *schema_of(const json_t *version)
{
	return json_object_get(json_object_get(version, "schema"), "openAPIV3Schema");
}

/* *ret stays NULL when the schema is wrong or missing. */
static int parse(struct neap_crd *crd, const json_t *version, size_t index,
		 struct neap_schema **ret, struct neap_error *err)
{
	struct neap_causes *causes = crd->causes;
	const json_t *schema = schema_of(version);
	char path[NEAP_CRD_PATH], field[NEAP_CRD_PATH + 16];
	size_t from, told;
	int r;

	schema_path(index, path, sizeof(path));
	if (!json_is_object(schema)) {
		neap_causes_required(causes, path, "schemas are required");
		return 0;
	}
	if (json_is_true(json_object_get(schema, "nullable"))) {
		snprintf(field, sizeof(field), "%s.nullable", path);
		neap_causes_forbidden(causes, field,
				      "nullable cannot be true at the root");
	}
	if (crd->kind.has_status)
		check_root(crd, schema, path);
	from = causes->count;
	told = causes->count + causes->more;
	r = neap_schema_parse(schema, ret, causes, err);
	neap_causes_infield(causes, from, "%s", path);
	if (r < 0 && (r != -NEAP_EINVAL || causes->count + causes->more == told)) {
		(void)neap_error_infield(err, "%s", path);
		return r;
	}
	if (*ret == NULL)
		return 0;
	check_type(crd, *ret, schema, path);
	neap_schema_set_metadata(*ret, &neap_kube_object_meta);
	return 0;
}

int neap_crd_schema(struct neap_crd *crd, const json_t *version, size_t index,
		    struct neap_error *err)
{
	const struct neap_kube_kind *kind = &crd->kind;
	int r = parse(crd, version, index, &crd->parsed, err);

	if (r < 0 || crd->parsed == NULL)
		return r;
	crd->kind.schema = crd->parsed;
	if (kind->group != NULL && kind->kind != NULL && kind->versions != NULL &&
	    kind->versions[0] != NULL)
		crd->parsed->name = definition_name(crd);
	return 0;
}

/* --- several versions --- */

static bool is_same_member(const json_t *a, const json_t *b, const char *name)
{
	const json_t *left = json_object_get(a, name), *right = json_object_get(b, name);

	return left == right ||
	       (left != NULL && right != NULL && json_equal(left, right));
}

static bool is_same_shape(const json_t *a, const json_t *b);

static bool is_same_fields(const json_t *a, const json_t *b)
{
	const char *name;
	json_t *field;

	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach ((json_t *)(uintptr_t)a, name, field) {
		const json_t *other = json_object_get(b, name);

		if (other == NULL || !is_same_shape(field, other))
			return false;
	}
	return true;
}

/* Whether both schemas bring objects into the same shape: pruning, defaults, output. All
 * other keywords only describe or validate. */
static bool is_same_shape(const json_t *a, const json_t *b)
{
	static const char *const words[] = {
		"type",
		"nullable",
		"default",
		"x-kubernetes-preserve-unknown-fields",
		"x-kubernetes-embedded-resource",
		"x-kubernetes-int-or-string",
	};
	static const char *const inner[] = {"items", "additionalProperties"};
	size_t i;

	if (!json_is_object(a) || !json_is_object(b))
		return json_equal(a, b);
	for (i = 0; i < NEAP_ARRAY_LEN(words); i++)
		if (!is_same_member(a, b, words[i]))
			return false;
	for (i = 0; i < NEAP_ARRAY_LEN(inner); i++) {
		const json_t *left = json_object_get(a, inner[i]);
		const json_t *right = json_object_get(b, inner[i]);

		if (left != right &&
		    (left == NULL || right == NULL || !is_same_shape(left, right)))
			return false;
	}
	return is_same_fields(json_object_get(a, "properties"),
			      json_object_get(b, "properties"));
}

int neap_crd_check_schema(struct neap_crd *crd, const json_t *version, size_t index,
			  const json_t *main, const struct neap_schema **ret,
			  struct neap_error *err)
{
	const json_t *schema = schema_of(version), *stores = schema_of(main);
	char path[NEAP_CRD_PATH];
	int r;

	*ret = NULL;
	if (schema == NULL || stores == NULL || json_equal(schema, stores))
		return 0;
	if (!is_same_shape(schema, stores)) {
		schema_path(index, path, sizeof(path));
		neap_causes_forbidden(
			crd->causes, path,
			"may differ from that of the version that stores "
			"only in what describes and what validates: objects "
			"are not converted");
		return 0;
	}
	r = parse(crd, version, index, &crd->others[crd->other_count], err);
	if (r == 0 && crd->others[crd->other_count] != NULL)
		*ret = crd->others[crd->other_count++];
	return r;
}
