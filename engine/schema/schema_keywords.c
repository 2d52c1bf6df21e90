/* SPDX-License-Identifier: Apache-2.0
 *
 * Keywords of a schema of a CustomResourceDefinition: reading them, and the limits of
 * values. */
#include <math.h>
#include <stdalign.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/mem.h"
#include "engine/json/json.h"
#include "engine/schema/schema_parse.h"

/* --- memory --- */

#define CHUNK_SIZE 16384

struct schema_chunk {
	struct schema_chunk *next;
	size_t used, size;
	alignas(max_align_t) char data[];
};

void *schema_keep(struct schema_parser *parser, size_t count, size_t size)
{
	struct schema_chunk *chunk = parser->out->chunks;
	size_t bytes, align = alignof(max_align_t);
	void *block;

	if (parser->rc < 0)
		return NULL;
	if (__builtin_mul_overflow(count, size, &bytes) ||
	    __builtin_add_overflow(bytes, align - 1, &bytes)) {
		schema_stop(parser, NEAP_ENOMEM, NULL, "");
		return NULL;
	}
	bytes -= bytes % align;
	if (!chunk || chunk->size - chunk->used < bytes) {
		size_t room = bytes > CHUNK_SIZE ? bytes : CHUNK_SIZE;

		chunk = neap_alloc(sizeof(*chunk) + room);
		if (!chunk) {
			schema_stop(parser, NEAP_ENOMEM, NULL, "");
			return NULL;
		}
		chunk->size = room;
		chunk->next = parser->out->chunks;
		parser->out->chunks = chunk;
	}
	block = chunk->data + chunk->used;
	chunk->used += bytes;
	return block;
}

char *schema_keep_text(struct schema_parser *parser, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = schema_keep(parser, size, 1);

	if (copy)
		memcpy(copy, text, size);
	return copy;
}

void schema_chunks_free(struct schema_chunk *chunks)
{
	while (chunks) {
		struct schema_chunk *next = chunks->next;

		free(chunks);
		chunks = next;
	}
}

void schema_stop(struct schema_parser *parser, enum neap_code code,
		 const struct schema_step *at, const char *what)
{
	char path[SCHEMA_PATH_MAX];

	if (parser->rc < 0)
		return;
	if (code == NEAP_ENOMEM)
		parser->rc = neap_error_nomem(parser->err);
	else
		parser->rc =
			neap_error_field(parser->err, code,
					 schema_path(at, path, sizeof(path)), "%s", what);
}

bool schema_has_causes(const struct schema_parser *parser)
{
	return parser->causes->count + parser->causes->more > parser->causes_before;
}

/* --- keywords --- */

void schema_complain(struct schema_parser *parser, enum schema_told told,
		     const struct schema_step *at, const char *key, const json_t *value,
		     const char *fmt, ...)
{
	char path[SCHEMA_PATH_MAX], text[400];
	struct schema_step step = {.up = at, .name = key};
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	(void)schema_path(key ? &step : at, path, sizeof(path));
	switch (told) {
	case SCHEMA_FORBIDDEN:
		neap_causes_forbidden(parser->causes, path, "%s", text);
		break;
	case SCHEMA_REQUIRED:
		neap_causes_required(parser->causes, path, text);
		break;
	case SCHEMA_INVALID:
		neap_causes_invalid(parser->causes, path, value, "%s", text);
		break;
	}
}

const json_t *schema_word(const json_t *json, const char *key)
{
	const json_t *value = json_object_get(json, key);

	return json_is_null(value) ? NULL : value;
}

static const json_t *typed(struct schema_parser *parser, const json_t *json,
			   const char *key, const struct schema_step *at, json_type type,
			   const char *name)
{
	const json_t *value = schema_word(json, key);

	if (!value || json_typeof(value) == type)
		return value;
	schema_complain(parser, SCHEMA_INVALID, at, key, value, "must be %s", name);
	return NULL;
}

/* A text with a NUL would be another text to C. */
const char *schema_word_text(struct schema_parser *parser, const json_t *json,
			     const char *key, const struct schema_step *at)
{
	const json_t *value = typed(parser, json, key, at, JSON_STRING, "a string");

	if (!value)
		return NULL;
	if (strlen(json_string_value(value)) != json_string_length(value)) {
		schema_complain(parser, SCHEMA_INVALID, at, key, value,
				"must not have a NUL in it");
		return NULL;
	}
	return json_string_value(value);
}

