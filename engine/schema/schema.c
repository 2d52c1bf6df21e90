/* SPDX-License-Identifier: Apache-2.0
 *
 * Schemas: shared scalars, field lookup, paths as text; causes, the errors of a check.
 *
 * C tables have at most a few dozen fields in their usual order and are searched
 * linearly; a declared schema can have thousands, which are sorted. */
#include <inttypes.h>
#include <math.h>
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
	return schema->items ? schema->items : &neap_schema_any;
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
	if (field)
		return field->schema;
	return schema->type == NEAP_SCHEMA_ANY ? &neap_schema_any : NULL;
}

const struct neap_schema *schema_member(const struct neap_schema *schema,
					const char *name)
{
	const struct neap_schema_field *field;

	if (schema->type == NEAP_SCHEMA_MAP)
		return schema->items ? schema->items : &neap_schema_any;
	field = neap_schema_field_find(schema, name);
	return field ? field->schema : NULL;
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
	while (schema && *path != '\0') {
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

	if (!at || !at->up)
		return;
	write_step(at->up, text);
	if (!at->name) {
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
		if (rules->found)
			rules->found(rules->arg, schema_path(at, path, sizeof(path)));
	}
	for (i = 0; i < schema->field_count; i++) {
		step.name = schema->fields[i].name;
		tell_rules(rules, schema->fields[i].schema, &step);
	}
	if (schema->items) {
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

/* --- causes ---
 *
 * What is wrong with an object, in the words of Kubernetes: "Invalid value: "x": must be
 * ...". */

/* Bytes of a value in a message, so that the reason after it has room. */
#define VALUE_MAX 256
/* Go writes a float with an exponent from here on. */
#define EXPONENT_FROM 1e21

/* --- values --- */

struct shown {
	char *buf;
	size_t size, len;
	bool is_cut;
};

static bool put(struct shown *shown, const char *text, size_t len)
{
	if (shown->is_cut || len >= shown->size - shown->len) {
		shown->is_cut = true;
		return false;
	}
	memcpy(shown->buf + shown->len, text, len);
	shown->len += len;
	shown->buf[shown->len] = '\0';
	return true;
}

static int put_piece(const char *text, size_t len, void *arg)
{
	struct shown *shown = arg;

	/* A piece can be a long string: what fits of it is shown. */
	if (!shown->is_cut && len >= shown->size - shown->len) {
		(void)put(shown, text, shown->size - shown->len - 1);
		neap_utf8_trim(shown->buf);
		shown->len = strlen(shown->buf);
		shown->is_cut = true;
	}
	return put(shown, text, len) ? 0 : -1;
}

static void put_quoted(struct shown *shown, const char *text, size_t len)
{
	size_t i;

	(void)put(shown, "\"", 1);
	for (i = 0; i < len && !shown->is_cut; i++) {
		unsigned char c = (unsigned char)text[i];
		char escape[8];

		if (c == '"' || c == '\\')
			(void)snprintf(escape, sizeof(escape), "\\%c", c);
		else if (c == '\n' || c == '\t' || c == '\r')
			(void)snprintf(escape, sizeof(escape), "\\%c",
				       c == '\n'   ? 'n'
				       : c == '\t' ? 't'
						   : 'r');
		else if (c < 0x20 || c == 0x7f)
			(void)snprintf(escape, sizeof(escape), "\\x%02x", c);
		else
			(void)snprintf(escape, sizeof(escape), "%c", c);
		(void)put(shown, escape, strlen(escape));
	}
	if (!shown->is_cut)
		(void)put(shown, "\"", 1);
	else
		neap_utf8_trim(shown->buf);
	shown->len = strlen(shown->buf);
}

char *schema_show_number(double number, char *buf, size_t size)
{
	int digits;

	if (number == floor(number) && fabs(number) < EXPONENT_FROM) {
		(void)snprintf(buf, size, "%.0f", number);
		return buf;
	}
	/* The shortest text that reads back as the same number. */
	for (digits = 1; digits <= 17; digits++) {
		double back = 0;

		(void)snprintf(buf, size, "%.*g", digits, number);
		if (sscanf(buf, "%lf", &back) == 1 && back == number)
			break;
	}
	return buf;
}

char *schema_show(const json_t *value, char *buf, size_t size)
{
	static const char cut[] = "...";
	struct shown shown = {.buf = buf, .size = size - (sizeof(cut) - 1)};
	char number[64];

	buf[0] = '\0';
	switch (value ? json_typeof(value) : JSON_NULL) {
	case JSON_STRING:
		put_quoted(&shown, json_string_value(value), json_string_length(value));
		break;
	case JSON_INTEGER:
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
		(void)put(&shown, number, strlen(number));
		break;
	case JSON_REAL:
		(void)schema_show_number(json_real_value(value), number, sizeof(number));
		(void)put(&shown, number, strlen(number));
		break;
	case JSON_TRUE:
		(void)put(&shown, "true", 4);
		break;
	case JSON_FALSE:
		(void)put(&shown, "false", 5);
		break;
	case JSON_NULL:
		(void)put(&shown, "null", 4);
		break;
	default:
		/* Without memory it is a prefix, which will do. */
		(void)json_dump_callback(value, put_piece, &shown,
					 JSON_COMPACT | JSON_ENCODE_ANY);
	}
	if (shown.is_cut)
		memcpy(buf + shown.len, cut, sizeof(cut));
	return buf;
}

/* --- causes --- */

/* No further text is stored, so none need be built. */
static bool is_full(struct neap_causes *causes)
{
	if (causes->count < NEAP_SCHEMA_CAUSES_MAX)
		return false;
	causes->more++;
	return true;
}

void schema_causes_vadd(struct neap_causes *causes, const char *reason, const char *field,
			const char *fmt, va_list args)
{
	struct neap_cause *cause;
	int len;

	if (is_full(causes))
		return;
	cause = &causes->list[causes->count++];
	cause->reason = reason;
	(void)neap_strcopy(cause->field, sizeof(cause->field), field); /* cut is fine */
	len = vsnprintf(cause->message, sizeof(cause->message), fmt, args);
	if (len < 0)
		cause->message[0] = '\0';
	if (len >= (int)sizeof(cause->message))
		neap_utf8_trim(cause->message);
}

void neap_causes_clear(struct neap_causes *causes)
{
	causes->count = causes->more = 0;
	causes->is_short = false;
}

void neap_causes_add(struct neap_causes *causes, const char *reason, const char *field,
		     const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	schema_causes_vadd(causes, reason, field, fmt, args);
	va_end(args);
}

void neap_causes_invalid(struct neap_causes *causes, const char *field,
			 const json_t *value, const char *fmt, ...)
{
	char shown[VALUE_MAX], detail[512];
	va_list args;

	if (is_full(causes))
		return;
	va_start(args, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	neap_causes_add(causes, "FieldValueInvalid", field, "Invalid value: %s%s%s",
			schema_show(value, shown, sizeof(shown)), *detail ? ": " : "",
			detail);
}

void neap_causes_required(struct neap_causes *causes, const char *field,
			  const char *detail)
{
	bool has_detail = detail && *detail != '\0';

	neap_causes_add(causes, "FieldValueRequired", field, "Required value%s%s",
			has_detail ? ": " : "", has_detail ? detail : "");
}

void neap_causes_forbidden(struct neap_causes *causes, const char *field, const char *fmt,
			   ...)
{
	char detail[512];
	va_list args;

	if (is_full(causes))
		return;
	va_start(args, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	neap_causes_add(causes, "FieldValueForbidden", field, "Forbidden: %s", detail);
}

void neap_causes_unsupported(struct neap_causes *causes, const char *field,
			     const json_t *value, const char *const *values)
{
	char list[512] = "", shown[VALUE_MAX];
	struct shown text = {.buf = list, .size = sizeof(list)};
	size_t i;

	if (is_full(causes))
		return;
	for (i = 0; values && values[i] && !text.is_cut; i++) {
		if (i > 0)
			(void)put(&text, ", ", 2);
		put_quoted(&text, values[i], strlen(values[i]));
	}
	neap_causes_add(causes, "FieldValueNotSupported", field,
			"Unsupported value: %s%s%s",
			schema_show(value, shown, sizeof(shown)),
			*list ? ": supported values: " : "", list);
}

void neap_causes_duplicate(struct neap_causes *causes, const char *field,
			   const json_t *value)
{
	char shown[VALUE_MAX];

	neap_causes_add(causes, "FieldValueDuplicate", field, "Duplicate value: %s",
			schema_show(value, shown, sizeof(shown)));
}

void neap_causes_infield(struct neap_causes *causes, size_t from, const char *fmt, ...)
{
	char head[sizeof(causes->list[0].field)], whole[2 * sizeof(head)];
	va_list args;
	size_t i;

	va_start(args, fmt);
	(void)vsnprintf(head, sizeof(head), fmt, args);
	va_end(args);
	for (i = from; i < causes->count; i++) {
		struct neap_cause *cause = &causes->list[i];
		bool is_joined =
			*head == '\0' || *cause->field == '\0' || *cause->field == '[';

		(void)snprintf(whole, sizeof(whole), "%s%s%s", head, is_joined ? "" : ".",
			       cause->field);
		(void)neap_strcopy(cause->field, sizeof(cause->field), whole);
	}
}
