/* SPDX-License-Identifier: Apache-2.0
 *
 * Decodes like Go: refuses types Go would not decode, stores amounts as canonical texts,
 * and keeps zero values only where Go can tell them from missing ones. */
#include <inttypes.h>
#include <string.h>

#include "engine/base/quantity.h"
#include "engine/schema/schema_priv.h"

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

static int decode(const struct neap_schema *schema, json_t *value,
		  const struct schema_step *at, struct neap_error *err);

/* Returns the replacement of a quantity, a new reference; NULL: it is canonical. */
static int decode_quantity(const struct neap_schema *schema, const json_t *value,
			   const struct schema_step *at, json_t **ret,
			   struct neap_error *err)
{
	const char *text = json_string_value(value);
	size_t from = text ? strspn(text, " ") : 0;
	json_auto_t *trimmed = NULL;
	char amount[NEAP_QUANTITY_SIZE];

	*ret = NULL;
	if (!is_decodable(schema, value))
		return tell_type(schema, value, at, err);
	if (from || (text && *text && text[strlen(text) - 1] == ' ')) {
		/* Go's decoder passes blanks over. */
		size_t len = json_string_length(value);

		while (len > from && text[len - 1] == ' ')
			len--;
		trimmed = json_stringn(text + from, len - from);
		if (!trimmed)
			return neap_error_nomem(err);
	}
	if (!neap_schema_amount(trimmed ? trimmed : value, amount))
		return tell_format(schema, value, at, err);
	if (text && strcmp(text, amount) == 0)
		return 0;
	*ret = json_string(amount);
	return *ret ? 0 : neap_error_nomem(err);
}

/* Quantities have no items and no members: they are replaced where they are found. */
static bool is_quantity(const struct neap_schema *schema, const json_t *value)
{
	return schema->type == NEAP_SCHEMA_QUANTITY && !json_is_null(value);
}

/* A value that means missing. Go writes empty structs, so empty objects stay, and so do
 * amounts and int-or-string values. */
static bool is_nothing(const struct neap_schema_field *field, const json_t *value)
{
	if (!field->zero_is_missing || !schema_is_zero(value))
		return false;
	switch (field->schema->type) {
	case NEAP_SCHEMA_MAP:
	case NEAP_SCHEMA_LIST:
	case NEAP_SCHEMA_STRING:
	case NEAP_SCHEMA_INTEGER:
	case NEAP_SCHEMA_NUMBER:
	case NEAP_SCHEMA_BOOLEAN:
		return true;
	default:
		return false;
	}
}

/* Returns what Go makes of a null item, a new reference: an empty struct or text, 0,
 * false. NULL: the null stays. */
static json_t *zero_of(const struct neap_schema *items)
{
	switch (items->type) {
	case NEAP_SCHEMA_OBJECT:
		return json_object();
	case NEAP_SCHEMA_STRING:
		return json_string("");
	case NEAP_SCHEMA_INTEGER:
		return json_integer(0);
	case NEAP_SCHEMA_BOOLEAN:
		return json_false();
	default:
		return NULL;
	}
}

static int decode_members(const struct neap_schema *schema, json_t *object,
			  const struct schema_step *at, struct neap_error *err)
{
	const char *name;
	json_t *member;
	void *next;

	json_object_foreach_safe(object, next, name, member)
	{
		bool is_map = schema->type == NEAP_SCHEMA_MAP;
		const struct neap_schema_field *field =
			is_map ? NULL : neap_schema_field_find(schema, name);
		const struct neap_schema *child = is_map  ? schema_member(schema, name)
						  : field ? field->schema
							  : NULL;
		struct schema_step step = {at, name, 0, is_map};
		json_t *amount = NULL;
		int rc;

		if (!child)
			continue;
		if (is_quantity(child, member))
			rc = decode_quantity(child, member, &step, &amount, err);
		else
			rc = decode(child, member, &step, err);
		if (amount) {
			if (json_object_set_new(object, name, amount) < 0)
				rc = neap_error_nomem(err);
			member = amount; /* that went */
		}
		if (rc < 0)
			return rc;
		if (field && is_nothing(field, member))
			(void)json_object_del(object, name); /* it is there */
	}
	return 0;
}

static int decode_items(const struct neap_schema *schema, json_t *list,
			const struct schema_step *at, struct neap_error *err)
{
	struct schema_step step = {.up = at};
	int rc = 0;

	if (!schema->items)
		return 0;
	for (; rc == 0 && step.index < json_array_size(list); step.index++) {
		json_t *zero = NULL;

		if (json_is_null(json_array_get(list, step.index)))
			zero = zero_of(schema->items);
		if (zero && json_array_set_new(list, step.index, zero) < 0)
			return neap_error_nomem(err);
		rc = decode(schema->items, json_array_get(list, step.index), &step, err);
	}
	return rc;
}

static int decode(const struct neap_schema *schema, json_t *value,
		  const struct schema_step *at, struct neap_error *err)
{
	/* Go accepts null for every type and leaves the field unchanged. */
	if (json_is_null(value))
		return 0;
	if (!is_decodable(schema, value))
		return tell_type(schema, value, at, err);
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

int neap_schema_decode(const struct neap_schema *schema, json_t *object,
		       struct neap_error *err)
{
	struct schema_step root = {0};

	return decode(schema, object, &root, err);
}

/* --- amounts that stay --- */

static bool keep_amounts(const struct neap_schema *schema, json_t *value,
			 const json_t *before);

static bool keep_member(const struct neap_schema *schema, json_t *object,
			const char *name, json_t *member, json_t *before)
{
	char was[NEAP_QUANTITY_SIZE];

	if (schema->type != NEAP_SCHEMA_QUANTITY)
		return keep_amounts(schema, member, before);
	return !json_is_string(member) || !neap_schema_amount(before, was) ||
	       !neap_quantity_is_same(json_string_value(member), was) ||
	       json_object_set(object, name, before) == 0;
}

static bool keep_amounts(const struct neap_schema *schema, json_t *value,
			 const json_t *before)
{
	const char *name;
	json_t *member;
	size_t i;

	if (schema->type == NEAP_SCHEMA_ANY)
		return true;
	if (json_is_object(value) && json_is_object(before)) {
		json_object_foreach (value, name, member) {
			const struct neap_schema *child = schema_member(schema, name);
			json_t *was = json_object_get(before, name);

			if (child && was && !keep_member(child, value, name, member, was))
				return false;
		}
	} else if (json_is_array(value) && json_is_array(before) && schema->items) {
		json_array_foreach (value, i, member)
			if (!keep_amounts(schema->items, member,
					  json_array_get(before, i)))
				return false;
	}
	return true;
}

bool neap_schema_keep_amounts(const struct neap_schema *schema, json_t *object,
			      const json_t *before)
{
	return keep_amounts(schema, object, before);
}
