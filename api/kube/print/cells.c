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

#define NAME_MAX_BYTES 48

/* --- fields --- */

const json_t *neap_kube_cell_get(const json_t *object, const char *path)
{
	char name[NAME_MAX_BYTES];

	while (object != NULL && *path) {
		size_t len = strcspn(path, ".");

		if (len >= sizeof(name))
			return NULL;
		memcpy(name, path, len);
		name[len] = '\0';
		object = json_object_get(object, name);
		path += len + (path[len] == '.');
	}
	return json_is_null(object) ? NULL : object;
}

const char *neap_kube_cell_text(const json_t *object, const char *path)
{
	const char *text = json_string_value(neap_kube_cell_get(object, path));

	return text != NULL ? text : "";
}

int64_t neap_kube_cell_int(const json_t *object, const char *path, int64_t fallback)
{
	const json_t *value = neap_kube_cell_get(object, path);

	return json_is_integer(value) ? json_integer_value(value) : fallback;
}

bool neap_kube_cell_is_true(const json_t *object, const char *path)
{
	return json_is_true(neap_kube_cell_get(object, path));
}

int64_t neap_kube_cell_time(const json_t *object, const char *path)
{
	return neap_kube_time(neap_kube_cell_get(object, path));
}

const char *neap_kube_cell_condition(const json_t *conditions, const char *type)
{
	for (size_t i = 0; i < json_array_size(conditions); i++) {
		const json_t *condition = json_array_get(conditions, i);

		if (strcmp(neap_kube_cell_text(condition, "type"), type) == 0)
			return neap_kube_cell_text(condition, "status");
	}
	return "";
}

const char *neap_kube_cell_or(const char *text, const char *fallback)
{
	return *text ? text : fallback;
}

/* --- texts of several parts --- */

void neap_kube_cell_join(const json_t *list, const char *member, struct neap_buf *buf)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *element = json_array_get(list, i);

		if (i > 0)
			neap_buf_addc(buf, ',');
		neap_buf_adds(buf, neap_kube_cell_text(element, member));
	}
}

void neap_kube_cell_quantity(const json_t *quantity, struct neap_buf *buf)
{
	const char *text = json_string_value(quantity);
	size_t len = text != NULL ? strlen(text) : 0;
	char shortest[32];
	int64_t n;

	if (json_is_integer(quantity)) {
		neap_buf_addf(buf, "%" JSON_INTEGER_FORMAT, json_integer_value(quantity));
		return;
	}
	if (text == NULL)
		return;
	if (len > 2 && text[len - 1] == 'i' &&
	    neap_quantity_parse_units(text, &n, NULL) == 0)
		neap_buf_adds(buf,
			      neap_quantity_format_bytes(n, shortest, sizeof(shortest)));
	/* Exponents keep their form, and so do amounts below a thousandth. */
	else if (strpbrk(text, "eEun") == NULL &&
		 neap_quantity_parse_milli(text, &n, NULL) == 0)
		neap_buf_adds(buf,
			      neap_quantity_format_milli(n, shortest, sizeof(shortest)));
	else
		neap_buf_adds(buf, text);
}

/* --- rows --- */

void neap_kube_row_init(struct neap_kube_row *row, const json_t *object, int64_t now)
{
	*row = (struct neap_kube_row){
		.cells = json_array(), .object = object, .now = now};
	neap_buf_init(&row->buf, NEAP_BUF_REPLY);
}

static void add_take(struct neap_kube_row *row, json_t *cell)
{
	if (row->cells == NULL) {
		json_decref(cell);
		return;
	}
	if (json_array_append_new(row->cells, cell) == 0)
		return;
	json_decref(row->cells);
	row->cells = NULL;
}

void neap_kube_row_text(struct neap_kube_row *row, const char *text)
{
	add_take(row, json_string(text));
}

void neap_kube_row_name(struct neap_kube_row *row)
{
	neap_kube_row_text(row, neap_kube_cell_text(row->object, "metadata.name"));
}

