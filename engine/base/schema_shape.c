/* SPDX-License-Identifier: Apache-2.0
 *
 * Bringing objects into shape: pruning, defaults, and the types that Go would not decode. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/json.h"
#include "engine/base/mem.h"
#include "engine/base/schema_priv.h"

/* --- pruning --- */

struct pruner {
	void (*unknown)(void *arg, const char *path);
	void *arg;
	/* The way to the object that had the last one: most have many, and can lie deep. */
	const json_t *parent;
	size_t len;
	char path[SCHEMA_PATH_MAX];
};

/* Of one that lies inside another object, whatever is declared. */
static bool is_own_of_embedded(const struct neap_schema *schema, const char *name)
{
	return schema->is_embedded &&
	       (strcmp(name, "apiVersion") == 0 || strcmp(name, "kind") == 0 ||
		strcmp(name, "metadata") == 0);
}

/* What a member is; NULL: nothing is known of it. */
static const struct neap_schema *member_of(const struct neap_schema *schema,
					   const char *name)
{
	const struct neap_schema_field *field;

	if (schema->type == NEAP_SCHEMA_MAP)
		return schema->items != NULL ? schema->items : &neap_schema_any;
	field = neap_schema_field_find(schema, name);
	return field != NULL ? field->schema : NULL;
}

/* A type that has no members leaves what it finds to the check. */
static bool has_members(const struct neap_schema *schema)
{
	return schema->type == NEAP_SCHEMA_OBJECT || schema->type == NEAP_SCHEMA_MAP ||
	       schema->type == NEAP_SCHEMA_ANY;
}

static void tell_unknown(struct pruner *pruner, const json_t *object,
			 const struct schema_step *at, const char *name)
{
	char *end;

	if (pruner->unknown == NULL)
		return;
	if (pruner->parent != object) {
		pruner->parent = object;
		pruner->len = strlen(schema_path(at, pruner->path, SCHEMA_PATH_MAX));
	}
	end = pruner->path + pruner->len;
	if (pruner->len > 0 && pruner->len + 1 < SCHEMA_PATH_MAX)
		*end++ = '.';
	(void)neap_strcopy(end, SCHEMA_PATH_MAX - (size_t)(end - pruner->path),
			   name); /* cut is fine */
	pruner->unknown(pruner->arg, pruner->path);
}

static void prune(struct pruner *pruner, const struct neap_schema *schema, json_t *value,
		  const struct schema_step *at);

static void prune_members(struct pruner *pruner, const struct neap_schema *schema,
			  json_t *object, const struct schema_step *at)
{
	bool is_open = schema->keeps_unknown || schema->type == NEAP_SCHEMA_ANY;
	const char *name;
	json_t *member;
	void *next;

	if (!has_members(schema))
		return;
	json_object_foreach_safe(object, next, name, member)
	{
		const struct neap_schema *child = member_of(schema, name);
		struct schema_step step = {at, name, 0, schema->type == NEAP_SCHEMA_MAP};

		if (child == NULL) {
			if (is_open || is_own_of_embedded(schema, name))
				continue;
			tell_unknown(pruner, object, at, name);
			(void)json_object_del(object, name); /* it is there */
		} else if (!json_is_null(member)) {
			prune(pruner, child, member, &step);
		} else if (!child->is_nullable &&
			   (schema->type != NEAP_SCHEMA_MAP || child->fallback == NULL)) {
			(void)json_object_del(object, name); /* it is there */
		}
	}
}

static void prune(struct pruner *pruner, const struct neap_schema *schema, json_t *value,
		  const struct schema_step *at)
{
	struct schema_step step = {.up = at};

	if (json_is_object(value)) {
		prune_members(pruner, schema, value, at);
	} else if (json_is_array(value) && schema->items != NULL &&
		   schema->type != NEAP_SCHEMA_MAP) {
		for (; step.index < json_array_size(value); step.index++)
			prune(pruner, schema->items, json_array_get(value, step.index),
			      &step);
	}
}

