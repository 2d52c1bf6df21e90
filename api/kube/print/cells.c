/* SPDX-License-Identifier: Apache-2.0
 *
 * Access to fields, and rows of cells. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "api/kube/print/table_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"
#include "engine/base/text.h"
#include "engine/json/json.h"

/* --- labels and selectors ---
 *
 * Labels and selectors as kubectl prints them: sorted, because maps have no stable
 * order. */

/* Without memory for sorting the text fails too. */
static void fail(struct neap_buf *buf)
{
	buf->failed = true;
}

void cell_set(const char **texts, size_t count, struct neap_buf *buf)
{
	qsort(texts, count, sizeof(*texts), neap_text_compare);
	for (size_t i = 0; i < count; i++) {
		if (i > 0 && strcmp(texts[i], texts[i - 1]) == 0)
			continue;
		if (i > 0)
			neap_buf_addc(buf, ',');
		neap_buf_adds(buf, texts[i]);
	}
}

/* --- maps --- */

/* The keys of an object, sorted; NULL without memory. */
static const char **sorted_keys(const json_t *object)
{
	const char **keys =
		neap_alloc_array(json_object_size(object), sizeof(const char *));
	const char *key;
	json_t *value;
	size_t n = 0;

	if (!keys)
		return NULL;
	json_object_foreach ((json_t *)object, key, value)
		keys[n++] = key;
	qsort(keys, n, sizeof(*keys), neap_text_compare);
	return keys;
}

/* "a=b,c=d", sorted; "<none>". */
static void cell_labels(const json_t *labels, struct neap_buf *buf)
{
	size_t count = json_object_size(labels);
	const char **keys;

	if (count == 0) {
		neap_buf_adds(buf, "<none>");
		return;
	}
	keys = sorted_keys(labels);
	if (!keys) {
		fail(buf);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const char *value = json_string_value(json_object_get(labels, keys[i]));

		neap_buf_addf(buf, "%s%s=", i > 0 ? "," : "", keys[i]);
		neap_buf_adds(buf, value ? value : "");
	}
	free(keys);
}

/* --- selectors --- */

enum op { OP_IS, OP_IN, OP_NOT_IN, OP_EXISTS, OP_MISSING };

struct requirement {
	const char *key;
	size_t order; /* in the object, of equal keys */
	enum op op;
	const char *value;    /* of OP_IS */
	const json_t *values; /* of OP_IN and OP_NOT_IN */
};

static int by_key(const void *a, const void *b)
{
	const struct requirement *x = a, *y = b;
	int order = strcmp(x->key, y->key);

	return order != 0 ? order : (x->order > y->order) - (x->order < y->order);
}

/* False for an invalid one. */
static bool read_expression(const json_t *expression, struct requirement *ret)
{
	static const struct {
		const char *name;
		enum op op;
		bool has_values;
	} ops[] = {{"In", OP_IN, true},
		   {"NotIn", OP_NOT_IN, true},
		   {"Exists", OP_EXISTS, false},
		   {"DoesNotExist", OP_MISSING, false}};
	const char *name = cell_text(expression, "operator");

	ret->key = cell_text(expression, "key");
	ret->values = cell_get(expression, "values");
	for (size_t i = 0; i < NEAP_ARRAY_LEN(ops); i++)
		if (strcmp(name, ops[i].name) == 0) {
			ret->op = ops[i].op;
			return *ret->key &&
			       (json_array_size(ret->values) > 0) == ops[i].has_values;
		}
	return false;
}

static void add_values(const json_t *values, struct neap_buf *buf)
{
	size_t count = json_array_size(values);
	const char **texts = neap_alloc_array(count, sizeof(const char *));

	if (!texts) {
		fail(buf);
		return;
	}
	for (size_t i = 0; i < count; i++)
		texts[i] = cell_text(json_array_get(values, i), "");
	qsort(texts, count, sizeof(*texts), neap_text_compare);
	for (size_t i = 0; i < count; i++) {
		neap_buf_addc(buf, i > 0 ? ',' : '(');
		neap_buf_adds(buf, texts[i]);
	}
	neap_buf_addc(buf, ')');
	free(texts);
}