void neap_kube_row_int(struct neap_kube_row *row, int64_t value)
{
	add_take(row, json_integer(value));
}

void neap_kube_row_bool(struct neap_kube_row *row, bool value)
{
	add_take(row, json_boolean(value));
}

void neap_kube_row_ratio(struct neap_kube_row *row, int64_t part, int64_t whole)
{
	neap_buf_addf(&row->buf, "%" PRId64 "/%" PRId64, part, whole);
	neap_kube_row_buf(row);
}

void neap_kube_row_buf(struct neap_kube_row *row)
{
	add_take(row, neap_buf_failed(&row->buf) ? NULL : json_string(row->buf.data));
	neap_buf_clear(&row->buf);
}

void neap_kube_row_age(struct neap_kube_row *row)
{
	char age[24];

	neap_kube_row_text(
		row, neap_kube_time_age(neap_kube_cell_get(row->object,
							   "metadata.creationTimestamp"),
					row->now, age, sizeof(age)));
}

json_t *neap_kube_row_take(struct neap_kube_row *row)
{
	neap_buf_done(&row->buf);
	return row->cells;
}

/* --- cells of columns --- */

void neap_kube_put_name(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	(void)column;
	neap_kube_row_name(row);
}

void neap_kube_put_age(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	(void)column;
	neap_kube_row_age(row);
}

void neap_kube_put_text(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	neap_kube_row_text(
		row, neap_kube_cell_or(neap_kube_cell_text(row->object, column->from),
				       column->other));
}

static int64_t number(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	return neap_kube_cell_int(row->object, column->from,
				  strtoll(column->other, NULL, 10));
}

void neap_kube_put_int(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	neap_kube_row_int(row, number(row, column));
}

void neap_kube_put_digits(struct neap_kube_row *row,
			  const struct neap_kube_column *column)
{
	neap_buf_addf(&row->buf, "%" PRId64, number(row, column));
	neap_kube_row_buf(row);
}

void neap_kube_put_bool(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	neap_kube_row_bool(row, neap_kube_cell_is_true(row->object, column->from));
}

void neap_kube_put_count(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	const json_t *list = neap_kube_cell_get(row->object, column->from);

	neap_kube_row_int(row, (int64_t)json_array_size(list));
}

void neap_kube_put_join(struct neap_kube_row *row, const struct neap_kube_column *column)
{
	neap_kube_cell_join(neap_kube_cell_get(row->object, column->from), column->other,
			    &row->buf);
	neap_kube_row_buf(row);
}

void neap_kube_put_labels(struct neap_kube_row *row,
			  const struct neap_kube_column *column)
{
	neap_kube_cell_labels(neap_kube_cell_get(row->object, column->from), &row->buf);
	neap_kube_row_buf(row);
}

void neap_kube_put_selector(struct neap_kube_row *row,
			    const struct neap_kube_column *column)
{
	bool is_valid;

	neap_kube_cell_selector(neap_kube_cell_get(row->object, column->from), &row->buf,
				&is_valid);
	if (!is_valid)
		neap_buf_adds(&row->buf, "<error>");
	else if (row->buf.len == 0 && !neap_buf_failed(&row->buf))
		neap_buf_adds(&row->buf, "<none>");
	neap_kube_row_buf(row);
}

void neap_kube_put_quantity(struct neap_kube_row *row,
			    const struct neap_kube_column *column)
{
	neap_kube_cell_quantity(neap_kube_cell_get(row->object, column->from), &row->buf);
	neap_kube_row_buf(row);
}

json_t *neap_kube_cells_put(const struct neap_kube_kind *kind, const json_t *object,
			    int64_t now)
{
	struct neap_kube_row row;

	neap_kube_row_init(&row, object, now);
	for (size_t i = 0; i < kind->column_count; i++)
		kind->columns[i].put(&row, &kind->columns[i]);
	return neap_kube_row_take(&row);
}