bool schema_word_bool(struct schema_parser *parser, const json_t *json, const char *key,
		      const struct schema_step *at)
{
	const json_t *value = schema_word(json, key);

	if (value && !json_is_boolean(value))
		schema_complain(parser, SCHEMA_INVALID, at, key, value,
				"must be a boolean");
	return json_is_true(value);
}

const json_t *schema_word_object(struct schema_parser *parser, const json_t *json,
				 const char *key, const struct schema_step *at)
{
	return typed(parser, json, key, at, JSON_OBJECT, "an object");
}

const json_t *schema_word_list(struct schema_parser *parser, const json_t *json,
			       const char *key, const struct schema_step *at)
{
	return typed(parser, json, key, at, JSON_ARRAY, "an array");
}

/* NaN when it is not there. */
static double word_number(struct schema_parser *parser, const json_t *json,
			  const char *key, const struct schema_step *at)
{
	const json_t *value = schema_word(json, key);

	if (json_is_number(value))
		return json_number_value(value);
	if (value)
		schema_complain(parser, SCHEMA_INVALID, at, key, value,
				"must be a number");
	return NAN;
}

/* NEAP_MISSING when it is not there. */
static int64_t word_count(struct schema_parser *parser, const json_t *json,
			  const char *key, const struct schema_step *at)
{
	const json_t *value = schema_word(json, key);
	int64_t count = NEAP_MISSING;

	if (!value)
		return NEAP_MISSING;
	if (!schema_is_whole(value, &count) || count < 0) {
		schema_complain(parser, SCHEMA_INVALID, at, key, value,
				"must be a whole number, 0 or more");
		return NEAP_MISSING;
	}
	return count;
}

/* --- limits --- */

void schema_node_init(struct neap_schema *node)
{
	*node = (struct neap_schema){
		.minimum = NAN,
		.maximum = NAN,
		.min_length = NEAP_MISSING,
		.max_length = NEAP_MISSING,
		.is_declared = true,
	};
}

static void parse_range(struct schema_parser *parser, struct neap_schema *node,
			const json_t *json, const struct schema_step *at)
{
	double multiple = word_number(parser, json, "multipleOf", at);

	node->minimum = word_number(parser, json, "minimum", at);
	node->maximum = word_number(parser, json, "maximum", at);
	node->is_minimum_exclusive =
		schema_word_bool(parser, json, "exclusiveMinimum", at);
	node->is_maximum_exclusive =
		schema_word_bool(parser, json, "exclusiveMaximum", at);
	if (!isnan(node->minimum) || !isnan(node->maximum))
		node->has_limits = true;
	if (isnan(multiple))
		return;
	if (multiple > 0)
		node->multiple_of = multiple;
	else
		schema_complain(parser, SCHEMA_INVALID, at, "multipleOf",
				schema_word(json, "multipleOf"),
				"must be greater than 0");
}

static const struct {
	const char *min, *max;
	enum neap_schema_type of;
} lengths[] = {
	{"minLength", "maxLength", NEAP_SCHEMA_STRING},
	{"minItems", "maxItems", NEAP_SCHEMA_LIST},
	{"minProperties", "maxProperties", NEAP_SCHEMA_OBJECT},
};

/* For a type that can have only one kind of length. */
static bool has_length(enum neap_schema_type type, enum neap_schema_type of)
{
	return type == of || (type == NEAP_SCHEMA_MAP && of == NEAP_SCHEMA_OBJECT);
}

static bool may_have_length(enum neap_schema_type type, enum neap_schema_type of)
{
	return has_length(type, of) || type == NEAP_SCHEMA_ANY ||
	       (type == NEAP_SCHEMA_INT_OR_STRING && of == NEAP_SCHEMA_STRING);
}

static void parse_lengths(struct schema_parser *parser, struct neap_schema *node,
			  const json_t *json, const struct schema_step *at,
			  const struct neap_schema **extras, size_t *count)
{
	struct neap_schema *to = node;
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(lengths); i++) {
		int64_t min = word_count(parser, json, lengths[i].min, at);
		int64_t max = word_count(parser, json, lengths[i].max, at);

		if ((min == NEAP_MISSING && max == NEAP_MISSING) ||
		    !may_have_length(node->type, lengths[i].of))
			continue;
		if (!to) {
			to = schema_keep(parser, 1, sizeof(*to));
			if (!to)
				return;
			schema_node_init(to);
			extras[(*count)++] = to;
		}
		to->min_length = min;
		to->max_length = max;
		to->length_of = lengths[i].of;
		to->has_limits = true;
		to = NULL;
	}
}

