/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A small table of text: headings and rows. Each column is as wide as its widest cell or, on a
 * terminal, as there is room for. It is for some thousands of rows at most; blocks.c has a table of
 * its own.
 *
 *	struct table table;
 *
 *	text_table_init(&table, ARRAY_SIZE(titles), titles);
 *	text_table_cell(&table, "%d", lwp);		cells from left to right, row by row
 *	...
 *	return text_table_print(&table, out);	frees it
 *
 * Lack of memory is kept, and text_table_print returns it.
 */
#pragma once

#include "base/err.h"
#include "base/vec.h"
#include "report/out.h"

struct table {
	unsigned columns;
	/*
	 * "SIZE", or ">SIZE" for a column that is aligned to the right. With a '?' before it, the
	 * column is optional: it is left out on a terminal that is too narrow for all, and a line
	 * below the table says so. The first and the last column are not optional.
	 */
	const char *const *titles;
	VEC(char *) cells;
	/* as the first rows that were printed have set them; NULL: none were printed */
	size_t *widths;
	struct err *err;
};

void text_table_init(struct table *table, unsigned columns, const char *const *titles);
/* The cell is shown in one line, whatever is in it (base/outside.h). */
void text_table_cell(struct table *table, const char *fmt, ...) PRINTF(2, 3);
void text_table_outside(struct table *table, struct outside text);
/*
 * Print the rows so far, and forget them; with the first ones the heading, and they decide how wide
 * the columns are. For tables of very many rows. text_table_print must follow.
 */
struct err *text_table_flush(struct table *table, struct out *out) MUST_CHECK;
struct err *text_table_print(struct table *table, struct out *out) MUST_CHECK;
