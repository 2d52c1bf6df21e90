/* SPDX-License-Identifier: Apache-2.0
 *
 * Definitions of the OpenAPI document, and the document itself. Field numbers are those
 * of gnostic's OpenAPIv2.proto. Named schemas are written once and referenced; others are
 * written inline. All versions of a kind have the same fields, so they share one
 * definition that lists them. */
#include "api/kube/openapi/openapi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/openapi/openapi_priv.h"
#include "engine/base/map.h"
#include "engine/base/mem.h"
#include "engine/json/json.h"

/* Nesting of unnamed schemas. Those of a CustomResourceDefinition are not deeper. */
#define DEPTH_MAX (NEAP_SCHEMA_DEPTH_MAX + 2)
/* When the document exceeds this size, declared kinds are written without their
 * fields. */
#define CUSTOM_MAX (NEAP_BUF_REPLY / 2)
#define NAME_SIZE  320

/* A definition that is in the document, or will be. */
struct definition {
	const struct neap_schema *schema;
	const struct neap_kube_kind *kind; /* NULL: a part of objects */
	/* of this version only, whose bodies differ; SIZE_MAX: of all others */
	size_t body;
	char name[NAME_SIZE];
};

struct writer {
	struct neap_buf buf;
	struct neap_map
		*names; /* by name: struct definition, in the order of discovery */
	bool is_short;
	bool is_circle;
};

/* --- pieces --- */

void neap_kube_openapi_extension(struct neap_buf *buf, unsigned field, const char *name,
				 const char *yaml)
{
	size_t extension = neap_proto_begin(buf, field), any;

	neap_proto_text(buf, NAMED_NAME, name);
	any = neap_proto_begin(buf, NAMED_VALUE);
	neap_proto_text(buf, ANY_YAML, yaml);
	neap_proto_end(buf, any);
	neap_proto_end(buf, extension);
}

static void add_type(struct neap_buf *buf, const char *type)
{
	size_t item = neap_proto_begin(buf, SCHEMA_TYPE);

	neap_proto_text(buf, TYPE_VALUE, type);
	neap_proto_end(buf, item);
}

/* --- names --- */

static struct definition *definition_add(struct writer *writer, const char *name,
					 const struct neap_schema *schema,
					 const struct neap_kube_kind *kind)
{
	struct definition *definition = neap_alloc(sizeof(*definition));

	if (definition &&
	    neap_strcopy(definition->name, sizeof(definition->name), name)) {
		definition->schema = schema;
		definition->kind = kind;
		definition->body = SIZE_MAX;
		if (neap_map_set(writer->names, definition->name, definition))
			return definition;
	}
	free(definition);
	writer->is_short = true;
	return NULL;
}

/* As Kubernetes names definitions of declared kinds: the group reversed,
 * "io.k8s.x.v1.Kind". */
static void name_of(const struct neap_kube_kind *kind, char *name, size_t size)
{
	const char *group = kind->group, *end = group + strlen(group);
	size_t len = 0;

	name[0] = '\0';
	while (end > group && len < size) {
		const char *start = end;

		while (start > group && start[-1] != '.')
			start--;
		len += (size_t)snprintf(name + len, size - len, "%.*s.",
					(int)(end - start), start);
		end = start > group ? start - 1 : group;
	}
	if (len < size)
		(void)snprintf(name + len, size - len, "%s%s.%s",
			       *group ? "" : "io.k8s.api.core.", kind->versions[0],
			       kind->kind);
}

static void kind_add(struct writer *writer, const struct neap_kube_kind *kind)
{
	const char *name = kind->schema->name;
	char made[NAME_SIZE];

	if (!name || neap_map_find(writer->names, name)) {
		name_of(kind, made, sizeof(made));
		name = made;
	}
	if (!neap_map_find(writer->names, name))
		(void)definition_add(writer, name, kind->schema, kind);
	for (size_t i = 0; kind->bodies && kind->versions[i]; i++) {
		const struct neap_schema *schema = kind->bodies[i];
		struct definition *body =
			schema ? definition_add(writer, schema->name, schema, kind)
			       : NULL;

		if (body)
			body->body = i;
	}
}

/* --- schemas --- */

static void write_schema(struct writer *writer, const struct neap_schema *schema,
			 const struct neap_schema_field *field, const char *doc,
			 unsigned depth);

