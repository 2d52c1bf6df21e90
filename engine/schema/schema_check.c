/* SPDX-License-Identifier: Apache-2.0
 *
 * Validates an object: types, required fields, limits, enums, patterns, formats,
 * duplicates, and logic (allOf, anyOf, oneOf, not). Each value is visited once per schema
 * that applies to it. Visits charge the step budget: a schema of 20,000 nodes applied to
 * each item of a list of 300,000 would otherwise take an hour.
 *
 * Errors in declared kinds read "spec.x in body must be ...", in built-in ones "must be
 * ...", as in Kubernetes. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "engine/base/selector.h"
#include "engine/schema/schema_check.h"

/* Work of a visit, and fields that are looked at for one step. */
#define VISIT_STEPS   4
#define FIELDS_A_STEP 4
#define DETAIL_MAX    400
/* For functions with long texts, to keep them out of the recursion's frames. */
#define NOT_IN_FRAME __attribute__((noinline))

bool schema_spend(struct schema_checker *checker, uint64_t steps)
{
	if (*checker->work >= steps)
		*checker->work -= steps;
	else
		checker->is_spent = true;
	return !checker->is_spent && !checker->is_short;
}

/* Whether this one has to be put into words. */
static bool is_told(struct schema_checker *checker)
{
	checker->failed++;
	if (!checker->causes)
		return false;
	if (checker->causes->count == NEAP_SCHEMA_CAUSES_MAX) {
		checker->causes->more++;
		return false;
	}
	return true;
}

/* "spec.x in body " before a detail, when the kind is declared. */
void schema_tell_value(struct schema_checker *checker, const struct neap_schema *schema,
		       const json_t *value, const struct schema_step *at, const char *fmt,
		       ...)
{
	char path[sizeof(checker->causes->list[0].field)], detail[DETAIL_MAX];
	va_list args;

	if (!is_told(checker))
		return;
	va_start(args, fmt);
	(void)vsnprintf(detail, sizeof(detail), fmt, args);
	va_end(args);
	(void)schema_path(at, path, sizeof(path));
	if (schema->is_declared && *path != '\0')
		neap_causes_invalid(checker->causes, path, value, "%s in body %s", path,
				    detail);
	else
		neap_causes_invalid(checker->causes, path, value, "%s", detail);
}

void schema_tell_as(struct schema_checker *checker, const char *reason,
		    const struct schema_step *at, const char *fmt, ...)
{
	char path[sizeof(checker->causes->list[0].field)];
	va_list args;

	if (!is_told(checker))
		return;
	va_start(args, fmt);
	schema_causes_vadd(checker->causes, reason, schema_path(at, path, sizeof(path)),
			   fmt, args);
	va_end(args);
}

void schema_tell_required(struct schema_checker *checker, const struct schema_step *at,
			  const char *name)
{
	struct schema_step step = {.up = at, .name = name};

	if (name)
		at = &step;
	schema_tell_as(checker, "FieldValueRequired", at, "Required value");
}

void schema_tell_duplicate(struct schema_checker *checker, const json_t *value,
			   const struct schema_step *at)
{
	char path[sizeof(checker->causes->list[0].field)];

	if (is_told(checker))
		neap_causes_duplicate(checker->causes,
				      schema_path(at, path, sizeof(path)), value);
}

/* --- types --- */

static const char *type_name(const struct neap_schema *schema)
{
	static const char *const names[] = {
		[NEAP_SCHEMA_ANY] = "any",
		[NEAP_SCHEMA_OBJECT] = "object",
		[NEAP_SCHEMA_MAP] = "object",
		[NEAP_SCHEMA_LIST] = "array",
		[NEAP_SCHEMA_STRING] = "string",
		[NEAP_SCHEMA_INTEGER] = "integer",
		[NEAP_SCHEMA_NUMBER] = "number",
		[NEAP_SCHEMA_BOOLEAN] = "boolean",
		[NEAP_SCHEMA_INT_OR_STRING] = "integer,string",
		[NEAP_SCHEMA_QUANTITY] = "string",
	};

	return names[schema->type];
}

