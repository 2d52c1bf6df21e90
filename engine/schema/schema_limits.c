/* SPDX-License-Identifier: Apache-2.0
 *
 * Limits of values: lengths, counts, ranges, patterns, formats; logic; unique items. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
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

	if (!schema_spend(checker, code ? MATCH_STEPS : COMPILE_STEPS))
		return;
	/* Tables of C cannot hold the code; few of them have a pattern. */
	if (!code) {
		checker->is_short |=
			schema_pattern_compile(schema->pattern, &own, &bytes, NULL) < 0;
		code = own;
	}
	if (!code)
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
	if (schema->pattern)
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

/* --- logic ---
 *
 * Logic (allOf, anyOf, oneOf, not), and unique items of sets and maps.
 *
 * Alternatives are tried silently. When none fits, the one with the fewest errors is
 * tried again with messages, so that users learn what to fix; that doubles the work of
 * each level once. */

/* Work for an item of a set, and bytes of the texts of one list: a real can take six
 * times the room that it took in the request. */
#define KEY_STEPS 8
#define KEYS_MAX  (4 * NEAP_BUF_REPLY)

/* Counts the errors of value by one schema, silently. */
static size_t faults(struct schema_checker *checker, const struct neap_schema *schema,
		     const json_t *value, const struct schema_step *at)
{
	struct neap_causes *causes = checker->causes;
	size_t before = checker->failed, count;

	checker->causes = NULL;
	schema_check_value(checker, schema, value, at);
	checker->causes = causes;
	count = checker->failed - before;
	checker->failed = before;
	return count;
}

/* Kubernetes shows no value here, and names the place in quotes. */
static __attribute__((noinline)) void
tell_logic(struct schema_checker *checker, const struct schema_step *at, const char *text)
{
	char path[sizeof(checker->causes->list[0].field)];

	schema_tell_as(checker, "FieldValueInvalid", at, "Invalid value: \"\": \"%s\" %s",
		       schema_path(at, path, sizeof(path)), text);
}

/* How many of the alternatives fit; *ret_best is the one with the fewest faults. */
static size_t try_all(struct schema_checker *checker,
		      const struct neap_schema *const *alternatives, const json_t *value,
		      const struct schema_step *at, const struct neap_schema **ret_best)
{
	size_t fitting = 0, fewest = SIZE_MAX, i;

	for (i = 0; alternatives[i]; i++) {
		size_t count = faults(checker, alternatives[i], value, at);

		fitting += count == 0;
		if (count < fewest) {
			fewest = count;
			*ret_best = alternatives[i];
		}
	}
	return fitting;
}

static void check_any(struct schema_checker *checker, const struct neap_schema *schema,
		      const json_t *value, const struct schema_step *at)
{
	const struct neap_schema *best = NULL;

	if (try_all(checker, schema->any_of, value, at, &best) > 0 || !best)
		return;
	tell_logic(checker, at, "must validate at least one schema (anyOf)");
	if (checker->causes)
		schema_check_value(checker, best, value, at);
}

static void check_one(struct schema_checker *checker, const struct neap_schema *schema,
		      const json_t *value, const struct schema_step *at)
{
	const struct neap_schema *best = NULL;
	size_t fitting = try_all(checker, schema->one_of, value, at, &best);
	char text[128];

	if (fitting == 1 || !best)
		return;
	if (fitting > 1) {
		(void)snprintf(text, sizeof(text),
			       "must validate one and only one schema (oneOf). Found %zu "
			       "valid alternatives",
			       fitting);
		tell_logic(checker, at, text);
		return;
	}
	tell_logic(checker, at,
		   "must validate one and only one schema (oneOf). Found none valid");
	if (checker->causes)
		schema_check_value(checker, best, value, at);
}

/* All of the value, also where it is as before: else a part could make an alternative fit
 * that the whole does not. */
static void check_logic(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at)
{
	size_t i;

	for (i = 0; schema->all_of && schema->all_of[i]; i++)
		schema_check_value(checker, schema->all_of[i], value, at);
	if (schema->any_of)
		check_any(checker, schema, value, at);
	if (schema->one_of)
		check_one(checker, schema, value, at);
	if (schema->not &&faults(checker, schema->not, value, at) == 0)
		tell_logic(checker, at, "must not validate the schema (not)");
}

void schema_check_logic(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at)
{
	bool is_change = checker->is_change;

	checker->is_change = false;
	check_logic(checker, schema, value, at);
	checker->is_change = is_change;
}

/* --- each once --- */

/* The identity of an item, as a piece of one long text. */
struct key {
	const char *base; /* of all pieces */
	size_t offset, len;
	size_t index;
};

