/* SPDX-License-Identifier: Apache-2.0
 *
 * Logic (allOf, anyOf, oneOf, not), and unique items of sets and maps.
 *
 * Alternatives are tried silently. When none fits, the one with the fewest errors is
 * tried again with messages, so that users learn what to fix; that doubles the work of
 * each level once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/buf.h"
#include "engine/base/mem.h"
#include "engine/schema/schema_check.h"

/* Work for an item of a set, and bytes of the texts of one list: a real can take six
 * times the room that it took in the request. */
#define KEY_STEPS 8
#define KEYS_MAX  (4 * NEAP_BUF_REPLY)

/* --- logic --- */

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

	for (i = 0; alternatives[i] != NULL; i++) {
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

	if (try_all(checker, schema->any_of, value, at, &best) > 0 || best == NULL)
		return;
	tell_logic(checker, at, "must validate at least one schema (anyOf)");
	if (checker->causes != NULL)
		schema_check_value(checker, best, value, at);
}

static void check_one(struct schema_checker *checker, const struct neap_schema *schema,
		      const json_t *value, const struct schema_step *at)
{
	const struct neap_schema *best = NULL;
	size_t fitting = try_all(checker, schema->one_of, value, at, &best);
	char text[128];

	if (fitting == 1 || best == NULL)
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
	if (checker->causes != NULL)
		schema_check_value(checker, best, value, at);
}

/* All of the value, also where it is as before: else a part could make an alternative fit
 * that the whole does not. */
static void check_logic(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at)
{
	size_t i;

	for (i = 0; schema->all_of != NULL && schema->all_of[i] != NULL; i++)
		schema_check_value(checker, schema->all_of[i], value, at);
	if (schema->any_of != NULL)
		check_any(checker, schema, value, at);
	if (schema->one_of != NULL)
		check_one(checker, schema, value, at);
	if (schema->not != NULL && faults(checker, schema->not, value, at) == 0)
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

	if (schema->list == NEAP_LIST_SET || schema->list_keys == NULL)
		return add_value(buf, item);
	for (i = 0; schema->list_keys[i] != NULL; i++) {
		const json_t *value = json_object_get(item, schema->list_keys[i]);

		if (value == NULL)
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

	if (schema->list == NEAP_LIST_SET || schema->list_keys == NULL) {
		schema_tell_duplicate(checker, item, at);
		return;
	}
	shown = json_object();
	for (i = 0; shown != NULL && schema->list_keys[i] != NULL; i++) {
		json_t *value = json_object_get(item, schema->list_keys[i]);

		if (value != NULL &&
		    json_object_set(shown, schema->list_keys[i], value) < 0)
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

	for (i = 0; schema->list_keys[i] != NULL; i++) {
		const json_t *key = json_object_get(item, schema->list_keys[i]);
		const json_t *was = json_object_get(other, schema->list_keys[i]);

		if (key != was && (key == NULL || was == NULL || !json_equal(key, was)))
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

	if (schema->list_keys == NULL || !json_is_object(item))
		return NULL;
	if (other != NULL && has_keys_of(schema, item, other))
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
	for (i = 0; keys != NULL && i < size; i++) {
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
	if (keys == NULL || i < size || neap_buf_failed(&buf)) {
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
