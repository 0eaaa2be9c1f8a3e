/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of any answer as a table of text. */

#include "report/rows_text.h"

#include "answer/stack_names.h"
#include "base/cancel.h"
#include "base/cleanup.h"
#include "heap/block.h"
#include "report/progress.h"
#include "report/text_table.h"

#define PIECE	1000u	/* rows that are kept, and decide how wide the columns are */

static void add_change(struct table *table, const struct out *out, int64_t change)
{
	uint64_t bytes = change < 0 ? -(uint64_t)change : (uint64_t)change;

	text_table_cell(table, "%s%s", change < 0 ? "-" : "+", number_text_size(out, bytes).at);
}

static void add_heap(struct table *table, uint16_t heap)
{
	const char *name = block_heap_name(heap);

	if (name)
		text_table_cell(table, "%s", name);
	else
		text_table_cell(table, "%u", heap);
}

static void add_function(struct table *table, struct stack_names *names, uint32_t stack)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = stack_names_headline(names, stack, &text);

	text_table_cell(table, "%s", text.len ? str_text(&text) : "-");
	if (err && !table->err)
		table->err = err;
}

static void add_cell(struct table *table, const struct column *column, const void *row,
		     struct stack_names *names, const struct out *out)
{
	const struct column_value is = column_get(column, row);
	char text[32];

	if (!is.known) {
		text_table_cell(table, "-");
		return;
	}
	switch (column->kind) {
	case COLUMN_BYTES:
		text_table_cell(table, "%s", number_text_size(out, is.number).at);
		break;
	case COLUMN_CHANGE:
		add_change(table, out, (int64_t)is.number);
		break;
	case COLUMN_AGE:
		number_text_duration(text, sizeof(text), is.number);
		text_table_cell(table, "%s", text);
		break;
	case COLUMN_TIME:
		number_text_time(text, sizeof(text), is.number);
		text_table_cell(table, "%s", text);
		break;
	case COLUMN_REAL:
		text_table_cell(table, "%.1f", is.real);
		break;
	case COLUMN_ADDRESS:
		text_table_cell(table, PRI_ADDRESS, is.number);
		break;
	case COLUMN_HEAP:
		add_heap(table, (uint16_t)is.number);
		break;
	case COLUMN_TEXT:
		text_table_cell(table, "%s", is.text);
		break;
	case COLUMN_STACK:
		add_function(table, names, (uint32_t)is.number);
		break;
	default:
		text_table_cell(table, "%" PRIu64, is.number);
		break;
	}
}

static struct err *print(struct answer *rows, const struct column *const *columns,
			 struct stack_names *names, struct table *table, struct out *out)
{
	const void *row;
	struct err *err = answer_next(rows, &row), *end_err;

	for (uint64_t nr = 1; !err && row && !out_done(out); nr++) {
		for (unsigned i = 0; i < table->columns; i++)
			add_cell(table, columns[i], row, names, out);
		if (nr % PIECE == 0) {
			err = text_table_flush(table, out);
			progress_step("listing", nr, rows->nr);
		}
		if (!err)
			err = cancel_check();
		if (!err)
			err = answer_next(rows, &row);
	}
	end_err = text_table_print(table, out);
	return err ? err : end_err;
}

struct err *rows_text_print(struct answer *rows, struct stack_names *names, struct out *out)
{
	size_t nr = rows->of->nr;
	AUTO_FREE const struct column **columns = calloc(nr, sizeof(*columns));
	AUTO_FREE const char **titles = calloc(nr, sizeof(*titles));
	struct err *err = columns && titles ? NULL : err_nomem;
	struct table table;
	unsigned used = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		const struct column *column = &rows->of->columns[i];

		if (!column->title || !(column->flags & COLUMN_BRIEF))
			continue;
		columns[used] = column;
		titles[used++] = column->title;
	}
	if (!err) {
		text_table_init(&table, used, titles);
		err = print(rows, columns, names, &table, out);
	}
	answer_free(rows);
	return err;
}