static bool has_type(const struct neap_schema *schema, const json_t *value)
{
	int64_t number;

	switch (schema->type) {
	case NEAP_SCHEMA_OBJECT:
	case NEAP_SCHEMA_MAP:
		return json_is_object(value);
	case NEAP_SCHEMA_LIST:
		return json_is_array(value);
	case NEAP_SCHEMA_STRING:
		return json_is_string(value);
	case NEAP_SCHEMA_INTEGER:
		return schema_is_whole(value, &number);
	case NEAP_SCHEMA_NUMBER:
		return json_is_number(value);
	case NEAP_SCHEMA_BOOLEAN:
		return json_is_boolean(value);
	case NEAP_SCHEMA_INT_OR_STRING:
		return json_is_string(value) || schema_is_whole(value, &number);
	case NEAP_SCHEMA_QUANTITY:
		return json_is_string(value) || json_is_number(value);
	case NEAP_SCHEMA_ANY:
		break;
	}
	return true;
}

/* Kubernetes shows the name of the actual type instead of the value. */
static NOT_IN_FRAME void tell_type(struct schema_checker *checker,
				   const struct neap_schema *schema, const json_t *value,
				   const struct schema_step *at)
{
	static const char *const names[] = {
		[JSON_OBJECT] = "object", [JSON_ARRAY] = "array",
		[JSON_STRING] = "string", [JSON_INTEGER] = "integer",
		[JSON_REAL] = "number",   [JSON_TRUE] = "boolean",
		[JSON_FALSE] = "boolean", [JSON_NULL] = "null",
	};
	const char *have = names[json_typeof(value)];
	char path[sizeof(checker->causes->list[0].field)];
	bool has_path;

	if (!is_told(checker))
		return;
	(void)schema_path(at, path, sizeof(path));
	has_path = schema->is_declared && *path != '\0';
	neap_causes_add(checker->causes, "FieldValueTypeInvalid", path,
			"Invalid value: \"%s\": %s%smust be of type %s: \"%s\"", have,
			has_path ? path : "", has_path ? " in body " : "",
			type_name(schema), have);
}

/* --- objects and lists --- */

