/* SPDX-License-Identifier: Apache-2.0
 *
 * JSON values as patches need them: size, copies, equality, an order, and printing.
 * jansson's copy searches for cycles at every level, and its equality distinguishes 1
 * from 1.0. */
#include <stdio.h>
#include <string.h>

#include "api/kube/patch/patch_priv.h"
#include "engine/base/mem.h"

#define NODE_BYTES                                                                       \
	8 /* of a value beside its text: its commas, and that it costs memory at all */
#define SORTED_MAX 64 /* maps up to this size are printed sorted by name */

/* --- size --- */

static bool measure(const json_t *value, size_t level, struct neap_patch_size *size)
{
	const char *name;
	json_t *child;
	size_t i;

	if (level > NEAP_PATCH_DEPTH_MAX)
		return false;
	if (level > size->height)
		size->height = level;
	size->nodes++;
	size->bytes += NODE_BYTES;
	if (json_is_string(value))
		size->bytes += json_string_length(value);
	json_array_foreach (value, i, child)
		if (!measure(child, level + 1, size))
			return false;
	json_object_foreach ((json_t *)value, name, child) {
		size->bytes += strlen(name);
		if (!measure(child, level + 1, size))
			return false;
	}
	return true;
}

bool neap_patch_measure(const json_t *value, struct neap_patch_size *ret)
{
	*ret = (struct neap_patch_size){0};
	return measure(value, 1, ret);
}

int neap_patch_spend(struct neap_patch_run *run, uint64_t steps)
{
	if (steps > run->work)
		return neap_error_set(run->err, NEAP_ETOOLARGE,
				      "the patch takes far more steps than its size and "
				      "that of the object allow");
	run->work -= steps;
	return 0;
}

/* --- copies --- */

static json_t *copy_scalar(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING:
		return json_stringn_nocheck(json_string_value(value),
					    json_string_length(value));
	case JSON_INTEGER:
		return json_integer(json_integer_value(value));
	case JSON_REAL:
		return json_real(json_real_value(value));
	case JSON_TRUE:
		return json_true();
	case JSON_FALSE:
		return json_false();
	default:
		return json_null();
	}
}

int neap_patch_copy(struct neap_patch_run *run, const json_t *value, json_t **ret)
{
	json_auto_t *copy = NULL;
	const char *name;
	json_t *child, *made = NULL;
	size_t i;
	int rc = neap_patch_spend(run, 1);

	if (rc < 0)
		return rc;
	if (json_is_object(value))
		copy = json_object();
	else if (json_is_array(value))
		copy = json_array();
	else
		copy = copy_scalar(value);
	if (!copy)
		return neap_error_nomem(run->err);
	json_array_foreach (value, i, child) {
		rc = neap_patch_copy(run, child, &made);
		if (rc < 0)
			return rc;
		if (json_array_append_new(copy, made) < 0)
			return neap_error_nomem(run->err);
	}
	json_object_foreach ((json_t *)value, name, child) {
		rc = neap_patch_copy(run, child, &made);
		if (rc < 0)
			return rc;
		if (json_object_set_new_nocheck(copy, name, made) < 0)
			return neap_error_nomem(run->err);
	}
	*ret = neap_steal(copy);
	return 0;
}

/* --- equality and order --- */

static int integer_compare(json_int_t a, json_int_t b)
{
	return a < b ? -1 : a > b;
}

/* Exact: 2^53 + 1, which is not a double, differs from 2^53. */
static int integer_real_compare(json_int_t a, double b)
{
	json_int_t whole;
	double rest;

	if (b >= 9223372036854775808.0)
		return -1;
	if (b < -9223372036854775808.0)
		return 1;
	whole = (json_int_t)b;
	rest = b - (double)whole;
	if (a != whole)
		return integer_compare(a, whole);
	return rest > 0 ? -1 : rest < 0;
}

static int number_compare(const json_t *a, const json_t *b)
{
	if (json_is_integer(a) && json_is_integer(b))
		return integer_compare(json_integer_value(a), json_integer_value(b));
	if (json_is_integer(a))
		return integer_real_compare(json_integer_value(a), json_real_value(b));
	if (json_is_integer(b))
		return -integer_real_compare(json_integer_value(b), json_real_value(a));
	if (json_real_value(a) < json_real_value(b))
		return -1;
	return json_real_value(a) > json_real_value(b);
}

static int string_compare(const json_t *a, const json_t *b)
{
	size_t a_len = json_string_length(a), b_len = json_string_length(b);
	int order = memcmp(json_string_value(a), json_string_value(b),
			   a_len < b_len ? a_len : b_len);

	if (order != 0)
		return order;
	return a_len < b_len ? -1 : a_len > b_len;
}

static int rank(const json_t *scalar)
{
	if (json_is_string(scalar))
		return 4;
	if (json_is_number(scalar))
		return 3;
	if (json_is_true(scalar))
		return 2;
	return json_is_false(scalar) ? 1 : 0;
}

bool neap_patch_is_scalar(const json_t *value)
{
	return !json_is_object(value) && !json_is_array(value);
}

