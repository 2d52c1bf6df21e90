/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of values: lengths and counts, ranges, patterns, formats. */
#include <inttypes.h>
#include <math.h>

#include "engine/schema/schema_check.h"

/* Bytes of a string that are looked at for one step of work, and what a match costs
 * before it begins. */
#define BYTES_A_STEP 32
#define MATCH_STEPS  4
/* Steps for compiling a pattern. */
#define COMPILE_STEPS 500
/* 0.3 is three times 0.1, whatever the last bit says. */
#define MULTIPLE_ERROR 1e-12

static bool is_set(int64_t limit)
{
	return limit != NEAP_MISSING;
}

/* Whose lengths the schema bounds: STRING, LIST or OBJECT; ANY: nobody's. */
static enum neap_schema_type length_of(const struct neap_schema *schema)
{
	switch (schema->type) {
	case NEAP_SCHEMA_STRING:
	case NEAP_SCHEMA_LIST:
	case NEAP_SCHEMA_OBJECT:
		return schema->type;
	case NEAP_SCHEMA_MAP:
		return NEAP_SCHEMA_OBJECT;
	default:
		return schema->length_of;
	}
}

static int64_t code_points(const json_t *value)
{
	const char *text = json_string_value(value);
	size_t len = json_string_length(value), i;
	int64_t count = 0;

	for (i = 0; i < len; i++)
		count += ((unsigned char)text[i] & 0xc0) != 0x80;
	return count;
}

static void check_string_length(struct schema_checker *checker,
				const struct neap_schema *schema, const json_t *value,
				const struct schema_step *at)
{
	int64_t length;

	if (!schema_spend(checker, json_string_length(value) / BYTES_A_STEP))
		return;
	length = code_points(value);
	if (is_set(schema->min_length) && length < schema->min_length)
		schema_tell_value(checker, schema, value, at,
				  "should be at least %" PRId64 " chars long",
				  schema->min_length);
	if (is_set(schema->max_length) && length > schema->max_length)
		schema_tell_as(checker, "FieldValueTooLong", at,
			       "Too long: may not be longer than %" PRId64,
			       schema->max_length);
}

void schema_check_count(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at)
{
	bool is_list = json_is_array(value);
	enum neap_schema_type of = is_list ? NEAP_SCHEMA_LIST : NEAP_SCHEMA_OBJECT;
	const char *what = is_list ? "items" : "properties";
	int64_t count =
		(int64_t)(is_list ? json_array_size(value) : json_object_size(value));

	if (!schema->has_limits || length_of(schema) != of)
		return;
	if (is_set(schema->min_length) && count < schema->min_length) {
		if (count == 0 && !schema->is_declared)
			schema_tell_required(checker, at, NULL);
		else
			schema_tell_value(checker, schema, value, at,
					  "should have at least %" PRId64 " %s",
					  schema->min_length, what);
	}
	if (is_set(schema->max_length) && count > schema->max_length)
		schema_tell_as(checker, "FieldValueTooMany", at,
			       "Too many: %" PRId64 ": must have at most %" PRId64
			       " items",
			       count, schema->max_length);
}

/* For built-in kinds: both limits in one text. */
static void tell_range(struct schema_checker *checker, const struct neap_schema *schema,
		       const json_t *value, const struct schema_step *at)
{
	char low[64] = "", high[64] = "";

	if (!isnan(schema->minimum))
		(void)schema_show_number(schema->minimum, low, sizeof(low));
	if (!isnan(schema->maximum))
		(void)schema_show_number(schema->maximum, high, sizeof(high));
	if (*low && *high && !schema->is_minimum_exclusive &&
	    !schema->is_maximum_exclusive)
		schema_tell_value(checker, schema, value, at,
				  "must be between %s and %s, inclusive", low, high);
	else if (*low)
		schema_tell_value(checker, schema, value, at, "must be greater than %s%s",
				  schema->is_minimum_exclusive ? "" : "or equal to ",
				  low);
	else
		schema_tell_value(checker, schema, value, at, "must be less than %s%s",
				  schema->is_maximum_exclusive ? "" : "or equal to ",
				  high);
}