static void add_requirement(const struct requirement *r, struct neap_buf *buf)
{
	if (r->op == OP_MISSING)
		neap_buf_addc(buf, '!');
	neap_buf_adds(buf, r->key);
	if (r->op == OP_IS) {
		neap_buf_addc(buf, '=');
		neap_buf_adds(buf, r->value);
	} else if (r->op == OP_IN || r->op == OP_NOT_IN) {
		neap_buf_adds(buf, r->op == OP_IN ? " in " : " notin ");
		add_values(r->values, buf);
	}
}

void cell_selector(const json_t *selector, struct neap_buf *buf, bool *ret_valid)
{
	const json_t *labels = cell_get(selector, "matchLabels");
	const json_t *expressions = cell_get(selector, "matchExpressions");
	size_t count = json_object_size(labels) + json_array_size(expressions), n = 0;
	struct requirement *list;
	const char *key;
	json_t *value;

	*ret_valid = true;
	if (count == 0)
		return;
	list = neap_alloc_array(count, sizeof(*list));
	if (!list) {
		fail(buf);
		return;
	}
	json_object_foreach ((json_t *)labels, key, value) {
		list[n] = (struct requirement){.key = key, .order = n, .op = OP_IS};
		list[n++].value = cell_text(value, "");
	}
	for (size_t i = 0; i < json_array_size(expressions) && *ret_valid; i++) {
		list[n].order = n;
		*ret_valid = read_expression(json_array_get(expressions, i), &list[n++]);
	}
	if (*ret_valid) {
		qsort(list, n, sizeof(*list), by_key);
		for (size_t i = 0; i < n; i++) {
			if (i > 0)
				neap_buf_addc(buf, ',');
			add_requirement(&list[i], buf);
		}
	}
	free(list);
}

/* --- fields --- */

const json_t *cell_get(const json_t *object, const char *path)
{
	const json_t *value = neap_json_at(object, path);

	return json_is_null(value) ? NULL : value;
}

const char *cell_text(const json_t *object, const char *path)
{
	const char *text = json_string_value(cell_get(object, path));

	return text ? text : "";
}

int64_t cell_int(const json_t *object, const char *path, int64_t fallback)
{
	const json_t *value = cell_get(object, path);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool cell_is_true(const json_t *object, const char *path)
{
	return json_is_true(cell_get(object, path));
}

int64_t cell_time(const json_t *object, const char *path)
{
	return neap_kube_time(cell_get(object, path));
}

const char *cell_condition(const json_t *conditions, const char *type)
{
	for (size_t i = 0; i < json_array_size(conditions); i++) {
		const json_t *condition = json_array_get(conditions, i);

		if (strcmp(cell_text(condition, "type"), type) == 0)
			return cell_text(condition, "status");
	}
	return "";
}

const char *cell_or(const char *text, const char *fallback)
{
	return *text ? text : fallback;
}

/* --- texts of several parts --- */

void cell_join(const json_t *list, const char *member, struct neap_buf *buf)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *element = json_array_get(list, i);

		if (i > 0)
			neap_buf_addc(buf, ',');
		neap_buf_adds(buf, cell_text(element, member));
	}
}

void cell_quantity(const json_t *quantity, struct neap_buf *buf)
{
	const char *text = json_string_value(quantity);
	size_t len = text ? strlen(text) : 0;
	char shortest[32];
	int64_t n;

	if (json_is_integer(quantity)) {
		neap_buf_addf(buf, "%" JSON_INTEGER_FORMAT, json_integer_value(quantity));
		return;
	}
	if (!text)
		return;
	if (len > 2 && text[len - 1] == 'i' &&
	    neap_quantity_parse_units(text, &n, NULL) == 0)
		neap_buf_adds(buf,
			      neap_quantity_format_bytes(n, shortest, sizeof(shortest)));
	/* Exponents keep their form, and so do amounts below a thousandth. */
	else if (!strpbrk(text, "eEun") && neap_quantity_parse_milli(text, &n, NULL) == 0)
		neap_buf_adds(buf,
			      neap_quantity_format_milli(n, shortest, sizeof(shortest)));
	else
		neap_buf_adds(buf, text);
}

/* --- rows --- */

