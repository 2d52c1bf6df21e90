/* SPDX-License-Identifier: Apache-2.0
 *
 * What the cells of the built-in kinds are made with: fields of an object that may lack any of them, or
 * have anything in their place, and a row that is filled from the left. */
#ifndef NEAP_API_KUBE_PRINT_CELLS_PRIV_H
#define NEAP_API_KUBE_PRINT_CELLS_PRIV_H

#include "api/kube/print/cells.h"
#include "api/kube/print/columns.h"
#include "engine/base/buf.h"

/* The columns that nearly every kind has. */
#define NEAP_KUBE_COLUMN_NAME                                                            \
	{                                                                                \
		.name = "Name", .type = "string", .format = "name",                      \
		.doc = "Name of the object, the only one of its kind in the namespace."  \
	}
#define NEAP_KUBE_COLUMN_AGE                                                             \
	{                                                                                \
		.name = "Age", .type = "string", .format = "",                           \
		.doc = "Time since the object was made."                                 \
	}
#define NEAP_KUBE_COLUMN(column_name, column_type, wide, text)                           \
	{                                                                                \
		.name = (column_name), .type = (column_type), .format = "",              \
		.doc = (text), .priority = (wide)                                        \
	}

/* --- fields; a path is names with dots between them, none longer than 47 bytes --- */

/* What stands there; borrowed, NULL: nothing, or null. */
const json_t *neap_kube_cell_get(const json_t *object, const char *path);
/* "" for what is no text. */
const char *neap_kube_cell_text(const json_t *object, const char *path);
/* Fallback for what is no integer. */
int64_t neap_kube_cell_int(const json_t *object, const char *path, int64_t fallback);
bool neap_kube_cell_is_true(const json_t *object, const char *path);
/* As neap_kube_time. */
int64_t neap_kube_cell_time(const json_t *object, const char *path);
/* The status ("True") of the first condition of that type in a list of them; "" without one. */
const char *neap_kube_cell_condition(const json_t *conditions, const char *type);
/* The first text that is not "". */
const char *neap_kube_cell_or(const char *text, const char *fallback);

/* --- texts of several parts --- */

/* The elements of a list, or that member of them, with commas between them. */
void neap_kube_cell_join(const json_t *list, const char *member, struct neap_buf *buf);
/* Those texts sorted, each once, with commas between them; texts is sorted, too. */
void neap_kube_cell_set(const char **texts, size_t count, struct neap_buf *buf);
/* "a=b,c=d", sorted; "<none>". */
void neap_kube_cell_labels(const json_t *labels, struct neap_buf *buf);
/* A LabelSelector as "a=b,c in (d,e),!f", sorted; nothing for one that is empty. *ret_valid false, and
 * nothing, for one that cannot be. */
void neap_kube_cell_selector(const json_t *selector, struct neap_buf *buf,
			     bool *ret_valid);
/* A quantity in its shortest form: "1024Mi" is "1Gi". */
void neap_kube_cell_quantity(const json_t *quantity, struct neap_buf *buf);

/* --- rows --- */

struct neap_kube_row {
	json_t *cells; /* NULL: memory was short */
	const json_t *object;
	int64_t now;         /* Unix microseconds */
	struct neap_buf buf; /* for the cell that is made */
};

/* To be taken in any case. */
void neap_kube_row_init(struct neap_kube_row *row, const json_t *object, int64_t now);
void neap_kube_row_name(struct neap_kube_row *row);
void neap_kube_row_text(struct neap_kube_row *row, const char *text);
void neap_kube_row_int(struct neap_kube_row *row, int64_t value);
void neap_kube_row_bool(struct neap_kube_row *row, bool value);
/* "2/3" */
void neap_kube_row_ratio(struct neap_kube_row *row, int64_t part, int64_t whole);
/* What row->buf holds; it is empty then. */
void neap_kube_row_buf(struct neap_kube_row *row);
/* Since metadata.creationTimestamp. */
void neap_kube_row_age(struct neap_kube_row *row);
/* Names and images of the containers of a list: two cells. */
void neap_kube_row_containers(struct neap_kube_row *row, const json_t *containers);
/* A LabelSelector: "<none>" when it is empty, "<error>" when it cannot be. */
void neap_kube_row_selector(struct neap_kube_row *row, const json_t *selector);
void neap_kube_row_labels(struct neap_kube_row *row, const json_t *labels);
/* The row, which is done then; NULL without memory. */
json_t *neap_kube_row_take(struct neap_kube_row *row);

#endif
