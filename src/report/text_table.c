/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small table of text. */

#include "report/text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

#define GAP		2u	/* blanks between two columns */
#define NARROWEST	16u	/* only a column twice as wide gives way, and keeps this */
#define LAST_LEAST	24u	/* the last column should have so much of a terminal */
#define LEFT_OUT	0u	/* the width of a column that is not printed */

void text_table_init(struct table *table, unsigned columns, const char *const *titles)
{
	*table = (struct table){ .columns = columns, .titles = titles };
}

static void add_cell(struct table *table, const char *text)
{
	AUTO_STR struct str shown = STR_INIT;
	struct err *err = str_add(&shown, "");

	if (!err)
		err = outside_add(&shown, text, strlen(text), OUTSIDE_ONE_LINE);
	if (!err)
		err = vec_push(&table->cells, shown.at);
	if (!err)
		shown = (struct str)STR_INIT;
	table->err = err;
}

void text_table_cell(struct table *table, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;
	int len;

	if (table->err)
		return;
	va_start(ap, fmt);
	len = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (len < 0) {
		text = NULL;
		table->err = err_nomem;
		return;
	}
	add_cell(table, text);
}

void text_table_outside(struct table *table, struct outside text)
{
	if (!table->err)
		add_cell(table, text.bytes);
}

static bool is_optional(const struct table *table, unsigned column)
{
	return table->titles[column][0] == '?';
}

static bool to_right(const struct table *table, unsigned column)
{
	return table->titles[column][is_optional(table, column)] == '>';
}

static const char *title(const struct table *table, unsigned column)
{
	return table->titles[column] + is_optional(table, column) + to_right(table, column);
}

/*
 * Print a row, or the heading if cells is NULL. No blanks go after the last text of a row. If a
 * text is wider than its column, the row goes on in the next line.
 */
static void print_row(const struct table *table, const size_t *widths, char *const *cells,
		      struct out *out)
{
	unsigned columns = table->columns, column;
	const char *text;
	size_t blanks, at = 0;

	while (columns > 1 && (widths[columns - 1] == LEFT_OUT ||
			       !*(cells ? cells[columns - 1] : title(table, columns - 1))))
		columns--;
	for (column = 0; column < columns; column++) {
		if (widths[column] == LEFT_OUT)
			continue;
		text = cells ? cells[column] : title(table, column);
		at += widths[column] + GAP;
		if (number_text_width(text) > widths[column] && column + 1 < columns) {
			out_text(out, text);
			out_text(out, "\n");
			out_blanks(out, at);
			continue;
		}
		blanks = widths[column] - MIN(number_text_width(text), widths[column]);
		if (to_right(table, column))
			out_blanks(out, blanks);
		out_text(out, text);
		if (!to_right(table, column) && column + 1 < columns)
			out_blanks(out, blanks);
		out_text(out, column + 1 == columns ? "\n" : "  ");
	}
}

/*
 * On a terminal optional columns are left out, from the right, as far as the others need their
 * room. Then the widest column gives way; the last one never does. Texts of that column that no
 * longer fit get a line of their own.
 */
static void fit(const struct table *table, size_t *widths, size_t terminal)
{
	unsigned last = table->columns - 1, widest = 0;
	size_t need = MIN(widths[last], (size_t)LAST_LEAST);

	for (unsigned column = 0; column < last; column++) {
		need += widths[column] + GAP;
		if (widths[column] > widths[widest])
			widest = column;
	}
	for (unsigned column = last; column-- && need > terminal;) {
		if (!is_optional(table, column))
			continue;
		need -= widths[column] + GAP;
		widths[column] = LEFT_OUT;
	}
	if (need <= terminal || widths[widest] < 2 * NARROWEST)
		return;
	widths[widest] -= MIN(need - terminal, widths[widest] - NARROWEST);
}

static void print_left_out(const struct table *table, const size_t *widths, struct out *out)
{
	const char *before = OUT_LEFT_OUT;

	for (unsigned column = 0; column < table->columns; column++) {
		if (widths[column] != LEFT_OUT)
			continue;
		out_f(out, "%s%s", before, title(table, column));
		before = ", ";
	}
	if (*before == ',')
		out_text(out, "\n");
}

static struct err *begin(struct table *table, struct out *out)
{
	unsigned columns = table->columns;
	size_t *widths = table->widths = calloc(columns, sizeof(*widths));

	if (!widths)
		return err_nomem;
	for (unsigned column = 0; column < columns; column++)
		widths[column] = number_text_width(title(table, column));
	for (size_t i = 0; i < table->cells.nr; i++)
		widths[i % columns] = MAX(widths[i % columns],
					  number_text_width(table->cells.at[i]));
	if (out->columns)
		fit(table, widths, out->columns);
	out_bold(out, true);
	print_row(table, widths, NULL, out);
	out_bold(out, false);
	return NULL;
}

struct err *text_table_flush(struct table *table, struct out *out)
{
	unsigned columns = table->columns;

	if (!table->err && !table->widths)
		table->err = begin(table, out);
	for (size_t i = 0; !table->err && i + columns <= table->cells.nr; i += columns)
		print_row(table, table->widths, &table->cells.at[i], out);
	vec_each_value(cell, &table->cells)
		free(cell);
	vec_clear(&table->cells);
	return table->err;
}

struct err *text_table_print(struct table *table, struct out *out)
{
	struct err *err = text_table_flush(table, out);

	if (!err)
		print_left_out(table, table->widths, out);
	vec_free(&table->cells);
	free(take(table->widths));
	return err;
}
