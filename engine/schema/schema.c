/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas: shared scalars, field lookup, and paths as text.
 *
 * C tables have at most a few dozen fields in their usual order and are searched
 * linearly; a declared schema can have thousands, which are sorted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/schema/schema_priv.h"

#define META "io.k8s.apimachinery.pkg.apis.meta.v1."

const struct neap_schema neap_schema_any = {
	.type = NEAP_SCHEMA_ANY, .keeps_unknown = true, .is_nullable = true};
/* In a list or map Go makes the zero value of a null. */
const struct neap_schema neap_schema_string = {.type = NEAP_SCHEMA_STRING,
					       .fallback = "\"\""};
const struct neap_schema neap_schema_int32 = {.type = NEAP_SCHEMA_INTEGER,
					      .format = NEAP_FORMAT_INT32};
const struct neap_schema neap_schema_int64 = {.type = NEAP_SCHEMA_INTEGER};
const struct neap_schema neap_schema_number = {.type = NEAP_SCHEMA_NUMBER};
const struct neap_schema neap_schema_boolean = {.type = NEAP_SCHEMA_BOOLEAN};
const struct neap_schema neap_schema_int_or_string = {
	.name = "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
	.doc = "A whole number, or a string such as a percentage (\"25%\") or the name of a port.",
	.type = NEAP_SCHEMA_INT_OR_STRING,
};
const struct neap_schema neap_schema_quantity = {
	.name = "io.k8s.apimachinery.pkg.api.resource.Quantity",
	.doc = "An amount: a decimal number with a suffix, such as 500m, 2, 1.5, 128Mi, 1e3.",
	.type = NEAP_SCHEMA_QUANTITY,
	.fallback = "\"0\"",
};
const struct neap_schema neap_schema_time = {
	.name = META "Time",
	.doc = "A time in RFC 3339, such as 2026-01-02T03:04:05Z.",
	.type = NEAP_SCHEMA_STRING,
	.format = NEAP_FORMAT_TIME,
};
const struct neap_schema neap_schema_micro_time = {
	.name = META "MicroTime",
	.doc = "A time in RFC 3339 with six decimals, such as 2026-01-02T03:04:05.000006Z.",
	.type = NEAP_SCHEMA_STRING,
	.format = NEAP_FORMAT_MICRO_TIME,
};
const struct neap_schema neap_schema_duration = {
	.name = META "Duration",
	.doc = "A length of time, such as 1h30m, 90s, 300ms.",
	.type = NEAP_SCHEMA_STRING,
	.format = NEAP_FORMAT_DURATION,
};
const struct neap_schema neap_schema_bytes = {
	.type = NEAP_SCHEMA_STRING, .format = NEAP_FORMAT_BYTES, .fallback = "\"\""};
const struct neap_schema neap_schema_strings = {.type = NEAP_SCHEMA_LIST,
						.items = &neap_schema_string};
const struct neap_schema neap_schema_string_map = {.type = NEAP_SCHEMA_MAP,
						   .items = &neap_schema_string};
const struct neap_schema neap_schema_quantity_map = {.type = NEAP_SCHEMA_MAP,
						     .items = &neap_schema_quantity};
const struct neap_schema neap_schema_bytes_map = {.type = NEAP_SCHEMA_MAP,
						  .items = &neap_schema_bytes};

/* --- looking --- */

static int by_name(const void *name, const void *field)
{
	return strcmp(name, ((const struct neap_schema_field *)field)->name);
}

const struct neap_schema_field *neap_schema_field_find(const struct neap_schema *schema,
						       const char *name)
{
	size_t i;

	if (schema->field_count == 0)
		return NULL;
	if (schema->sorted == schema->fields)
		return bsearch(name, schema->fields, schema->field_count,
			       sizeof(*schema->fields), by_name);
	/* Most differ in their first letter. */
	for (i = 0; i < schema->field_count; i++)
		if (schema->fields[i].name[0] == name[0] &&
		    strcmp(schema->fields[i].name, name) == 0)
			return &schema->fields[i];
	return NULL;
}

/* Of a list or map. */
static const struct neap_schema *items_of(const struct neap_schema *schema)
{
	return schema->items != NULL ? schema->items : &neap_schema_any;
}

static bool has_items(const struct neap_schema *schema)
{
	return schema->type == NEAP_SCHEMA_LIST || schema->type == NEAP_SCHEMA_MAP;
}