bool neap_schema_prune(const struct neap_schema *schema, json_t *object,
		       void (*unknown)(void *arg, const char *path), void *arg)
{
	struct pruner pruner = {.unknown = unknown, .arg = arg};
	struct schema_step root = {0};

	prune(&pruner, schema, object, &root);
	return true;
}

/* --- defaults --- */

/* Work for a value that is made: it is parsed, checked, written and freed. */
#define MADE_STEPS 64

struct filler {
	uint64_t *work;
	size_t bytes; /* filled in */
	bool is_over; /* a ceiling */
};

static bool spend(struct filler *filler, uint64_t steps)
{
	if (*filler->work < steps) {
		*filler->work = 0;
		filler->is_over = true;
		return false;
	}
	*filler->work -= steps;
	return true;
}

/* A new value out of its text; NULL without memory, or over the ceiling. */
static json_t *make(struct filler *filler, const char *text)
{
	size_t len = strlen(text);
	json_error_t where;
	json_t *json = NULL;

	filler->bytes += len;
	filler->is_over |= filler->bytes > NEAP_SCHEMA_DEFAULTS_MAX;
	if (filler->is_over || !spend(filler, MADE_STEPS + len))
		return NULL;
	if (neap_json_parse(text, len, JSON_DECODE_ANY | JSON_ALLOW_NUL, &json, &where) <
	    0)
		return NULL;
	return json;
}

static bool fill(struct filler *filler, const struct neap_schema *schema, json_t *value,
		 unsigned depth);

/* What Go cannot tell from a member that is missing. */
static bool is_zero(const json_t *value)
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

static bool fill_fields(struct filler *filler, const struct neap_schema *schema,
			json_t *object)
{
	size_t i;

	for (i = 0; i < schema->field_count; i++) {
		const struct neap_schema_field *field = &schema->fields[i];
		const json_t *value;
		json_t *made;

		if (field->fallback == NULL)
			continue;
		value = json_object_get(object, field->name);
		if (value != NULL && !(field->zero_is_missing && is_zero(value)))
			continue;
		filler->bytes += strlen(field->name);
		made = make(filler, field->fallback);
		if (made == NULL || json_object_set_new(object, field->name, made) < 0)
			return false;
	}
	return true;
}

static bool fill_members(struct filler *filler, const struct neap_schema *schema,
			 json_t *object, unsigned depth)
{
	const char *name;
	json_t *member;

	if (!has_members(schema))
		return true;
	if (!spend(filler, 1 + schema->field_count / 4 + json_object_size(object)))
		return false;
	if (!fill_fields(filler, schema, object))
		return false;
	json_object_foreach (object, name, member) {
		const struct neap_schema *child = member_of(schema, name);

		if (child == NULL)
			continue;
		if (json_is_null(member) && schema->type == NEAP_SCHEMA_MAP &&
		    child->fallback != NULL && !child->is_nullable) {
			member = make(filler, child->fallback);
			if (member == NULL ||
			    json_object_set_new(object, name, member) < 0)
				return false;
		}
		if (!fill(filler, child, member, depth + 1))
			return false;
	}
	return true;
}

static bool fill_items(struct filler *filler, const struct neap_schema *schema,
		       json_t *list, unsigned depth)
{
	const struct neap_schema *child = schema->items;
	size_t i;

	if (child == NULL || schema->type == NEAP_SCHEMA_MAP)
		return true;
	if (!spend(filler, 1 + json_array_size(list)))
		return false;
	for (i = 0; i < json_array_size(list); i++) {
		if (json_is_null(json_array_get(list, i)) && child->fallback != NULL &&
		    !child->is_nullable) {
			json_t *made = make(filler, child->fallback);

			if (made == NULL || json_array_set_new(list, i, made) < 0)
				return false;
		}
		if (!fill(filler, child, json_array_get(list, i), depth + 1))
			return false;
	}
	return true;
}

