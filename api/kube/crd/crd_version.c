/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of a declared kind's version besides the schema: columns, subresources,
 * selectable fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/crd/crd_priv.h"
#include "api/kube/print/table.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

static const char *const column_types[] = {"boolean", "date",   "integer",
					   "number",  "string", NULL};
static const char *const column_formats[] = {"byte",   "date",     "date-time",
					     "double", "float",    "int32",
					     "int64",  "password", NULL};

/* A value that is not text is a cause already. */
static bool is_absent(const json_t *value)
{
	return !value || json_is_null(value) ||
	       (json_is_string(value) && json_string_length(value) == 0);
}

/* --- columns --- */

static void list_text(const char *const *of, char *buf, size_t size)
{
	size_t used = (size_t)snprintf(buf, size, "must be one of %s", *of);

	for (of++; *of && used < size; of++)
		used += (size_t)snprintf(buf + used, size - used, ",%s", *of);
}

static void check_one_of(struct neap_crd *crd, const char *path, const char *name,
			 const json_t *column, const char *const *of)
{
	const json_t *value = json_object_get(column, name);
	const char *text = json_string_value(value);
	char field[NEAP_CRD_PATH + 16], said[128];

	snprintf(field, sizeof(field), "%s.%s", path, name);
	list_text(of, said, sizeof(said));
	if (is_absent(value))
		neap_causes_required(crd->causes, field, said);
	else if (text && !neap_text_is_in(text, of))
		neap_causes_invalid(crd->causes, field, value, "%s", said);
}

/* Checks a path of a column. */
static void check_path(struct neap_crd *crd, const char *path, const json_t *column)
{
	const json_t *value = json_object_get(column, "jsonPath");
	const char *text = neap_crd_text(crd, column, path, "jsonPath");
	char field[NEAP_CRD_PATH + 16];
	struct neap_error err = {0};

	snprintf(field, sizeof(field), "%s.JSONPath", path);
	if (is_absent(value))
		neap_causes_required(crd->causes, field, "");
	if (!text || *text == '\0')
		return;
	if (*text != '.')
		neap_causes_invalid(crd->causes, field, value,
				    "must be a simple json path starting with .");
	else if (neap_kube_path_check(text, &err) < 0)
		neap_causes_invalid(crd->causes, field, value, "%s", err.msg);
}

static int column_priority(struct neap_crd *crd, const json_t *column, const char *path)
{
	const json_t *value = json_object_get(column, "priority");
	json_int_t number = json_integer_value(value);
	char field[NEAP_CRD_PATH + 16];

	if (!value || json_is_null(value))
		return 0;
	if (json_is_integer(value) && number >= INT32_MIN && number <= INT32_MAX)
		return (int)number;
	snprintf(field, sizeof(field), "%s.priority", path);
	neap_causes_invalid(crd->causes, field, value, "must be a 32 bit integer");
	return 0;
}

static const char *text_or_empty(struct neap_crd *crd, const char *text)
{
	return text ? neap_crd_keep_text(crd, text) : "";
}

static void column(struct neap_crd *crd, const json_t *json, const char *path,
		   struct neap_kube_column *row)
{
	const char *name = neap_crd_need(crd, json, path, "name", "");
	const char *type = neap_crd_text(crd, json, path, "type");
	const char *format = neap_crd_text(crd, json, path, "format");
	const char *doc = neap_crd_text(crd, json, path, "description");
	int priority = column_priority(crd, json, path);

	check_one_of(crd, path, "type", json, column_types);
	if (format && *format != '\0')
		check_one_of(crd, path, "format", json, column_formats);
	check_path(crd, path, json);
	if (!row)
		return;
	row->name = text_or_empty(crd, name);
	row->type = text_or_empty(crd, type);
	row->format = text_or_empty(crd, format);
	row->doc = text_or_empty(crd, doc);
	row->priority = priority;
	row->path =
		text_or_empty(crd, json_string_value(json_object_get(json, "jsonPath")));
}

void neap_crd_columns(struct neap_crd *crd, const json_t *version, const char *path,
		      bool is_row)
{
	static const struct neap_kube_column name_column = {
		"Name", "string",
		"name", "Name of the object, which no other of its kind has",
		0,      ".metadata.name"};
	static const struct neap_kube_column age_column = {
		"Age", "date",
		"",    "When the object was made",
		0,     ".metadata.creationTimestamp"};
	const json_t *list = neap_crd_list(crd, version, path, "additionalPrinterColumns",
					   NEAP_KUBE_CRD_COLUMNS);
	size_t count = json_array_size(list), i;
	struct neap_kube_column *columns = NULL;
	char place[NEAP_CRD_PATH];

	if (is_row) {
		columns = neap_crd_keep(crd, count + 2, sizeof(*columns));
		if (!columns)
			return;
		columns[0] = name_column;
		/* The default column is the age. */
		columns[1] = age_column;
		crd->kind.columns = columns;
		crd->kind.column_count = count > 0 ? count + 1 : 2;
	}
	for (i = 0; i < count; i++) {
		snprintf(place, sizeof(place), "%s.additionalPrinterColumns[%zu]", path,
			 i);
		column(crd, json_array_get(list, i), place,
		       columns ? &columns[i + 1] : NULL);
	}
}

/* --- subresources --- */

/* ".spec.replicas": names that follow dots, no lists. */
static bool is_dotted(const char *text)
{
	if (*text != '.')
		return false;
	for (; *text != '\0'; text++) {
		if (*text == '.' && (text[1] == '.' || text[1] == '\0'))
			return false;
		if (strchr("[]{}()*'\"", *text))
			return false;
	}
	return true;
}

static bool begins(const char *text, const char *with)
{
	return strncmp(text, with, strlen(with)) == 0;
}