static int by_text(const void *left, const void *right)
{
	const struct key *a = left, *b = right;
	size_t len = a->len < b->len ? a->len : b->len;
	int order = memcmp(a->base + a->offset, b->base + b->offset, len);

	if (order != 0)
		return order;
	if (a->len != b->len)
		return a->len < b->len ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

static int add_piece(const char *text, size_t len, void *arg)
{
	neap_buf_add(arg, text, len);
	return neap_buf_failed(arg) ? -1 : 0;
}

/* Equal values have equal texts: whole numbers in one form, members sorted. */
static bool add_value(struct neap_buf *buf, const json_t *value)
{
	int64_t number;

	if (schema_is_whole(value, &number))
		neap_buf_addf(buf, "%lld", (long long)number);
	else if (json_dump_callback(value, add_piece, buf,
				    JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY) < 0)
		return false;
	neap_buf_addc(buf, '\n'); /* occurs in no such text */
	return true;
}

static bool add_key(struct neap_buf *buf, const struct neap_schema *schema,
		    const json_t *item)
{
	size_t i;

	if (schema->list == NEAP_LIST_SET || !schema->list_keys)
		return add_value(buf, item);
	for (i = 0; schema->list_keys[i]; i++) {
		const json_t *value = json_object_get(item, schema->list_keys[i]);

		if (!value)
			neap_buf_addc(buf, '\n');
		else if (!add_value(buf, value))
			return false;
	}
	return true;
}

/* A duplicate item is reported by its keys. */
static void tell_keys(struct schema_checker *checker, const struct neap_schema *schema,
		      const json_t *item, const struct schema_step *at)
{
	json_t *shown;
	size_t i;

	if (schema->list == NEAP_LIST_SET || !schema->list_keys) {
		schema_tell_duplicate(checker, item, at);
		return;
	}
	shown = json_object();
	for (i = 0; shown && schema->list_keys[i]; i++) {
		json_t *value = json_object_get(item, schema->list_keys[i]);

		if (value && json_object_set(shown, schema->list_keys[i], value) < 0)
			checker->is_short = true;
	}
	checker->is_short |= shown == NULL;
	schema_tell_duplicate(checker, shown, at);
	json_decref(shown);
}

static bool has_keys_of(const struct neap_schema *schema, const json_t *item,
			const json_t *other)
{
	size_t i;

	for (i = 0; schema->list_keys[i]; i++) {
		const json_t *key = json_object_get(item, schema->list_keys[i]);
		const json_t *was = json_object_get(other, schema->list_keys[i]);

		if (key != was && (!key || !was || !json_equal(key, was)))
			return false;
	}
	return true;
}

const json_t *schema_item_before(struct schema_checker *checker,
				 const struct neap_schema *schema, const json_t *list,
				 const json_t *item, size_t guess)
{
	const json_t *other = json_array_get(list, guess);
	size_t i;

	if (!schema->list_keys || !json_is_object(item))
		return NULL;
	if (other && has_keys_of(schema, item, other))
		return other;
	json_array_foreach (list, i, other) {
		if (!schema_spend(checker, KEY_STEPS))
			return NULL;
		if (has_keys_of(schema, item, other))
			return other;
	}
	return NULL;
}

void schema_check_unique(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *list, const struct schema_step *at)
{
	size_t size = json_array_size(list), count = 0, i;
	neap_auto_buf struct neap_buf buf = {0};
	neap_auto_free struct key *keys = NULL;
	struct schema_step step = {.up = at};
	bool is_map = schema->list == NEAP_LIST_MAP;

	if (size < 2 || !schema_spend(checker, KEY_STEPS * size))
		return;
	neap_buf_init(&buf, KEYS_MAX);
	keys = neap_alloc_array(size, sizeof(*keys));
	for (i = 0; keys && i < size; i++) {
		const json_t *item = json_array_get(list, i);

		if (is_map && !json_is_object(item))
			continue; /* another error reports it */
		keys[count].offset = buf.len;
		keys[count].index = i;
		if (!add_key(&buf, schema, item))
			break;
		keys[count].len = buf.len - keys[count].offset;
		count++;
	}
	if (!keys || i < size || neap_buf_failed(&buf)) {
		checker->is_short = true;
		return;
	}
	for (i = 0; i < count; i++)
		keys[i].base = buf.data;
	qsort(keys, count, sizeof(*keys), by_text);
	for (i = 1; i < count; i++) {
		if (keys[i].len != keys[i - 1].len ||
		    memcmp(buf.data + keys[i].offset, buf.data + keys[i - 1].offset,
			   keys[i].len) != 0)
			continue;
		step.index = keys[i].index;
		tell_keys(checker, schema, json_array_get(list, step.index), &step);
	}
}