/* --- enum --- */

static bool are_texts(const json_t *list)
{
	size_t i;

	for (i = 0; i < json_array_size(list); i++) {
		const json_t *value = json_array_get(list, i);

		if (!json_is_string(value) ||
		    strlen(json_string_value(value)) != json_string_length(value))
			return false;
	}
	return true;
}

/* A copy, whole or not at all. */
static json_t *copy_of(const json_t *json)
{
	neap_auto_free char *text = neap_json_dump(json, JSON_COMPACT | JSON_ENCODE_ANY);
	json_error_t where;
	json_t *copy = NULL;

	if (!text || neap_json_parse(text, strlen(text), JSON_DECODE_ANY | JSON_ALLOW_NUL,
				     &copy, &where) < 0)
		return NULL;
	return copy;
}

static void parse_enum(struct schema_parser *parser, struct neap_schema *node,
		       const json_t *json, const struct schema_step *at)
{
	const json_t *list = schema_word_list(parser, json, "enum", at);
	const char **values;
	json_t *copy;
	size_t i;

	if (json_array_size(list) == 0)
		return;
	if (are_texts(list)) {
		values = schema_keep(parser, json_array_size(list) + 1, sizeof(*values));
		for (i = 0; values && i < json_array_size(list); i++)
			values[i] = schema_keep_text(
				parser, json_string_value(json_array_get(list, i)));
		node->values = values;
		return;
	}
	if (!parser->out->values)
		parser->out->values = json_array();
	copy = copy_of(list);
	if (!copy || json_array_append_new(parser->out->values, copy) < 0) {
		schema_stop(parser, NEAP_ENOMEM, NULL, "");
		return;
	}
	node->values_json = copy;
}

/* --- pattern --- */

static void parse_pattern(struct schema_parser *parser, struct neap_schema *node,
			  const json_t *json, const struct schema_step *at)
{
	const char *pattern = schema_word_text(parser, json, "pattern", at);
	struct schema_parsed *out = parser->out;
	struct neap_error err;
	void **codes, *code = NULL;
	size_t bytes = 0;
	int rc;

	if (!pattern || *pattern == '\0')
		return;
	rc = schema_pattern_compile(pattern, &code, &bytes, &err);
	if (rc == -NEAP_ENOMEM) {
		schema_stop(parser, NEAP_ENOMEM, NULL, "");
		return;
	}
	if (rc < 0) {
		schema_complain(parser, SCHEMA_INVALID, at, "pattern",
				json_object_get(json, "pattern"),
				"must be a valid regular expression, but isn't: %s",
				err.msg);
		return;
	}
	/* A power of two is full. */
	codes = out->codes;
	if ((out->code_count & (out->code_count - 1)) == 0)
		codes = neap_realloc_array(codes,
					   out->code_count > 0 ? 2 * out->code_count : 1,
					   sizeof(*codes));
	if (!codes) {
		schema_pattern_free(code);
		schema_stop(parser, NEAP_ENOMEM, NULL, "");
		return;
	}
	out->codes = codes;
	out->codes[out->code_count++] = code;
	parser->code_bytes += bytes;
	if (parser->code_bytes > NEAP_SCHEMA_CODE_MAX)
		schema_stop(parser, NEAP_ETOOLARGE, at, "too many large patterns");
	node->pattern = schema_keep_text(parser, pattern);
	node->pattern_code = code;
}

void schema_parse_values(struct schema_parser *parser, struct neap_schema *node,
			 const json_t *json, const struct schema_step *at,
			 const struct neap_schema **extras, size_t *count)
{
	const char *format = schema_word_text(parser, json, "format", at);

	if (format)
		node->format = schema_format_parse(format);
	parse_range(parser, node, json, at);
	parse_lengths(parser, node, json, at, extras, count);
	parse_enum(parser, node, json, at);
	parse_pattern(parser, node, json, at);
}