/* The depth is that of the object, but defaults in a schema that goes in a circle could go on. */
static bool fill(struct filler *filler, const struct neap_schema *schema, json_t *value,
		 unsigned depth)
{
	filler->is_over |= depth > SCHEMA_OBJECT_DEPTH_MAX;
	if (filler->is_over)
		return false;
	if (json_is_object(value))
		return fill_members(filler, schema, value, depth);
	if (json_is_array(value))
		return fill_items(filler, schema, value, depth);
	return true;
}

bool schema_default_within(const struct neap_schema *schema, json_t *object,
			   uint64_t *work)
{
	struct filler filler = {.work = work};

	return fill(&filler, schema, object, 0);
}

bool neap_schema_default_told(const struct neap_schema *schema, json_t *object,
			      bool *ret_is_over)
{
	uint64_t work = NEAP_SCHEMA_WORK_MAX;
	struct filler filler = {.work = &work};
	bool is_whole = fill(&filler, schema, object, 0);

	*ret_is_over = filler.is_over;
	return is_whole;
}

bool neap_schema_default(const struct neap_schema *schema, json_t *object)
{
	bool is_over;

	return neap_schema_default_told(schema, object, &is_over);
}

/* --- types that Go could not decode --- */

static const char *json_name(const json_t *value)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "object", [JSON_ARRAY] = "array",
		[JSON_STRING] = "string", [JSON_INTEGER] = "number",
		[JSON_REAL] = "number",   [JSON_TRUE] = "bool",
		[JSON_FALSE] = "bool",    [JSON_NULL] = "null",
	};

	return names[json_typeof(value)];
}

static const char *wanted_name(const struct neap_schema *schema)
{
	static const char *const names[] = {
		[NEAP_SCHEMA_ANY] = "any",
		[NEAP_SCHEMA_OBJECT] = "object",
		[NEAP_SCHEMA_MAP] = "map",
		[NEAP_SCHEMA_LIST] = "array",
		[NEAP_SCHEMA_STRING] = "string",
		[NEAP_SCHEMA_INTEGER] = "int64",
		[NEAP_SCHEMA_NUMBER] = "float64",
		[NEAP_SCHEMA_BOOLEAN] = "bool",
		[NEAP_SCHEMA_INT_OR_STRING] = "int32 or string",
		[NEAP_SCHEMA_QUANTITY] = "quantity",
	};

	return schema->format == NEAP_FORMAT_INT32 ? "int32" : names[schema->type];
}

static __attribute__((noinline)) int tell_type(const struct neap_schema *schema,
					       const json_t *value,
					       const struct schema_step *at,
					       struct neap_error *err)
{
	char path[SCHEMA_PATH_MAX], number[64] = "";
	const char *what = json_name(value);

	if (json_is_number(value)) {
		number[0] = ' ';
		(void)schema_show(value, number + 1, sizeof(number) - 1);
	}
	(void)schema_path(at, path, sizeof(path));
	return neap_error_field(
		err, NEAP_EINVAL, path,
		"json: cannot unmarshal %s%s into field %.100s of type %s", what, number,
		*path ? path : "(root)", wanted_name(schema));
}

static const char *format_hint(enum neap_schema_format format)
{
	switch (format) {
	case NEAP_FORMAT_TIME:
		return "a time such as 2026-01-02T03:04:05Z";
	case NEAP_FORMAT_MICRO_TIME:
		return "a time with six decimals such as 2026-01-02T03:04:05.000006Z";
	case NEAP_FORMAT_DURATION:
		return "a duration such as 1h30m, 90s, 300ms";
	case NEAP_FORMAT_BYTES:
		return "base64";
	default:
		return schema_format_name(format);
	}
}

static __attribute__((noinline)) int tell_format(const struct neap_schema *schema,
						 const json_t *value,
						 const struct schema_step *at,
						 struct neap_error *err)
{
	char path[SCHEMA_PATH_MAX], shown[64];