void row_init(struct neap_kube_row *row, const json_t *object, int64_t now)
{
	*row = (struct neap_kube_row){
		.cells = json_array(), .object = object, .now = now};
	neap_buf_init(&row->buf, NEAP_BUF_REPLY);
}

static void add_take(struct neap_kube_row *row, json_t *cell)
{
	if (!row->cells) {
		json_decref(cell);
		return;
	}
	if (json_array_append_new(row->cells, cell) == 0)
		return;
	json_decref(row->cells);
	row->cells = NULL;
}

void row_text(struct neap_kube_row *row, const char *text)
{
	add_take(row, json_string(text));
}

void row_name(struct neap_kube_row *row)
{
	row_text(row, cell_text(row->object, "metadata.name"));
}

void row_int(struct neap_kube_row *row, int64_t value)
{
	add_take(row, json_integer(value));
}

static void row_bool(struct neap_kube_row *row, bool value)
{
	add_take(row, json_boolean(value));
}

void row_ratio(struct neap_kube_row *row, int64_t part, int64_t whole)
{
	neap_buf_addf(&row->buf, "%" PRId64 "/%" PRId64, part, whole);
	row_buf(row);
}

void row_buf(struct neap_kube_row *row)
{
	add_take(row, neap_buf_failed(&row->buf) ? NULL : json_string(row->buf.data));
	neap_buf_clear(&row->buf);
}

void row_age(struct neap_kube_row *row)
{
	char age[24];

	row_text(row,
		 neap_kube_time_age(cell_get(row->object, "metadata.creationTimestamp"),
				    row->now, age, sizeof(age)));
}

json_t *row_take(struct neap_kube_row *row)
{
	neap_buf_done(&row->buf);
	return row->cells;
}

/* --- cells of columns --- */

void neap_kube_put_name(struct neap_kube_row *row)
{
	row_name(row);
}

void neap_kube_put_age(struct neap_kube_row *row)
{
	row_age(row);
}

void neap_kube_put_text(struct neap_kube_row *row)
{
	row_text(row,
		 cell_or(cell_text(row->object, row->column->from), row->column->other));
}

static int64_t number(const struct neap_kube_row *row)
{
	return cell_int(row->object, row->column->from,
			strtoll(row->column->other, NULL, 10));
}

void neap_kube_put_int(struct neap_kube_row *row)
{
	row_int(row, number(row));
}

void neap_kube_put_digits(struct neap_kube_row *row)
{
	neap_buf_addf(&row->buf, "%" PRId64, number(row));
}

void neap_kube_put_bool(struct neap_kube_row *row)
{
	row_bool(row, cell_is_true(row->object, row->column->from));
}

void neap_kube_put_count(struct neap_kube_row *row)
{
	const json_t *list = cell_get(row->object, row->column->from);

	row_int(row, (int64_t)json_array_size(list));
}

void neap_kube_put_join(struct neap_kube_row *row)
{
	cell_join(cell_get(row->object, row->column->from), row->column->other,
		  &row->buf);
}

void neap_kube_put_labels(struct neap_kube_row *row)
{
	cell_labels(cell_get(row->object, row->column->from), &row->buf);
}

void neap_kube_put_selector(struct neap_kube_row *row)
{
	bool is_valid;

	cell_selector(cell_get(row->object, row->column->from), &row->buf, &is_valid);
	if (!is_valid)
		neap_buf_adds(&row->buf, "<error>");
	else if (row->buf.len == 0 && !neap_buf_failed(&row->buf))
		neap_buf_adds(&row->buf, "<none>");
}

void neap_kube_put_quantity(struct neap_kube_row *row)
{
	cell_quantity(cell_get(row->object, row->column->from), &row->buf);
}

json_t *neap_kube_cells_put(const struct neap_kube_kind *kind, const json_t *object,
			    int64_t now)
{
	struct neap_kube_row row;

	row_init(&row, object, now);
	for (size_t i = 0; i < kind->column_count; i++) {
		size_t count = json_array_size(row.cells);

		row.column = &kind->columns[i];
		row.column->put(&row);
		if (json_array_size(row.cells) == count)
			row_buf(&row);
	}
	return row_take(&row);
}