/* A path of /scale. roots: the allowed beginnings, ended by NULL. */
static const char *scale_path(struct neap_crd *crd, const json_t *scale, const char *path,
			      const char *name, const char *const *roots,
			      const char *said)
{
	const char *text = neap_crd_text(crd, scale, path, name);
	char field[NEAP_CRD_PATH + 32];

	if (!text || *text == '\0')
		return NULL;
	for (; *roots && !begins(text, *roots); roots++)
		;
	if (*roots && is_dotted(text))
		return neap_crd_keep_text(crd, text);
	snprintf(field, sizeof(field), "%s.%s", path, name);
	if (*text != '.')
		said = "must be a simple json path starting with .";
	else if (!is_dotted(text))
		said = "must be a json path in the dot notation";
	neap_causes_invalid(crd->causes, field, json_object_get(scale, name), "%s", said);
	return NULL;
}

static void check_present(struct neap_crd *crd, const json_t *scale, const char *path,
			  const char *name)
{
	char field[NEAP_CRD_PATH + 32];

	if (!is_absent(json_object_get(scale, name)))
		return;
	snprintf(field, sizeof(field), "%s.%s", path, name);
	neap_causes_required(crd->causes, field, "");
}

void neap_crd_subresources(struct neap_crd *crd, const json_t *version, const char *path,
			   bool is_row)
{
	static const char *const spec[] = {".spec.", NULL},
				 *const status[] = {".status.", NULL},
				 *const both[] = {".status.", ".spec.", NULL};
	const json_t *all = neap_crd_object(crd, version, path, "subresources");
	char place[NEAP_CRD_PATH];
	const json_t *scale;
	const char *replicas, *status_replicas, *selector;
	bool has_status;

	if (!all)
		return;
	snprintf(place, sizeof(place), "%s.subresources", path);
	has_status = neap_crd_object(crd, all, place, "status") != NULL;
	scale = neap_crd_object(crd, all, place, "scale");
	if (is_row)
		crd->kind.has_status = has_status;
	if (!scale)
		return;
	snprintf(place, sizeof(place), "%s.subresources.scale", path);
	check_present(crd, scale, place, "specReplicasPath");
	check_present(crd, scale, place, "statusReplicasPath");
	replicas = scale_path(crd, scale, place, "specReplicasPath", spec,
			      "should be a json path under .spec");
	status_replicas = scale_path(crd, scale, place, "statusReplicasPath", status,
				     "should be a json path under .status");
	selector = scale_path(crd, scale, place, "labelSelectorPath", both,
			      "should be a json path under either .status or .spec");
	if (is_row) {
		crd->kind.replicas_path = replicas;
		crd->kind.status_replicas_path = status_replicas;
		crd->kind.selector_path = selector;
	}
}

/* --- fields of selectors --- */

void neap_crd_fields(struct neap_crd *crd, const json_t *version, const char *path)
{
	const json_t *list = neap_crd_list(crd, version, path, "selectableFields",
					   NEAP_KUBE_CRD_FIELDS);
	size_t count = json_array_size(list), i, j;
	const struct neap_schema *schema;
	char place[NEAP_CRD_PATH];
	const char **fields;

	if (count == 0)
		return;
	fields = neap_crd_keep(crd, count + 1, sizeof(*fields));
	if (!fields)
		return;
	for (i = 0; i < count; i++) {
		const json_t *value =
			json_object_get(json_array_get(list, i), "jsonPath");
		const char *text = json_string_value(value);

		fields[i] = "";
		snprintf(place, sizeof(place), "%s.selectableFields[%zu].jsonPath", path,
			 i);
		if (!text || *text == '\0') {
			neap_causes_required(crd->causes, place, "");
			continue;
		}
		schema = is_dotted(text) ? neap_schema_find(crd->parsed, text + 1) : NULL;
		if (begins(text, ".metadata."))
			neap_causes_invalid(crd->causes, place, value,
					    "must not point to fields in metadata");
		else if (!schema)
			neap_causes_invalid(crd->causes, place, value,
					    "is an invalid path: no such field");
		else if (schema->type != NEAP_SCHEMA_STRING &&
			 schema->type != NEAP_SCHEMA_INTEGER &&
			 schema->type != NEAP_SCHEMA_BOOLEAN)
			neap_causes_invalid(crd->causes, place, value,
					    "must point to a field of type string, "
					    "boolean or integer");
		for (j = 0; j < i; j++)
			if (strcmp(fields[j], text + 1) == 0)
				neap_causes_duplicate(crd->causes, place, value);
		fields[i] = neap_crd_keep_text(crd, text + 1);
	}
	crd->kind.fields = fields;
}

/* --- the schema ---
 *
 * The schema of a declared kind, with the metadata of built-in kinds. */

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

	if (!name)
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
	return neap_json_at(version, "schema.openAPIV3Schema");
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
	if (!*ret)
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

	if (r < 0 || !crd->parsed)
		return r;
	crd->kind.schema = crd->parsed;
	if (kind->group && kind->kind && kind->versions && kind->versions[0])
		crd->parsed->name = definition_name(crd);
	return 0;
}

/* --- several versions --- */

static bool is_same_member(const json_t *a, const json_t *b, const char *name)
{
	const json_t *left = json_object_get(a, name), *right = json_object_get(b, name);

	return left == right || (left && right && json_equal(left, right));
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

		if (!other || !is_same_shape(field, other))
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

		if (left != right && (!left || !right || !is_same_shape(left, right)))
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
	if (!schema || !stores || json_equal(schema, stores))
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
	if (r == 0 && crd->others[crd->other_count])
		*ret = crd->others[crd->other_count++];
	return r;
}
