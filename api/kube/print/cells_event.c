/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of core or events.k8s.io, which have different field names. */
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "api/kube/print/table_priv.h"

/* The value under one name, or else under the other. */
static const json_t *either(const json_t *object, const char *core, const char *other)
{
	const json_t *value = cell_get(object, core);

	return value ? value : cell_get(object, other);
}

static const char *either_text(const json_t *object, const char *core, const char *other)
{
	return cell_text(either(object, core, other), "");
}

/* "pod/web-1" */
static void add_target(struct neap_kube_row *row, const json_t *target)
{
	const char *name = cell_text(target, "name");

	for (const char *c = cell_text(target, "kind"); *c; c++)
		neap_buf_addc(&row->buf, *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c);
	if (*name) {
		neap_buf_addc(&row->buf, '/');
		neap_buf_adds(&row->buf, name);
	}
	row_buf(row);
}

/* "kubelet, node-0" */
static void add_source(struct neap_kube_row *row)
{
	const json_t *source = either(row->object, "source", "deprecatedSource");
	const char *who = cell_or(
		cell_text(source, "component"),
		either_text(row->object, "reportingComponent", "reportingController"));
	const char *where = cell_or(cell_text(source, "host"),
				    cell_text(row->object, "reportingInstance"));

	neap_buf_adds(&row->buf, who);
	if (*where) {
		neap_buf_adds(&row->buf, ", ");
		neap_buf_adds(&row->buf, where);
	}
	row_buf(row);
}

/* Trims blanks. */
static void add_message(struct neap_kube_row *row)
{
	static const char blanks[] = " \t\n\v\f\r";
	const char *text = either_text(row->object, "message", "note");
	size_t len;

	text += strspn(text, blanks);
	len = strlen(text);
	while (len > 0 && strchr(blanks, text[len - 1]))
		len--;
	neap_buf_add(&row->buf, text, len);
	row_buf(row);
}

static void add_since(struct neap_kube_row *row, const json_t *time)
{
	char age[24];

	row_text(row, neap_kube_time_age(time, row->now, age, sizeof(age)));
}

json_t *neap_kube_cells_event(const struct neap_kube_kind *kind NEAP_UNUSED,
			      const json_t *object, int64_t now)
{
	const json_t *target = either(object, "involvedObject", "regarding");
	const json_t *series = cell_get(object, "series");
	const json_t *first =
		either(object, "firstTimestamp", "deprecatedFirstTimestamp");
	const json_t *last = either(object, "lastTimestamp", "deprecatedLastTimestamp");
	int64_t count = cell_int(either(object, "count", "deprecatedCount"), "", 0);
	struct neap_kube_row row;

	if (neap_kube_time(first) == NEAP_MISSING)
		first = cell_get(object, "eventTime");
	if (neap_kube_time(last) == NEAP_MISSING)
		last = first;
	if (json_is_object(series)) {
		last = cell_get(series, "lastObservedTime");
		count = cell_int(series, "count", 0);
	} else if (count == 0) {
		count = 1; /* events that happened once have no count */
	}
	row_init(&row, object, now);
	add_since(&row, last);
	row_text(&row, cell_text(object, "type"));
	row_text(&row, cell_text(object, "reason"));
	add_target(&row, target);
	row_text(&row, cell_text(target, "fieldPath"));
	add_source(&row);
	add_message(&row);
	add_since(&row, first);
	row_int(&row, count);
	row_name(&row);
	return row_take(&row);
}