/* A DNS-1035 label, with capitals allowed. */
static bool is_kind(const char *text)
{
	size_t len = strlen(text);

	if (len > 63 || !isalpha((unsigned char)text[0]) ||
	    !isalnum((unsigned char)text[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++)
		if ((!isalnum((unsigned char)text[i]) && text[i] != '-') ||
		    (unsigned char)text[i] >= 0x80)
			return false;
	return true;
}

/* Those of an object's metadata. */
static void check_embedded_labels(struct schema_checker *checker, const json_t *metadata,
				  const struct schema_step *at)
{
	struct schema_step meta = {.up = at, .name = "metadata"};
	struct schema_step step = {.up = &meta, .name = "labels"};
	const char *name;
	json_t *value;

	json_object_foreach (json_object_get(metadata, "labels"), name, value) {
		const char *text = json_string_value(value);
		struct neap_error err;

		if (!schema_spend(checker, 1))
			return;
		if (neap_label_check_key(name, &err) < 0)
			schema_tell_as(checker, "FieldValueInvalid", &step,
				       "Invalid value: \"%.100s\": %s", name, err.msg);
		if (text && neap_label_check_value(text, &err) < 0)
			schema_tell_as(checker, "FieldValueInvalid", &step,
				       "Invalid value: \"%.100s\": %s", text, err.msg);
	}
}

/* An object embedded in another states its kind. */
static NOT_IN_FRAME void check_embedded(struct schema_checker *checker,
					const json_t *object,
					const struct schema_step *at)
{
	static const char *const names[] = {"apiVersion", "kind"};
	size_t i;

	for (i = 0; i < NEAP_ARRAY_LEN(names); i++) {
		const json_t *value = json_object_get(object, names[i]);
		struct schema_step step = {.up = at, .name = names[i]};

		const char *text = json_string_value(value);

		if (!value)
			schema_tell_required(checker, &step, NULL);
		else if (text && !*text)
			schema_tell_as(checker, "FieldValueInvalid", &step,
				       "Invalid value: \"\": must not be empty");
		else if (text && i == 0 && strchr(text, '/') != strrchr(text, '/'))
			schema_tell_as(checker, "FieldValueInvalid", &step,
				       "Invalid value: \"%.100s\": unexpected "
				       "GroupVersion string: %.100s",
				       text, text);
		else if (text && i == 1 && !is_kind(text))
			schema_tell_as(
				checker, "FieldValueInvalid", &step,
				"Invalid value: \"%.100s\": may have mixed case, "
				"but should otherwise match: a DNS-1035 label must "
				"consist of lower case alphanumeric characters or "
				"'-', start with an alphabetic character, and end "
				"with an alphanumeric character",
				text);
	}
	check_embedded_labels(checker, json_object_get(object, "metadata"), at);
}

static void check_required(struct schema_checker *checker,
			   const struct neap_schema *schema, const json_t *object,
			   const struct schema_step *at)
{
	size_t i;

	if (!schema_spend(checker, schema->field_count / FIELDS_A_STEP))
		return;
	for (i = 0; i < schema->field_count; i++)
		if (schema->fields[i].is_required &&
		    !json_object_get(object, schema->fields[i].name))
			schema_tell_required(checker, at, schema->fields[i].name);
	for (i = 0; schema->required && schema->required[i]; i++) {
		if (!schema_spend(checker, 1))
			return;
		if (!json_object_get(object, schema->required[i]))
			schema_tell_required(checker, at, schema->required[i]);
	}
}

static void check_object(struct schema_checker *checker, const struct neap_schema *schema,
			 const json_t *object, const struct schema_step *at)
{
	bool is_map = schema->type == NEAP_SCHEMA_MAP;
	const char *name;
	json_t *member;

	schema_check_count(checker, schema, object, at);
	check_required(checker, schema, object, at);
	/* The root is one only by its own fields. */
	if (schema->is_embedded && at->up)
		check_embedded(checker, object, at);
	if (is_map ? schema->items == NULL : schema->field_count == 0)
		return;
	json_object_foreach ((json_t *)object, name, member) {
		struct schema_step step = {at, name, 0, is_map,
					   json_object_get(at->before, name)};
		const struct neap_schema *child = schema->items;

		if (!is_map) {
			const struct neap_schema_field *field =
				neap_schema_field_find(schema, name);

			child = field ? field->schema : NULL;
		}
		if (child)
			schema_check_value(checker, child, member, &step);
	}
}

static void check_list(struct schema_checker *checker, const struct neap_schema *schema,
		       const json_t *list, const struct schema_step *at)
{
	struct schema_step step = {.up = at};

	schema_check_count(checker, schema, list, at);
	if (schema->list != NEAP_LIST_ATOMIC)
		schema_check_unique(checker, schema, list, at);
	if (!schema->items || schema->type == NEAP_SCHEMA_MAP)
		return;
	for (; step.index < json_array_size(list); step.index++) {
		const json_t *item = json_array_get(list, step.index);

		if (checker->is_change && schema->list == NEAP_LIST_MAP)
			step.before = schema_item_before(checker, schema, at->before,
							 item, step.index);
		schema_check_value(checker, schema->items, item, &step);
	}
}

/* --- enums --- */

/* As JSON, where 1 and 1.0 are one number. */
static bool is_same(const json_t *a, const json_t *b)
{
	if (json_is_number(a) && json_is_number(b) && json_typeof(a) != json_typeof(b))
		return json_number_value(a) == json_number_value(b);
	return json_equal(a, b);
}

static NOT_IN_FRAME void tell_enum(struct schema_checker *checker,
				   const struct neap_schema *schema, const json_t *value,
				   const struct schema_step *at)
{
	enum { TOLD_MAX = 32 };
	char path[sizeof(checker->causes->list[0].field)], texts[TOLD_MAX][32];
	const char *names[TOLD_MAX + 1] = {NULL};
	size_t i;

	if (!is_told(checker))
		return;
	(void)schema_path(at, path, sizeof(path));
	if (schema->values) {
		neap_causes_unsupported(checker->causes, path, value, schema->values);
		return;
	}
	for (i = 0; i < json_array_size(schema->values_json) && i < TOLD_MAX; i++) {
		const json_t *one = json_array_get(schema->values_json, i);

		names[i] = json_is_string(one)
				   ? json_string_value(one)
				   : schema_show(one, texts[i], sizeof(texts[i]));
	}
	neap_causes_unsupported(checker->causes, path, value, names);
}

static void check_enum(struct schema_checker *checker, const struct neap_schema *schema,
		       const json_t *value, const struct schema_step *at)
{
	size_t i;

	if (schema->values) {
		for (i = 0; schema->values[i]; i++) {
			if (!schema_spend(checker, 1))
				return;
			if (json_is_string(value) &&
			    strcmp(schema->values[i], json_string_value(value)) == 0 &&
			    strlen(schema->values[i]) == json_string_length(value))
				return;
		}
	} else {
		for (i = 0; i < json_array_size(schema->values_json); i++) {
			if (!schema_spend(checker, VISIT_STEPS))
				return;
			if (is_same(json_array_get(schema->values_json, i), value))
				return;
		}
	}
	tell_enum(checker, schema, value, at);
}

/* --- all of it --- */

static void check_by_type(struct schema_checker *checker,
			  const struct neap_schema *schema, const json_t *value,
			  const struct schema_step *at)
{
	if (schema->type == NEAP_SCHEMA_QUANTITY) {
		char amount[NEAP_QUANTITY_SIZE];

		if (!neap_schema_amount(value, amount))
			schema_tell_value(
				checker, schema, value, at,
				"quantities must match the regular expression "
				"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
	} else if (json_is_object(value)) {
		check_object(checker, schema, value, at);
	} else if (json_is_array(value)) {
		check_list(checker, schema, value, at);
	} else if (json_is_string(value)) {
		schema_check_string(checker, schema, value, at);
	} else if (json_is_number(value)) {
		schema_check_number(checker, schema, value, at);
	}
}

/* Whether all of it is; costs work as a check of it does. */
static bool is_as_before(struct schema_checker *checker, const json_t *value,
			 const json_t *before)
{
	const char *name;
	json_t *child;
	size_t i;

	if (!before || json_typeof(value) != json_typeof(before) ||
	    !schema_spend(checker, 1))
		return false;
	if (json_is_array(value)) {
		if (json_array_size(value) != json_array_size(before))
			return false;
		json_array_foreach (value, i, child)
			if (!is_as_before(checker, child, json_array_get(before, i)))
				return false;
		return true;
	}
	if (!json_is_object(value))
		return json_equal(value, before);
	if (json_object_size(value) != json_object_size(before))
		return false;
	json_object_foreach ((json_t *)(uintptr_t)value, name, child)
		if (!is_as_before(checker, child, json_object_get(before, name)))
			return false;
	return true;
}

/* The innermost value comes first. */
static NOT_IN_FRAME void note_end(struct schema_checker *checker,
				  const struct schema_step *at)
{
	if (checker->is_spent && checker->ended[0] == '\0')
		(void)schema_path(at, checker->ended, sizeof(checker->ended));
}

void schema_check_value(struct schema_checker *checker, const struct neap_schema *schema,
			const json_t *value, const struct schema_step *at)
{
	if (!schema_spend(checker, VISIT_STEPS)) {
		note_end(checker, at);
		return;
	}
	if (json_is_null(value) && schema->is_nullable)
		return;
	if (checker->is_change && is_as_before(checker, value, at->before))
		return;
	if (!has_type(schema, value)) {
		tell_type(checker, schema, value, at);
		return;
	}
	check_by_type(checker, schema, value, at);
	if (schema->values || schema->values_json)
		check_enum(checker, schema, value, at);
	schema_check_logic(checker, schema, value, at);
	if (checker->is_spent)
		note_end(checker, at);
}

static bool finish(struct schema_checker *checker)
{
	struct neap_causes *causes = checker->causes;

	schema_matcher_done(&checker->matcher);
	if (checker->is_short) {
		causes->is_short = true;
		neap_causes_add(causes, "InternalError", "",
				"Internal error: out of memory");
	} else if (checker->is_spent) {
		neap_causes_add(causes, "FieldValueInvalid", checker->ended,
				"Invalid value: checking this object against its schema "
				"takes too long: it ended here");
	}
	return !checker->is_short;
}

bool schema_check_within(const struct neap_schema *schema, const json_t *object,
			 struct neap_causes *causes, uint64_t *work)
{
	struct schema_checker checker = {.causes = causes, .work = work};
	struct schema_step root = {0};

	schema_check_value(&checker, schema, object, &root);
	return finish(&checker);
}

bool neap_schema_check(const struct neap_schema *schema, const json_t *object,
		       struct neap_causes *causes)
{
	uint64_t work = NEAP_SCHEMA_WORK_MAX;

	return schema_check_within(schema, object, causes, &work);
}

/* Nearly everything written is valid: only errors are compared with the old object. */
bool neap_schema_check_change(const struct neap_schema *schema, const json_t *object,
			      const json_t *before, struct neap_causes *causes)
{
	uint64_t work = NEAP_SCHEMA_WORK_MAX;
	struct schema_checker checker = {.work = &work};
	struct schema_step root = {.before = before};

	if (!before)
		return neap_schema_check(schema, object, causes);
	schema_check_value(&checker, schema, object, &root);
	checker.causes = causes;
	if (checker.failed > 0 && !checker.is_spent && !checker.is_short) {
		checker.is_change = true;
		work = NEAP_SCHEMA_WORK_MAX;
		schema_check_value(&checker, schema, object, &root);
	}
	return finish(&checker);
}
