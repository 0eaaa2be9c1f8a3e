/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small table of text. */

#include "report/text_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

void table_init(struct table *table, unsigned columns, const char *const *titles)
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

void table_cell(struct table *table, const char *fmt, ...)
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

void table_outside(struct table *table, struct outside text)
{
	if (!table->err)
		add_cell(table, text.bytes);
}

static bool to_right(const struct table *table, unsigned column)
{
	return table->titles[column][0] == '>';
}

static const char *title(const struct table *table, unsigned column)
{
	return table->titles[column] + to_right(table, column);
}

/* The heading has no cells. Nothing is put behind the last text of a row. */
static void print_row(const struct table *table, const size_t *widths, char *const *cells,
		      struct out *out)
{
	unsigned columns = table->columns, column;
	const char *text;
	size_t blanks;

	while (columns > 1 && !*(cells ? cells[columns - 1] : title(table, columns - 1)))
		columns--;
	for (column = 0; column < columns; column++) {
		text = cells ? cells[column] : title(table, column);
		blanks = widths[column] - text_width(text);
		if (to_right(table, column))
			out_blanks(out, blanks);
		out_text(out, text);
		if (!to_right(table, column) && column + 1 < columns)
			out_blanks(out, blanks);
		out_text(out, column + 1 == columns ? "\n" : "  ");
	}
}

struct err *table_print(struct table *table, struct out *out)
{
	unsigned columns = table->columns;
	AUTO_FREE size_t *widths = calloc(columns, sizeof(*widths));
	struct err *err = table->err || widths ? table->err : err_nomem;

	for (unsigned column = 0; !err && column < columns; column++)
		widths[column] = text_width(title(table, column));
	for (size_t i = 0; !err && i < table->cells.nr; i++)
		widths[i % columns] = MAX(widths[i % columns], text_width(table->cells.at[i]));
	if (!err) {
		out_bold(out, true);
		print_row(table, widths, NULL, out);
		out_bold(out, false);
	}
	for (size_t i = 0; !err && i + columns <= table->cells.nr; i += columns)
		print_row(table, widths, &table->cells.at[i], out);
	vec_each_value(cell, &table->cells)
		free(cell);
	vec_free(&table->cells);
	return err;
}
