/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables are collected before printing, because widths are known only at the end. */
#include "api/ctl/draw/table.h"

#include <stdlib.h>
#include <string.h>

#include "api/ctl/draw/cells.h"
#include "api/ctl/draw/text.h"
#include "engine/base/mem.h"

#define CELL_BYTES_MAX 4096
#define GAP            2
#define WRAP_MIN       20 /* columns; with less a cell is cut */
#define LAST_MIN       10
#define LEFT_OUT       (-1) /* width of a column that has no place */

struct neap_table {
	const struct neap_table_column *columns;
	size_t column_count;
	char **cells; /* row by row */
	size_t row_count, room;
	bool failed;
};

struct neap_table *neap_table_new(const struct neap_table_column *columns)
{
	struct neap_table *table = neap_alloc(sizeof(*table));

	if (table == NULL)
		return NULL;
	table->columns = columns;
	while (table->column_count < NEAP_TABLE_COLUMNS_MAX &&
	       columns[table->column_count].title != NULL)
		table->column_count++;
	return table;
}

void neap_table_free(struct neap_table *table)
{
	size_t i;

	if (table == NULL)
		return;
	for (i = 0; i < table->row_count * table->column_count; i++)
		free(table->cells[i]);
	free(table->cells);
	free(table);
}

static char *cell_new(const char *text)
{
	struct neap_buf buf;
	char *cell;

	neap_buf_init(&buf, CELL_BYTES_MAX);
	neap_text_add_clean(&buf, text != NULL && *text ? text : "-", false);
	/* Over the ceiling a prefix is as good: no terminal is that wide. */
	cell = neap_strdup(buf.data);
	if (cell != NULL)
		neap_utf8_trim(cell);
	neap_buf_done(&buf);
	return cell;
}

void neap_table_add(struct neap_table *table, const char *const *cells)
{
	size_t i, at;

	if (table == NULL)
		return;
	at = table->row_count * table->column_count;
	table->failed |= !neap_grow(&table->cells, table->row_count, &table->room,
				    table->column_count * sizeof(char *));
	if (table->failed)
		return;
	for (i = 0; i < table->column_count; i++) {
		table->cells[at + i] = cell_new(cells[i]);
		if (table->cells[at + i] == NULL)
			table->failed = true;
	}
	if (!table->failed) {
		table->row_count++;
		return;
	}
	for (i = 0; i < table->column_count; i++)
		free(table->cells[at + i]);
}

void neap_table_add_row(struct neap_table *table, const json_t *object,
			const char *const *own)
{
	const char *cells[NEAP_TABLE_COLUMNS_MAX];
	struct neap_buf made[NEAP_TABLE_COLUMNS_MAX];

	for (size_t i = 0; table != NULL && i < table->column_count; i++) {
		const char *form = table->columns[i].cell;

		neap_buf_init(&made[i], CELL_BYTES_MAX);
		if (form != NULL)
			neap_cells_add(&made[i], object, form);
		cells[i] = form != NULL ? made[i].data : *own++;
	}
	neap_table_add(table, cells);
	for (size_t i = 0; table != NULL && i < table->column_count; i++)
		neap_buf_done(&made[i]);
}

void neap_table_add_rows(struct neap_table *table, const json_t *objects)
{
	const json_t *object;
	size_t i;

	json_array_foreach (objects, i, object) {
		neap_table_add_row(table, object, NULL);
	}
}

size_t neap_table_rows(const struct neap_table *table)
{
	return table == NULL ? 0 : table->row_count;
}

static void widths_find(const struct neap_table *table, size_t first, size_t rows,
			int *widths)
{
	size_t row, column;
	int columns;

	for (column = 0; column < table->column_count; column++) {
		widths[column] = neap_text_columns(table->columns[column].title);
		for (row = first; row < rows; row++) {
			columns = neap_text_columns(
				table->cells[row * table->column_count + column]);
			if (columns > widths[column])
				widths[column] = columns;
		}
		if (table->columns[column].max_columns > 0 &&
		    widths[column] > table->columns[column].max_columns)
			widths[column] = table->columns[column].max_columns;
	}
}

