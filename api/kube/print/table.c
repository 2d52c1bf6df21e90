/* SPDX-License-Identifier: Apache-2.0
 *
 * Objects as rows of a Table: column definitions, and cells of declared kinds.
 * api/kube/print/cells_*.c have the cells of built-in kinds. */
#include "api/kube/print/table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "api/kube/print/cells.h"
#include "api/kube/print/table_priv.h"
#include "engine/base/mem.h"
#include "engine/base/quantity.h"

static json_t *column(const struct neap_kube_column *c)
{
	return json_pack("{s:s, s:s, s:s, s:s, s:i}", "name", c->name, "type", c->type,
			 "format", c->format ? c->format : "", "description",
			 c->doc ? c->doc : "", "priority", c->priority);
}

json_t *neap_kube_columns(const struct neap_kube_kind *kind)
{
	json_t *columns = json_array();

	for (size_t i = 0; columns && i < kind->column_count; i++)
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

	if (!text)
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

	if (!c->path || neap_kube_path_parse(c->path, &path, NULL) < 0)
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

	if (kind->cells)
		return kind->cells(kind, object, now);
	if (kind->column_count > 0 && kind->columns[0].put)
		return neap_kube_cells_put(kind, object, now);
	cells = json_array();
	for (size_t i = 0; cells && i < kind->column_count; i++)
		if (json_array_append_new(cells, cell(&kind->columns[i], object, now)) <
		    0) {
			json_decref(cells);
			return NULL;
		}
	return cells;
}

/* --- ages ---
 *
 * Time spans with two or three digits: longer ones are coarser. */

#define USEC INT64_C(1000000)
/* The most that Go's 64 bits of nanoseconds hold, 292 years. */
#define LONGEST (INT64_MAX / 1000)
/* 0001-01-01T00:00:00Z, Go's zero time. */
#define GO_ZERO (INT64_C(-62135596800) * USEC)

static char *one(int64_t count, char unit, char *buf, size_t size)
{
	(void)snprintf(buf, size, "%" PRId64 "%c", count, unit);
	return buf;
}

/* Omits the smaller unit when it is 0. */
static char *two(int64_t count, char unit, int64_t rest, char rest_unit, char *buf,
		 size_t size)
{
	if (rest == 0)
		return one(count, unit, buf, size);
	(void)snprintf(buf, size, "%" PRId64 "%c%" PRId64 "%c", count, unit, rest,
		       rest_unit);
	return buf;
}

char *neap_kube_age(int64_t from_usec, int64_t now_usec, char *buf, size_t size)
{
	int64_t usec, seconds, minutes, hours, days;

	if (__builtin_sub_overflow(now_usec, from_usec, &usec))
		usec = now_usec > from_usec ? LONGEST : -LONGEST;
	if (usec > LONGEST)
		usec = LONGEST;
	seconds = usec / USEC;
	if (seconds < -1) {
		(void)neap_strcopy(buf, size, "<invalid>");
		return buf;
	}
	if (seconds < 0)
		seconds = 0;
	minutes = seconds / 60;
	hours = minutes / 60;
	days = hours / 24;
	if (minutes < 2)
		return one(seconds, 's', buf, size);
	if (minutes < 10)
		return two(minutes, 'm', seconds % 60, 's', buf, size);
	if (hours < 3)
		return one(minutes, 'm', buf, size);
	if (hours < 8)
		return two(hours, 'h', minutes % 60, 'm', buf, size);
	if (days < 2)
		return one(hours, 'h', buf, size);
	if (days < 8)
		return two(days, 'd', hours % 24, 'h', buf, size);
	if (days < 2 * 365)
		return one(days, 'd', buf, size);
	if (days < 8 * 365)
		return two(days / 365, 'y', days % 365, 'd', buf, size);
	return one(days / 365, 'y', buf, size);
}

int64_t neap_kube_time(const json_t *time)
{
	const char *text = json_string_value(time);
	int64_t usec;

	if (!text || neap_time_parse(text, &usec, NULL) < 0 || usec == GO_ZERO)
		return NEAP_MISSING;
	return usec;
}

char *neap_kube_time_age(const json_t *time, int64_t now, char *buf, size_t size)
{
	int64_t from = neap_kube_time(time);

	if (from != NEAP_MISSING)
		return neap_kube_age(from, now, buf, size);
	(void)neap_strcopy(buf, size, "<unknown>");
	return buf;
}