/* One name of a path. */
static const struct neap_schema *step_into(const struct neap_schema *schema,
					   const char *name, size_t len)
{
	const struct neap_schema_field *field;
	char text[256];

	while (has_items(schema))
		schema = items_of(schema);
	if (len == 0 || len >= sizeof(text))
		return NULL;
	memcpy(text, name, len);
	text[len] = '\0';
	field = neap_schema_field_find(schema, text);
	if (field != NULL)
		return field->schema;
	return schema->type == NEAP_SCHEMA_ANY ? &neap_schema_any : NULL;
}

const struct neap_schema *schema_member(const struct neap_schema *schema,
					const char *name)
{
	const struct neap_schema_field *field;

	if (schema->type == NEAP_SCHEMA_MAP)
		return schema->items != NULL ? schema->items : &neap_schema_any;
	field = neap_schema_field_find(schema, name);
	return field != NULL ? field->schema : NULL;
}

bool schema_is_zero(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return json_object_size(value) == 0;
	case JSON_ARRAY:
		return json_array_size(value) == 0;
	case JSON_STRING:
		return json_string_length(value) == 0;
	case JSON_INTEGER:
		return json_integer_value(value) == 0;
	case JSON_REAL:
		return json_real_value(value) == 0;
	case JSON_FALSE:
		return true;
	default:
		return false;
	}
}

const struct neap_schema *neap_schema_find(const struct neap_schema *schema,
					   const char *path)
{
	path += *path == '.';
	while (schema != NULL && *path != '\0') {
		size_t len;

		if (*path == '[') {
			len = strcspn(path, "]");
			if (path[len] == '\0')
				return NULL;
			schema = has_items(schema)                 ? items_of(schema)
				 : schema->type == NEAP_SCHEMA_ANY ? schema
								   : NULL;
			path += len + 1;
		} else {
			len = strcspn(path, ".[");
			schema = step_into(schema, path, len);
			path += len;
		}
		if (*path == '.' && *++path == '\0')
			return NULL;
	}
	return schema;
}

/* --- the way to a value --- */

struct text {
	char *buf;
	size_t size, len;
	bool is_full;
};

static void add(struct text *text, const char *piece)
{
	size_t room = text->size - text->len;

	if (text->is_full)
		return;
	text->is_full = !neap_strcopy(text->buf + text->len, room, piece);
	text->len += strlen(text->buf + text->len);
}

/* Recursion as deep as the walker that made the steps. */
static void write_step(const struct schema_step *at, struct text *text)
{
	char index[32];

	if (at == NULL || at->up == NULL)
		return;
	write_step(at->up, text);
	if (at->name == NULL) {
		(void)snprintf(index, sizeof(index), "[%zu]", at->index);
		add(text, index);
	} else if (at->is_key) {
		add(text, "[");
		add(text, at->name);
		add(text, "]");
	} else {
		if (text->len > 0)
			add(text, ".");
		add(text, at->name);
	}
}

char *schema_path(const struct schema_step *at, char *buf, size_t size)
{
	struct text text = {.buf = buf, .size = size};

	buf[0] = '\0';
	write_step(at, &text);
	return buf;
}

/* --- rules that are not evaluated --- */

struct rules {
	void (*found)(void *arg, const char *path);
	void *arg;
	size_t count;
};

/* As deep as a declared schema; built-in ones have no rules and may be cyclic. */
static void tell_rules(struct rules *rules, const struct neap_schema *schema,
		       const struct schema_step *at)
{
	struct schema_step step = {.up = at};
	char path[SCHEMA_PATH_MAX];
	size_t i;

	if (!schema->is_declared)
		return;
	if (schema->has_rules) {
		rules->count++;
		if (rules->found != NULL)
			rules->found(rules->arg, schema_path(at, path, sizeof(path)));
	}
	for (i = 0; i < schema->field_count; i++) {
		step.name = schema->fields[i].name;
		tell_rules(rules, schema->fields[i].schema, &step);
	}
	if (schema->items != NULL) {
		step.name = "*";
		step.is_key = true;
		tell_rules(rules, schema->items, &step);
	}
}

size_t neap_schema_rules(const struct neap_schema *schema,
			 void (*found)(void *arg, const char *path), void *arg)
{
	struct schema_step root = {0};
	struct rules rules = {.found = found, .arg = arg};

	tell_rules(&rules, schema, &root);
	return rules.count;
}
