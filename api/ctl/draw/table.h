/* SPDX-License-Identifier: Apache-2.0
 *
 * Readable tables: a line of titles, columns as wide as their longest cell, two blanks between.
 * Cells are cleaned of what could act on a terminal; "" becomes "-". */
#ifndef NEAP_API_CTL_DRAW_TABLE_H
#define NEAP_API_CTL_DRAW_TABLE_H

#include "engine/base/buf.h"

#define NEAP_TABLE_COLUMNS_MAX 16

struct neap_table_column {
	const char *title; /* NULL ends the list */
	bool is_right;     /* numbers */
	int max_columns;   /* longer cells are cut, 0 never */
	/* For the last column alone: the table drops it where fewer columns are left for
	 * it. */
	int columns_min;
	/* Where a line is too narrow to leave the last column its columns_min (else 10):
	 * minor columns are left out, the last one first; then columns are cut down to
	 * shrinks_to. */
	bool is_minor;
	int shrinks_to; /* 0 never */
	bool wraps; /* of the last column: goes on below itself, if there is some room */
};

struct neap_table;

/* columns is borrowed. NULL without memory. */
struct neap_table *neap_table_new(const struct neap_table_column *columns);
void neap_table_free(struct neap_table *table);
/* One cell per column, copied; NULL is "". Without memory the table remembers it. */
void neap_table_add(struct neap_table *table, const char *const *cells);
size_t neap_table_rows(const struct neap_table *table);

struct neap_table_style {
	int columns;      /* lines are cut there, 0 never */
	size_t rows_max;  /* more rows become a line that counts them, 0 all */
	size_t rows_skip; /* so many are left out before */
	bool use_color;   /* bold titles */
};
/* Every line ended. False when memory was short: what is there is incomplete. */
bool neap_table_format(const struct neap_table *table,
		       const struct neap_table_style *style, struct neap_buf *out);

#endif