/* Writes how a strategic patch merges the field: kubectl needs it to compute one. */
static void write_merge(struct neap_buf *buf, const struct neap_schema_field *field)
{
	const char *strategy = NULL;

	if (field->merge != NEAP_LIST_ATOMIC)
		strategy = field->retains_keys ? "\"merge,retainKeys\"" : "\"merge\"";
	else if (field->retains_keys)
		strategy = "\"retainKeys\"";
	if (strategy)
		neap_kube_openapi_extension(buf, SCHEMA_EXTENSION,
					    "x-kubernetes-patch-strategy", strategy);
	if (field->merge == NEAP_LIST_MAP && field->merge_key) {
		char key[128];

		(void)snprintf(key, sizeof(key), "\"%s\"", field->merge_key);
		neap_kube_openapi_extension(buf, SCHEMA_EXTENSION,
					    "x-kubernetes-patch-merge-key", key);
	}
}

/* The value as JSON, which is valid YAML. Takes the value. */
static char *yaml_take(struct writer *writer, json_t *value)
{
	char *text = value ? neap_json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;

	json_decref(value);
	writer->is_short |= text == NULL;
	return text;
}

/* Field names may contain anything. */
static json_t *list_of(const char *const *names)
{
	json_t *list = json_array();
	size_t i;

	for (i = 0; list && names[i]; i++) {
		if (json_array_append_new(list, json_string(names[i])) == 0)
			continue;
		json_decref(list);
		list = NULL;
	}
	return list;
}

static void write_list_type(struct writer *writer, const struct neap_schema *schema)
{
	neap_auto_free char *keys = NULL;

	if (schema->list == NEAP_LIST_ATOMIC)
		return;
	neap_kube_openapi_extension(
		&writer->buf, SCHEMA_EXTENSION, "x-kubernetes-list-type",
		schema->list == NEAP_LIST_SET ? "\"set\"" : "\"map\"");
	if (!schema->list_keys)
		return;
	keys = yaml_take(writer, list_of(schema->list_keys));
	if (keys)
		neap_kube_openapi_extension(&writer->buf, SCHEMA_EXTENSION,
					    "x-kubernetes-list-map-keys", keys);
}

static void write_values(struct writer *writer, const struct neap_schema *schema)
{
	struct neap_buf *buf = &writer->buf;
	size_t i;

	for (i = 0; schema->values && schema->values[i]; i++) {
		neap_auto_free char *text =
			yaml_take(writer, json_string(schema->values[i]));
		size_t any;

		if (!text)
			return;
		any = neap_proto_begin(buf, SCHEMA_ENUM);
		neap_proto_text(buf, ANY_YAML, text);
		neap_proto_end(buf, any);
	}
}

static void write_scalar(struct writer *writer, const struct neap_schema *schema)
{
	static const struct {
		const char *type, *format;
	} scalars[] = {
		[NEAP_SCHEMA_STRING] = {"string", ""},
		[NEAP_SCHEMA_INTEGER] = {"integer", "int64"},
		[NEAP_SCHEMA_NUMBER] = {"number", "double"},
		[NEAP_SCHEMA_BOOLEAN] = {"boolean", ""},
		[NEAP_SCHEMA_INT_OR_STRING] = {"string", "int-or-string"},
		[NEAP_SCHEMA_QUANTITY] = {"string", ""},
	};
	static const char *const formats[] = {
		[NEAP_FORMAT_TIME] = "date-time", [NEAP_FORMAT_MICRO_TIME] = "date-time",
		[NEAP_FORMAT_BYTES] = "byte",     [NEAP_FORMAT_INT32] = "int32",
		[NEAP_FORMAT_DATE] = "date",
	};
	const char *format = scalars[schema->type].format;

	if (schema->format < NEAP_ARRAY_LEN(formats) && formats[schema->format])
		format = formats[schema->format];
	if (*format)
		neap_proto_text(&writer->buf, SCHEMA_FORMAT, format);
	add_type(&writer->buf, scalars[schema->type].type);
	write_values(writer, schema);
}

