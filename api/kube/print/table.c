/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects as rows of a Table: column definitions, and cells of declared kinds.
 * api/kube/print/cells_*.c have the cells of built-in kinds. */
#include "api/kube/print/table.h"

#include <math.h>
#include <string.h>

#include "api/kube/print/cells.h"
#include "api/kube/print/table_priv.h"
#include "engine/base/quantity.h"

static json_t *column(const struct neap_kube_column *c)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", c->name, "type", c->type,
			 "format", c->format != NULL ? c->format : "", "description",
			 c->doc != NULL ? c->doc : "", "priority", c->priority);
}

json_t *neap_kube_columns(const struct neap_kube_kind *kind)
{
	json_t *columns = json_array();

	for (size_t i = 0; columns != NULL && i < kind->column_count; i++)
		if (json_array_append_new(columns, column(&kind->columns[i])) < 0) {
			json_decref(columns);
			return NULL;
		}
	return columns;
}

/* --- cells by the type of their column; NULL without memory --- */

/* Any value can be shown as text. */
static json_t *text_cell(const struct neap_kube_values *values)
{
	const json_t *value = neap_kube_values_get(values, 0);
	json_t *text = NULL;
	int rc;

	if (values->count == 1 && json_is_string(value))
		return json_incref((json_t *)value);
	rc = neap_kube_values_text(values, &text);
	return rc == -NEAP_ETOOLARGE ? json_null() : text;
}

/* Cut at the decimal point, as in a kube-apiserver. */
static json_t *integer_cell(const json_t *value)
{
	double real = json_real_value(value);

	if (json_is_integer(value))
		return json_incref((json_t *)value);
	if (json_is_real(value) && fabs(real) < 9223372036854775808.0)
		return json_integer((json_int_t)real);
	return json_null();
}

static json_t *date_cell(const json_t *value, int64_t now)
{
	const char *text = json_string_value(value);
	int64_t usec;
	char age[24];

	if (text == NULL)
		return json_null();
	if (*text && neap_time_parse(text, &usec, NULL) < 0)
		return json_string("<invalid>");
	return json_string(neap_kube_time_age(value, now, age, sizeof(age)));
}

static json_t *cell(const struct neap_kube_column *c, const json_t *object, int64_t now)
{
	struct neap_kube_path path;
	struct neap_kube_values values;
	const json_t *value;
	json_t *made = json_null();
	int rc;

	if (c->path == NULL || neap_kube_path_parse(c->path, &path, NULL) < 0)
		return made;
	rc = neap_kube_path_walk(&path, object, &values);
	if (rc == -NEAP_ENOMEM) {
		made = NULL;
	} else if (rc == 0 && values.count > 0) {
		value = neap_kube_values_get(&values, 0);
		if (strcmp(c->type, "string") == 0)
			made = text_cell(&values);
		else if (strcmp(c->type, "integer") == 0)
			made = integer_cell(value);
		else if (strcmp(c->type, "number") == 0 && json_is_number(value))
			made = json_incref((json_t *)value);
		else if (strcmp(c->type, "boolean") == 0 && json_is_boolean(value))
			made = json_incref((json_t *)value);
		else if (strcmp(c->type, "date") == 0)
			made = date_cell(value, now);
	}
	neap_kube_values_done(&values);
	return made;
}

json_t *neap_kube_cells(const struct neap_kube_kind *kind, const json_t *object,
			int64_t now)
{
	json_t *cells;

	if (kind->cells != NULL)
		return kind->cells(kind, object, now);
	if (kind->column_count > 0 && kind->columns[0].put)
		return neap_kube_cells_put(kind, object, now);
	cells = json_array();
	for (size_t i = 0; cells != NULL && i < kind->column_count; i++)
		if (json_array_append_new(cells, cell(&kind->columns[i], object, now)) <
		    0) {
			json_decref(cells);
			return NULL;
		}
	return cells;
}
