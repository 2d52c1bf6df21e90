/* SPDX-License-Identifier: Apache-2.0
 *
 * Helpers for the cells of built-in kinds: fields of an object in which any may be
 * missing or of any type, and a row that is filled from left to right. */
#ifndef NEAP_API_KUBE_PRINT_CELLS_PRIV_H
#define NEAP_API_KUBE_PRINT_CELLS_PRIV_H

#include "api/kube/print/cells.h"
#include "engine/base/buf.h"

/* --- fields; a path is names with dots between them --- */

/* Returns the value; borrowed, NULL: missing or null. */
const json_t *cell_get(const json_t *object, const char *path);
/* Returns "" when it is not a text. */
const char *cell_text(const json_t *object, const char *path);
/* Returns fallback when it is not an integer. */
int64_t cell_int(const json_t *object, const char *path, int64_t fallback);
bool cell_is_true(const json_t *object, const char *path);
/* As neap_kube_time. */
int64_t cell_time(const json_t *object, const char *path);
/* Returns the status ("True") of the first condition of that type; "" without one. */
const char *cell_condition(const json_t *conditions, const char *type);
/* Returns the first text that is not "". */
const char *cell_or(const char *text, const char *fallback);

/* --- texts of several parts --- */

/* Writes the elements of a list, or that member of them, separated by commas. */
void cell_join(const json_t *list, const char *member, struct neap_buf *buf);
/* Writes the texts sorted and without duplicates, separated by commas; sorts texts
 * too. */
void cell_set(const char **texts, size_t count, struct neap_buf *buf);
/* Writes a LabelSelector as "a=b,c in (d,e),!f", sorted; nothing when empty. An invalid
 * one writes nothing and sets *ret_valid to false. */
void cell_selector(const json_t *selector, struct neap_buf *buf, bool *ret_valid);
/* Writes a quantity in its shortest form: "1024Mi" becomes "1Gi". */
void cell_quantity(const json_t *quantity, struct neap_buf *buf);

/* --- rows --- */

struct neap_kube_row {
	json_t *cells; /* NULL: memory was short */
	const json_t *object;
	const struct neap_kube_column *column; /* of a put */
	int64_t now;                           /* Unix microseconds */
	struct neap_buf buf;                   /* for the cell being built */
};

/* The caller takes the row in any case. */
void row_init(struct neap_kube_row *row, const json_t *object, int64_t now);
void row_name(struct neap_kube_row *row);
void row_text(struct neap_kube_row *row, const char *text);
void row_int(struct neap_kube_row *row, int64_t value);
/* "2/3" */
void row_ratio(struct neap_kube_row *row, int64_t part, int64_t whole);
/* Adds the content of row->buf as a cell, and empties it. */
void row_buf(struct neap_kube_row *row);
/* Since metadata.creationTimestamp. */
void row_age(struct neap_kube_row *row);
/* Returns the finished row; NULL without memory. */
json_t *row_take(struct neap_kube_row *row);

#endif