/* How many columns more than there are the line wants. */
static int excess(const struct neap_table *table, const int *widths, int columns)
{
	const size_t last = table->column_count - 1;
	int least = table->columns[last].columns_min > 0
			    ? table->columns[last].columns_min
			    : LAST_MIN;
	int total = widths[last] < least ? widths[last] : least;
	size_t i;

	for (i = 0; i < last; i++) {
		if (widths[i] != LEFT_OUT)
			total += widths[i] + GAP;
	}
	return total - columns;
}

static void widths_fit(const struct neap_table *table, int columns, int *widths)
{
	int over, room;
	size_t i;

	for (i = table->column_count - 1; i-- > 0;) {
		if (table->columns[i].is_minor && excess(table, widths, columns) > 0)
			widths[i] = LEFT_OUT;
	}
	for (i = 0; i < table->column_count - 1; i++) {
		over = excess(table, widths, columns);
		room = widths[i] - table->columns[i].shrinks_to;
		if (table->columns[i].shrinks_to > 0 && over > 0 && room > 0)
			widths[i] -= over < room ? over : room;
	}
}

static void add_blanks(struct neap_buf *out, int count)
{
	while (count-- > 0)
		neap_buf_addc(out, ' ');
}

/* left: columns of the line that are free, or negative for any number. */
static void line_add(const struct neap_table *table, const char *const *cells,
		     const int *widths, int left, struct neap_buf *out)
{
	size_t i;
	int width, pad, at = 0;

	for (i = 0; i < table->column_count; i++) {
		width = widths[i];
		if (width == LEFT_OUT)
			continue;
		if (left >= 0 && width > left)
			width = left;
		pad = width - neap_text_columns(cells[i]);
		if (left >= 0 && left < widths[i] && left < table->columns[i].columns_min)
			break;
		if (table->columns[i].is_right)
			add_blanks(out, pad);
		if (table->columns[i].wraps && width >= WRAP_MIN)
			neap_text_add_wrapped(out, cells[i], width, at);
		else
			neap_text_add_cut(out, cells[i], width);
		at += width + GAP;
		if (i + 1 == table->column_count)
			break;
		if (left >= 0) {
			left -= width + GAP;
			if (left <= 0)
				break;
		}
		if (!table->columns[i].is_right)
			add_blanks(out, pad);
		add_blanks(out, GAP);
	}
	while (out->len > 0 && out->data[out->len - 1] == ' ')
		out->data[--out->len] = '\0';
}

bool neap_table_format(const struct neap_table *table,
		       const struct neap_table_style *style, struct neap_buf *out)
{
	const char *titles[NEAP_TABLE_COLUMNS_MAX];
	int widths[NEAP_TABLE_COLUMNS_MAX];
	int left = style->columns > 0 ? style->columns : -1;
	size_t first =
		style->rows_skip < table->row_count ? style->rows_skip : table->row_count;
	size_t i, rows = table->row_count;

	if (style->rows_max > 0 && rows - first > style->rows_max)
		rows = first + style->rows_max - 1;
	for (i = 0; i < table->column_count; i++)
		titles[i] = table->columns[i].title;
	widths_find(table, first, rows, widths);
	if (style->columns > 0)
		widths_fit(table, style->columns, widths);
	if (style->use_color)
		neap_buf_adds(out, "\033[1m");
	line_add(table, titles, widths, left, out);
	neap_buf_adds(out, style->use_color ? "\033[0m\n" : "\n");
	for (i = first; i < rows; i++) {
		line_add(table,
			 (const char *const *)table->cells + i * table->column_count,
			 widths, left, out);
		neap_buf_addc(out, '\n');
	}
	if (rows < table->row_count)
		neap_buf_addf(out, "and %zu more\n", table->row_count - rows);
	return !table->failed && !neap_buf_failed(out);
}
