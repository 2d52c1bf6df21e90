/* SPDX-License-Identifier: Apache-2.0
 *
 * Events of core or events.k8s.io, which have different field names. */
#include <string.h>

#include "api/kube/print/cells_priv.h"
#include "api/kube/print/table_priv.h"

/* The value under one name, or else under the other. */
static const json_t *either(const json_t *object, const char *core, const char *other)
{
	const json_t *value = neap_kube_cell_get(object, core);

	return value != NULL ? value : neap_kube_cell_get(object, other);
}

static const char *either_text(const json_t *object, const char *core, const char *other)
{
	return neap_kube_cell_text(either(object, core, other), "");
}

/* "pod/web-1" */
static void add_target(struct neap_kube_row *row, const json_t *target)
{
	const char *name = neap_kube_cell_text(target, "name");

	for (const char *c = neap_kube_cell_text(target, "kind"); *c; c++)
		neap_buf_addc(&row->buf, *c >= 'A' && *c <= 'Z' ? (char)(*c + 32) : *c);
	if (*name) {
		neap_buf_addc(&row->buf, '/');
		neap_buf_adds(&row->buf, name);
	}
	neap_kube_row_buf(row);
}

/* "kubelet, node-0" */
static void add_source(struct neap_kube_row *row)
{
	const json_t *source = either(row->object, "source", "deprecatedSource");
	const char *who = neap_kube_cell_or(
		neap_kube_cell_text(source, "component"),
		either_text(row->object, "reportingComponent", "reportingController"));
	const char *where =
		neap_kube_cell_or(neap_kube_cell_text(source, "host"),
				  neap_kube_cell_text(row->object, "reportingInstance"));

	neap_buf_adds(&row->buf, who);
	if (*where) {
		neap_buf_adds(&row->buf, ", ");
		neap_buf_adds(&row->buf, where);
	}
	neap_kube_row_buf(row);
}

/* Trims blanks. */
static void add_message(struct neap_kube_row *row)
{
	static const char blanks[] = " \t\n\v\f\r";
	const char *text = either_text(row->object, "message", "note");
	size_t len;

	text += strspn(text, blanks);
	len = strlen(text);
	while (len > 0 && strchr(blanks, text[len - 1]) != NULL)
		len--;
	neap_buf_add(&row->buf, text, len);
	neap_kube_row_buf(row);
}

static void add_since(struct neap_kube_row *row, const json_t *time)
{
	char age[24];

	neap_kube_row_text(row, neap_kube_time_age(time, row->now, age, sizeof(age)));
}

json_t *neap_kube_cells_event(const struct neap_kube_kind *kind, const json_t *object,
			      int64_t now)
{
	const json_t *target = either(object, "involvedObject", "regarding");
	const json_t *series = neap_kube_cell_get(object, "series");
	const json_t *first =
		either(object, "firstTimestamp", "deprecatedFirstTimestamp");
	const json_t *last = either(object, "lastTimestamp", "deprecatedLastTimestamp");
	int64_t count =
		neap_kube_cell_int(either(object, "count", "deprecatedCount"), "", 0);
	struct neap_kube_row row;

	(void)kind;
	if (neap_kube_time(first) == NEAP_MISSING)
		first = neap_kube_cell_get(object, "eventTime");
	if (neap_kube_time(last) == NEAP_MISSING)
		last = first;
	if (json_is_object(series)) {
		last = neap_kube_cell_get(series, "lastObservedTime");
		count = neap_kube_cell_int(series, "count", 0);
	} else if (count == 0) {
		count = 1; /* events that happened once have no count */
	}
	neap_kube_row_init(&row, object, now);
	add_since(&row, last);
	neap_kube_row_text(&row, neap_kube_cell_text(object, "type"));
	neap_kube_row_text(&row, neap_kube_cell_text(object, "reason"));
	add_target(&row, target);
	neap_kube_row_text(&row, neap_kube_cell_text(target, "fieldPath"));
	add_source(&row);
	add_message(&row);
	add_since(&row, first);
	neap_kube_row_int(&row, count);
	neap_kube_row_name(&row);
	return neap_kube_row_take(&row);
}