int neap_patch_scalar_compare(const json_t *a, const json_t *b)
{
	int a_rank = rank(a), b_rank = rank(b);

	if (a_rank != b_rank)
		return a_rank - b_rank;
	if (json_is_string(a))
		return string_compare(a, b);
	return json_is_number(a) ? number_compare(a, b) : 0;
}

bool neap_patch_is_equal(const json_t *a, const json_t *b)
{
	const char *name;
	json_t *child;
	size_t i;

	if (neap_patch_is_scalar(a) || neap_patch_is_scalar(b))
		return neap_patch_is_scalar(a) && neap_patch_is_scalar(b) &&
		       neap_patch_scalar_compare(a, b) == 0;
	if (json_typeof(a) != json_typeof(b))
		return false;
	if (json_is_array(a)) {
		if (json_array_size(a) != json_array_size(b))
			return false;
		json_array_foreach (a, i, child)
			if (!neap_patch_is_equal(child, json_array_get(b, i)))
				return false;
		return true;
	}
	if (json_object_size(a) != json_object_size(b))
		return false;
	json_object_foreach ((json_t *)a, name, child) {
		const json_t *other = json_object_get(b, name);

		if (!other || !neap_patch_is_equal(child, other))
			return false;
	}
	return true;
}

/* --- messages --- */

struct text {
	char *to;
	size_t size, len;
};

/* False when it is full. */
static bool put(struct text *text, const char *piece)
{
	while (*piece != '\0' && text->len + 1 < text->size)
		text->to[text->len++] = *piece++;
	text->to[text->len] = '\0';
	return text->len + 1 < text->size;
}

/* The next member in the order of names; NULL: none. */
static const char *name_after(const json_t *map, const char *name)
{
	const char *next = NULL, *other;
	json_t *value;

	json_object_foreach ((json_t *)map, other, value) {
		(void)value;
		if (name && strcmp(other, name) <= 0)
			continue;
		if (!next || strcmp(other, next) < 0)
			next = other;
	}
	return next;
}

static bool print(struct text *text, const json_t *value);

static bool print_member(struct text *text, const char *name, const json_t *value)
{
	return put(text, name) && put(text, ":") && print(text, value);
}

static bool print_map(struct text *text, const json_t *map)
{
	bool is_sorted = json_object_size(map) <= SORTED_MAX, is_first = true;
	const char *name = NULL;
	json_t *value;

	if (!put(text, "map["))
		return false;
	for (name = is_sorted ? name_after(map, NULL) : NULL; name;
	     name = name_after(map, name)) {
		if ((!is_first && !put(text, " ")) ||
		    !print_member(text, name, json_object_get(map, name)))
			return false;
		is_first = false;
	}
	if (is_sorted)
		return put(text, "]");
	json_object_foreach ((json_t *)map, name, value) {
		if ((!is_first && !put(text, " ")) || !print_member(text, name, value))
			return false;
		is_first = false;
	}
	return put(text, "]");
}

static bool print_list(struct text *text, const json_t *list)
{
	json_t *item;
	size_t i;

	if (!put(text, "["))
		return false;
	json_array_foreach (list, i, item)
		if ((i > 0 && !put(text, " ")) || !print(text, item))
			return false;
	return put(text, "]");
}

static bool print_number(struct text *text, const json_t *value)
{
	char number[40];

	if (json_is_integer(value))
		(void)snprintf(number, sizeof(number), "%" JSON_INTEGER_FORMAT,
			       json_integer_value(value));
	else
		(void)snprintf(number, sizeof(number), "%g", json_real_value(value));
	return put(text, number);
}

static bool print(struct text *text, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return print_map(text, value);
	case JSON_ARRAY:
		return print_list(text, value);
	case JSON_STRING:
		return put(text, json_string_value(value));
	case JSON_INTEGER:
	case JSON_REAL:
		return print_number(text, value);
	case JSON_TRUE:
		return put(text, "true");
	case JSON_FALSE:
		return put(text, "false");
	default:
		return put(text, "<nil>");
	}
}

void neap_patch_print(const json_t *value, char *to, size_t size)
{
	struct text text = {to, size, 0};

	to[0] = '\0';
	if (!print(&text, value))
		neap_utf8_trim(to);
}

const char *neap_patch_type_name(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_OBJECT:
		return "map[string]interface {}";
	case JSON_ARRAY:
		return "[]interface {}";
	case JSON_STRING:
		return "string";
	case JSON_INTEGER:
		return "int64";
	case JSON_REAL:
		return "float64";
	case JSON_TRUE:
	case JSON_FALSE:
		return "bool";
	default:
		return "<nil>";
	}
}

int neap_patch_at(struct neap_patch_run *run, int rc, const char *name)
{
	if (rc == -NEAP_EINVAL || rc == -NEAP_ECONFLICT)
		(void)neap_error_infield(run->err, "%s", name);
	return rc;
}

int neap_patch_at_index(struct neap_patch_run *run, int rc, size_t index)
{
	if (rc == -NEAP_EINVAL || rc == -NEAP_ECONFLICT)
		(void)neap_error_infield(run->err, "[%zu]", index);
	return rc;
}