static void write_fields(struct writer *writer, const struct neap_schema *schema,
			 unsigned depth)
{
	struct neap_buf *buf = &writer->buf;
	size_t properties, i;

	for (i = 0; i < schema->field_count; i++)
		if (schema->fields[i].is_required && !schema->fields[i].fallback)
			neap_proto_text(buf, SCHEMA_REQUIRED, schema->fields[i].name);
	if (schema->field_count == 0)
		return;
	properties = neap_proto_begin(buf, SCHEMA_PROPERTIES);
	for (i = 0; i < schema->field_count && !neap_buf_failed(buf); i++) {
		const struct neap_schema_field *field = &schema->fields[i];
		size_t named = neap_proto_begin(buf, NAMED_LIST), value;

		neap_proto_text(buf, NAMED_NAME, field->name);
		value = neap_proto_begin(buf, NAMED_VALUE);
		write_schema(writer, field->schema, field, field->doc, depth + 1);
		neap_proto_end(buf, value);
		neap_proto_end(buf, named);
	}
	neap_proto_end(buf, properties);
}

/* Writes an open object without its fields: kubectl would take the named fields for the
 * only valid ones. */
static void write_open(struct neap_buf *buf, const struct neap_schema *schema)
{
	if (schema->type == NEAP_SCHEMA_OBJECT)
		add_type(buf, "object");
	neap_kube_openapi_extension(buf, SCHEMA_EXTENSION,
				    "x-kubernetes-preserve-unknown-fields", "true");
}

static void write_by_type(struct writer *writer, const struct neap_schema *schema,
			  unsigned depth)
{
	struct neap_buf *buf = &writer->buf;
	const struct neap_schema *items =
		schema->items ? schema->items : &neap_schema_any;
	size_t outer, inner;

	switch (schema->type) {
	case NEAP_SCHEMA_ANY:
		write_open(buf, schema);
		break;
	case NEAP_SCHEMA_OBJECT:
		if (schema->keeps_unknown) {
			write_open(buf, schema);
			break;
		}
		add_type(buf, "object");
		write_fields(writer, schema, depth);
		break;
	case NEAP_SCHEMA_MAP:
		outer = neap_proto_begin(buf, SCHEMA_ADDITIONAL);
		inner = neap_proto_begin(buf, ADDITIONAL_SCHEMA);
		write_schema(writer, items, NULL, NULL, depth + 1);
		neap_proto_end(buf, inner);
		neap_proto_end(buf, outer);
		add_type(buf, "object");
		break;
	case NEAP_SCHEMA_LIST:
		add_type(buf, "array");
		outer = neap_proto_begin(buf, SCHEMA_ITEMS);
		inner = neap_proto_begin(buf, ITEMS_SCHEMA);
		write_schema(writer, items, NULL, NULL, depth + 1);
		neap_proto_end(buf, inner);
		neap_proto_end(buf, outer);
		write_list_type(writer, schema);
		break;
	default:
		write_scalar(writer, schema);
	}
}

/* Writes the content of a schema: a reference if it has a name. doc: NULL: the schema's
 * own. */
static void write_schema(struct writer *writer, const struct neap_schema *schema,
			 const struct neap_schema_field *field, const char *doc,
			 unsigned depth)
{
	struct neap_buf *buf = &writer->buf;

	if (depth > DEPTH_MAX) {
		writer->is_circle = true;
		buf->failed = true;
		return;
	}
	/* The definition of the items has their description. */
	if (!doc && (field || !schema->name))
		doc = schema->doc;
	if (schema->name) {
		char ref[NAME_SIZE + 16];

		if (!neap_map_find(writer->names, schema->name))
			(void)definition_add(writer, schema->name, schema, NULL);
		(void)snprintf(ref, sizeof(ref), "#/definitions/%s", schema->name);
		neap_proto_text(buf, SCHEMA_REF, ref);
	}
	if (doc)
		neap_proto_text(buf, SCHEMA_DESCRIPTION, doc);
	if (!schema->name)
		write_by_type(writer, schema, depth);
	if (field)
		write_merge(buf, field);
}

/* --- definitions --- */

/* Writes the versions of a kind whose bodies the definition describes. */
static void write_kind(struct neap_buf *buf, const struct definition *definition)
{
	const struct neap_kube_kind *kind = definition->kind;
	neap_auto_buf struct neap_buf text = {0};
	size_t i;

	neap_buf_init(&text, NEAP_BUF_LINE);
	for (i = 0; kind->versions[i]; i++) {
		bool has_own = kind->bodies && kind->bodies[i];

		if (has_own ? definition->body == i : definition->body == SIZE_MAX)
			neap_buf_addf(&text,
				      "%s{\"group\":\"%s\",\"kind\":\"%s\","
				      "\"version\":\"%s\"}",
				      text.len > 0 ? "," : "[", kind->group, kind->kind,
				      kind->versions[i]);
	}
	neap_buf_addc(&text, ']');
	if (neap_buf_failed(&text))
		buf->failed = true;
	else
		neap_kube_openapi_extension(buf, SCHEMA_EXTENSION,
					    "x-kubernetes-group-version-kind", text.data);
}