static void check_range(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at)
{
	double number = json_number_value(value);
	char limit[64];
	/* Comparisons with a NaN are false. */
	bool is_low = number < schema->minimum ||
		      (schema->is_minimum_exclusive && number <= schema->minimum);
	bool is_high = number > schema->maximum ||
		       (schema->is_maximum_exclusive && number >= schema->maximum);

	if (!schema->is_declared) {
		if (is_low || is_high)
			tell_range(checker, schema, value, at);
		return;
	}
	if (is_low)
		schema_tell_value(
			checker, schema, value, at, "should be greater than %s%s",
			schema->is_minimum_exclusive ? "" : "or equal to ",
			schema_show_number(schema->minimum, limit, sizeof(limit)));
	if (is_high)
		schema_tell_value(
			checker, schema, value, at, "should be less than %s%s",
			schema->is_maximum_exclusive ? "" : "or equal to ",
			schema_show_number(schema->maximum, limit, sizeof(limit)));
}

void schema_check_number(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *value, const struct schema_step *at)
{
	double number = json_number_value(value);
	char text[64];

	if (schema->format == NEAP_FORMAT_INT32 &&
	    (number < INT32_MIN || number > INT32_MAX))
		schema_tell_value(checker, schema, value, at,
				  "must be of type int32: \"%s\"",
				  schema_show_number(number, text, sizeof(text)));
	if (schema->has_limits)
		check_range(checker, schema, value, at);
	if (schema->multiple_of > 0) {
		double times = number / schema->multiple_of;

		if (fabs(times - rint(times)) > MULTIPLE_ERROR * fabs(times))
			schema_tell_value(checker, schema, value, at,
					  "should be a multiple of %s",
					  schema_show_number(schema->multiple_of, text,
							     sizeof(text)));
	}
}

/* --- strings --- */

static void check_pattern(struct schema_checker *checker,
			  const struct neap_schema *schema, const json_t *value,
			  const struct schema_step *at)
{
	void *own = NULL;
	const void *code = schema->pattern_code;
	enum schema_match match;
	size_t bytes;

	if (!schema_spend(checker, code != NULL ? MATCH_STEPS : COMPILE_STEPS))
		return;
	/* Tables of C cannot hold the code; few of them have a pattern. */
	if (code == NULL) {
		checker->is_short |=
			schema_pattern_compile(schema->pattern, &own, &bytes, NULL) < 0;
		code = own;
	}
	if (code == NULL)
		return;
	match = schema_pattern_match(&checker->matcher, code, json_string_value(value),
				     json_string_length(value), checker->work);
	if (match == SCHEMA_MATCH_NOMEM)
		checker->is_short = true;
	else if (match == SCHEMA_MATCH_TOO_LONG)
		schema_tell_value(checker, schema, value, at,
				  "should match '%.100s', and telling so takes too long",
				  schema->pattern);
	else if (match == SCHEMA_MATCH_NO)
		schema_tell_value(checker, schema, value, at, "should match '%s'",
				  schema->pattern);
	schema_pattern_free(own);
}

void schema_check_string(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *value, const struct schema_step *at)
{
	size_t len = json_string_length(value);
	bool is_bounded = schema->has_limits && length_of(schema) == NEAP_SCHEMA_STRING;

	/* Go has no other "not there" for a string of a built-in kind. */
	if (len == 0 && !schema->is_declared && is_bounded && schema->min_length > 0) {
		schema_tell_required(checker, at, NULL);
		return;
	}
	if (is_bounded)
		check_string_length(checker, schema, value, at);
	if (schema->pattern != NULL)
		check_pattern(checker, schema, value, at);
	if (schema->format == NEAP_FORMAT_NONE)
		return;
	if (!schema_spend(checker, len / BYTES_A_STEP))
		return;
	if (!schema_format_fits(schema->format, json_string_value(value), len)) {
		char shown[128];

		schema_tell_value(checker, schema, value, at, "must be of type %s: %s",
				  schema_format_name(schema->format),
				  schema_show(value, shown, sizeof(shown)));
	}
}
