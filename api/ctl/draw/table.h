/* SPDX-License-Identifier: Apache-2.0
 *
 * Text tables: a header line, columns as wide as their longest cell, two blanks between.
 * Characters that could act on a terminal are escaped; "" becomes "-". */
#ifndef NEAP_API_CTL_DRAW_TABLE_H
#define NEAP_API_CTL_DRAW_TABLE_H

#include <jansson.h>

#include "engine/base/buf.h"

#define NEAP_TABLE_COLUMNS_MAX 16

struct neap_table_column {
	const char *title; /* NULL ends the list */
	bool is_right;     /* numbers */
	int max_columns;   /* longer cells are cut, 0 never */
	/* For the last column only: it is dropped when fewer columns are left. */
	int columns_min;
	/* When the last column would get less than its columns_min (else 10): minor
	 * columns are dropped, last one first; then columns are cut to shrinks_to. */
	bool is_minor;
	int shrinks_to; /* 0 never */
	bool wraps;     /* last column: continues on the next lines, if there is room */
	/* What a row of JSON has there, a form of neap_cells_add; NULL: see
	 * neap_table_add_row. */
	const char *cell;
};

struct neap_table;

/* Borrows columns. NULL without memory. */
struct neap_table *neap_table_new(const struct neap_table_column *columns);
void neap_table_free(struct neap_table *table);
/* Adds a row with one copied cell per column; NULL is "". The table remembers a lack of
 * memory; nothing is done with one that is NULL. */
void neap_table_add(struct neap_table *table, const char *const *cells);
/* Adds a row of what the object has, by the columns' forms. The cells of columns without
 * one are in own, in their order. */
void neap_table_add_row(struct neap_table *table, const json_t *object,
			const char *const *own);
/* Adds a row for each object of an array; all columns have forms. */
void neap_table_add_rows(struct neap_table *table, const json_t *objects);
size_t neap_table_rows(const struct neap_table *table);

struct neap_table_style {
	int columns; /* lines are cut there, 0 never */
	/* further rows are replaced by a line with their number, 0: all */
	size_t rows_max;
	size_t rows_skip; /* rows skipped at the start */
	bool use_color;   /* bold titles */
};
/* Ends every line. Returns false when memory was short and the output is incomplete. */
bool neap_table_format(const struct neap_table *table,
		       const struct neap_table_style *style, struct neap_buf *out);

#endif