	(void)schema_path(at, path, sizeof(path));
	(void)schema_show(value, shown, sizeof(shown));
	if (schema->type == NEAP_SCHEMA_QUANTITY)
		return neap_error_field(
			err, NEAP_EINVAL, path,
			"%.100s: %s: quantities must match the regular expression "
			"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
			path, shown);
	return neap_error_field(err, NEAP_EINVAL, path, "%.100s: %s is not %s", path,
				shown, format_hint(schema->format));
}

static int decode(const struct neap_schema *schema, const json_t *value,
		  const struct schema_step *at, struct neap_error *err);

static int decode_members(const struct neap_schema *schema, const json_t *object,
			  const struct schema_step *at, struct neap_error *err)
{
	const char *name;
	json_t *member;

	json_object_foreach ((json_t *)object, name, member) {
		const struct neap_schema *child = member_of(schema, name);
		struct schema_step step = {at, name, 0, schema->type == NEAP_SCHEMA_MAP};
		int rc = child != NULL ? decode(child, member, &step, err) : 0;

		if (rc < 0)
			return rc;
	}
	return 0;
}

static int decode_items(const struct neap_schema *schema, const json_t *list,
			const struct schema_step *at, struct neap_error *err)
{
	struct schema_step step = {.up = at};
	int rc = 0;

	if (schema->items == NULL)
		return 0;
	for (; rc == 0 && step.index < json_array_size(list); step.index++)
		rc = decode(schema->items, json_array_get(list, step.index), &step, err);
	return rc;
}

static bool is_int32(int64_t number)
{
	return number >= INT32_MIN && number <= INT32_MAX;
}

/* Whether the JSON type is right; numbers of Go have no fraction, and a width. */
static bool is_decodable(const struct neap_schema *schema, const json_t *value)
{
	switch (schema->type) {
	case NEAP_SCHEMA_OBJECT:
	case NEAP_SCHEMA_MAP:
		return json_is_object(value);
	case NEAP_SCHEMA_LIST:
		return json_is_array(value);
	case NEAP_SCHEMA_STRING:
		return json_is_string(value);
	case NEAP_SCHEMA_INTEGER:
		return json_is_integer(value) && (schema->format != NEAP_FORMAT_INT32 ||
						  is_int32(json_integer_value(value)));
	case NEAP_SCHEMA_NUMBER:
		return json_is_number(value);
	case NEAP_SCHEMA_BOOLEAN:
		return json_is_boolean(value);
	case NEAP_SCHEMA_INT_OR_STRING:
		return json_is_string(value) ||
		       (json_is_integer(value) && is_int32(json_integer_value(value)));
	case NEAP_SCHEMA_QUANTITY:
		return json_is_string(value) || json_is_number(value);
	case NEAP_SCHEMA_ANY:
		break;
	}
	return true;
}

static int decode(const struct neap_schema *schema, const json_t *value,
		  const struct schema_step *at, struct neap_error *err)
{
	/* Go takes a null for every type and leaves the field as it is. */
	if (json_is_null(value))
		return 0;
	if (!is_decodable(schema, value))
		return tell_type(schema, value, at, err);
	if (schema->type == NEAP_SCHEMA_QUANTITY) {
		if (!schema_is_quantity(value))
			return tell_format(schema, value, at, err);
		return 0;
	}
	if (json_is_string(value)) {
		if (schema->type == NEAP_SCHEMA_STRING &&
		    !schema_format_fits(schema->format, json_string_value(value),
					json_string_length(value)))
			return tell_format(schema, value, at, err);
		return 0;
	}
	if (json_is_object(value))
		return decode_members(schema, value, at, err);
	if (json_is_array(value))
		return decode_items(schema, value, at, err);
	return 0;
}

int neap_schema_decode(const struct neap_schema *schema, const json_t *object,
		       struct neap_error *err)
{
	struct schema_step root = {0};

	return decode(schema, object, &root, err);
}
