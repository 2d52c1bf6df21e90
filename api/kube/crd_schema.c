/* SPDX-License-Identifier: Apache-2.0
 *
 * The schema of a kind that is declared, with the metadata of the built-in kinds. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd_priv.h"

/* As /status takes a part of the schema for itself, nothing at the top may speak about the whole. */
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

/* "sh.koordinator.scheduling.v1alpha1.Reservation": the name of the OpenAPI definition. */
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

static int parse(struct neap_crd *crd, const json_t *schema, const char *path,
		 struct neap_error *err)
{
	struct neap_causes *causes = crd->causes;
	size_t from = causes->count, told = causes->count + causes->more;
	int r = neap_schema_parse(schema, &crd->parsed, causes, err);

	neap_causes_infield(causes, from, "%s", path);
	if (r < 0 && (r != -NEAP_EINVAL || causes->count + causes->more == told)) {
		(void)neap_error_infield(err, "%s", path);
		return r;
	}
	return 0;
}

/* That every object of the kind is one with fields. */
static void check_type(struct neap_crd *crd, const json_t *schema, const char *path)
{
	char field[NEAP_CRD_PATH + 64];

	switch (crd->parsed->type) {
	case NEAP_SCHEMA_OBJECT:
		break;
	case NEAP_SCHEMA_ANY: /* no type, but unknown fields are kept */
		crd->parsed->type = NEAP_SCHEMA_OBJECT;
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

int neap_crd_schema(struct neap_crd *crd, const json_t *version, size_t index,
		    struct neap_error *err)
{
	const json_t *schema =
		json_object_get(json_object_get(version, "schema"), "openAPIV3Schema");
	char path[NEAP_CRD_PATH], field[NEAP_CRD_PATH + 16];
	const struct neap_kube_kind *kind = &crd->kind;
	int r;

	snprintf(path, sizeof(path), "spec.versions[%zu].schema.openAPIV3Schema", index);
	if (!json_is_object(schema)) {
		neap_causes_required(crd->causes, path, "schemas are required");
		return 0;
	}
	if (json_is_true(json_object_get(schema, "nullable"))) {
		snprintf(field, sizeof(field), "%s.nullable", path);
		neap_causes_forbidden(crd->causes, field,
				      "nullable cannot be true at the root");
	}
	if (kind->has_status)
		check_root(crd, schema, path);
	r = parse(crd, schema, path, err);
	if (r < 0 || crd->parsed == NULL)
		return r;
	check_type(crd, schema, path);
	neap_schema_set_metadata(crd->parsed, &neap_kube_object_meta);
	crd->kind.schema = crd->parsed;
	if (kind->group != NULL && kind->kind != NULL && kind->versions != NULL &&
	    kind->versions[0] != NULL)
		crd->parsed->name = definition_name(crd);
	return 0;
}