static void write_definition(struct writer *writer, const struct definition *definition,
			     bool is_open)
{
	struct neap_buf *buf = &writer->buf;
	size_t named = neap_proto_begin(buf, NAMED_LIST), value;

	neap_proto_text(buf, NAMED_NAME, definition->name);
	value = neap_proto_begin(buf, NAMED_VALUE);
	if (definition->schema->doc && !is_open)
		neap_proto_text(buf, SCHEMA_DESCRIPTION, definition->schema->doc);
	if (is_open)
		write_open(buf, definition->schema);
	else
		write_by_type(writer, definition->schema, 0);
	if (definition->kind)
		write_kind(buf, definition);
	neap_proto_end(buf, value);
	neap_proto_end(buf, named);
}

/* A kind with an oversized definition must not crowd out other kinds. */
static void write_bounded(struct writer *writer, const struct definition *definition)
{
	bool is_custom = definition->kind && definition->kind->is_custom;
	struct neap_buf *buf = &writer->buf;
	size_t begun = buf->len;
	bool is_full = is_custom && begun > CUSTOM_MAX;

	write_definition(writer, definition, is_full);
	if (!is_custom || is_full || neap_buf_failed(buf) ||
	    buf->len - begun <= NEAP_KUBE_OPENAPI_KIND_MAX)
		return;
	buf->len = begun;
	write_definition(writer, definition, true);
}

/* Each may add more. */
static void write_definitions(struct writer *writer)
{
	size_t definitions = neap_proto_begin(&writer->buf, DOCUMENT_DEFINITIONS), i;

	for (i = 0; i < neap_map_count(writer->names) && !writer->is_short &&
		    !neap_buf_failed(&writer->buf);
	     i++)
		write_bounded(writer, neap_map_at(writer->names, i, NULL));
	neap_proto_end(&writer->buf, definitions);
}

static void write_info(struct neap_buf *buf, const char *title, const char *version)
{
	size_t info;

	neap_proto_text(buf, DOCUMENT_SWAGGER, "2.0");
	info = neap_proto_begin(buf, DOCUMENT_INFO);
	neap_proto_text(buf, INFO_TITLE, title);
	neap_proto_text(buf, INFO_VERSION, version);
	neap_proto_end(buf, info);
}

static void writer_done(struct writer *writer)
{
	size_t i;

	for (i = 0; writer->names && i < neap_map_count(writer->names); i++)
		free(neap_map_at(writer->names, i, NULL));
	neap_map_free(writer->names);
	neap_buf_done(&writer->buf);
}

int neap_kube_openapi(const struct neap_kube_kind *const *kinds, size_t count,
		      const char *title, const char *version, char **ret, size_t *ret_len,
		      struct neap_error *err)
{
	struct writer writer = {.names = neap_map_new()};
	char *text = NULL;
	size_t len, i;
	int rc = 0;

	neap_buf_init(&writer.buf, NEAP_BUF_REPLY);
	if (!writer.names)
		return neap_error_nomem(err);
	for (i = 0; i < count && !writer.is_short; i++)
		kind_add(&writer, kinds[i]);
	write_info(&writer.buf, title, version);
	neap_kube_openapi_paths(&writer.buf, kinds, count);
	write_definitions(&writer);
	len = writer.buf.len;
	if (writer.is_circle)
		rc = neap_error_set(err, NEAP_EINTERNAL,
				    "a schema without a name holds itself");
	else if (writer.is_short)
		rc = neap_error_nomem(err);
	else if (neap_buf_failed(&writer.buf))
		rc = neap_buf_error(&writer.buf, "the OpenAPI document", err);
	if (rc == 0) {
		text = neap_buf_take(&writer.buf);
		if (!text)
			rc = neap_error_nomem(err);
	}
	writer_done(&writer);
	if (rc < 0)
		return rc;
	*ret = text;
	*ret_len = len;
	return 0;
}
