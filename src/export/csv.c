/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export csv: a heading, then a line for each site, or each row of another answer (RFC 4180, with Unix
 * line ends). The stack is one field, in the form of a folded line.
 */

#include <inttypes.h>

#include "base/path.h"
#include "export/export_file.h"
#include "export/export_rows.h"
#include "export/format_list.h"
#include "export/model.h"
#include "export/text.h"
#include "heap/block.h"

/* Write the inside of a quoted field: quotes in it are doubled. */
static void write_quoted(struct export_file *file, const char *text, const char *separators)
{
	const char *quote;

	while ((quote = strchr(text, '"'))) {
		AUTO_STR struct str part = STR_INIT;
		struct err *err = str_add_bytes(&part, text, (size_t)(quote - text));

		if (err)
			export_file_fail(file, err);
		text_write(file, str_text(&part), separators, ':');
		export_file_text(file, "\"\"");
		text = quote + 1;
	}
	text_write(file, text, separators, ':');
}

/*
 * Begin a field that has text of the target. A spreadsheet takes a field that begins with one of
 * these characters for a formula, and would compute what the target has written.
 */
static void begin_text(struct export_file *file, const char *text)
{
	export_file_text(file, *text && strchr("=+-@", *text) ? "\"'" : "\"");
}

static void write_text(struct export_file *file, const char *text)
{
	begin_text(file, text);
	write_quoted(file, text, "");
	export_file_text(file, "\"");
}

static void write_field(struct export_file *file, const char *text)
{
	export_file_text(file, ",");
	write_text(file, text);
}

static void write_heading(const struct export_rows *rows, struct export_file *file)
{
	const struct column *column;
	const char *before = "";
	size_t at = 0;

	while ((column = export_rows_column(rows, &at))) {
		export_file_f(file, "%s%s", before, column->key);
		before = ",";
	}
	if (rows->stack)
		export_file_text(file, rows->named ? ",sample,module,file,line,end,stack" :
						     ",sample,function,module,file,line,end,stack");
	export_file_text(file, "\n");
}

static void write_value(const struct column *column, const void *row, struct export_file *file)
{
	const struct column_value is = column_get(column, row);
	const char *heap;

	if (!is.known)
		return;
	switch (column->kind) {
	case COLUMN_TEXT:
		write_text(file, is.text);
		break;
	case COLUMN_ADDRESS:
		export_file_f(file, "0x%" PRIx64, is.number);
		break;
	case COLUMN_HEAP:
		heap = block_heap_name((uint16_t)is.number);
		export_file_f(file, heap ? "%s" : "%.0s%u", heap ? heap : "", (unsigned)is.number);
		break;
	default:
		if (column_is_real(column))
			export_file_f(file, "%.6f", is.real);
		else
			export_file_f(file, "%" PRId64, (int64_t)is.number);
	}
}

static void write_stack(const struct model_stack *stack, struct export_file *file)
{
	export_file_text(file, ",");
	begin_text(file, stack->vec.at[stack->vec.nr - 1].frame->name);
	for (size_t i = stack->vec.nr; i-- > 0;) {
		write_quoted(file, stack->vec.at[i].frame->name, ";");
		export_file_text(file, i ? ";" : "\"");
	}
	export_file_text(file, "\n");
}

/* The fields of a stack that is not there are empty. */
static struct err *write_frames(const struct export_rows *rows, const struct model_site *site,
				struct model_stack *stack, struct export_file *file)
{
	const struct model *model = rows->model;
	const struct model_step *own;
	struct err *err;
	uint32_t module;

	export_file_text(file, ",");
	export_file_number(file, model->sample);
	if (!site) {
		export_file_text(file, rows->named ? ",,,,,\n" : ",,,,,,\n");
		return NULL;
	}
	err = model_stack_get(model, site, stack);
	if (err)
		return err;
	own = model_stack_own(model, stack);
	module = own->location->module;
	if (!rows->named)
		write_field(file, own->frame->name);
	write_field(file, module == MODEL_NO_MODULE ? "" :
			  path_base(model->modules.at[module].path));
	write_field(file, own->frame->file ? own->frame->file : "");
	export_file_text(file, ",");
	if (own->frame->line)
		export_file_number(file, (uint64_t)own->frame->line);
	write_field(file, site->end ? site->end : "");
	write_stack(stack, file);
	return NULL;
}

static struct err *write_row(const struct export_rows *rows, const void *row,
			     const struct model_site *site, struct model_stack *stack,
			     struct export_file *file)
{
	const struct column *column;
	struct err *err = NULL;
	size_t at = 0;

	for (bool first = true; (column = export_rows_column(rows, &at)); first = false) {
		if (!first)
			export_file_text(file, ",");
		write_value(column, row, file);
	}
	if (rows->stack)
		err = write_frames(rows, site, stack, file);
	else
		export_file_text(file, "\n");
	return err ? err : export_file_check(file);
}

static struct err *write_csv(struct export_rows *rows, struct export_file *file)
{
	struct model_stack stack = { VEC_INIT };
	const struct model_site *site;
	const void *row;
	struct err *err = export_rows_next(rows, &row, &site);

	write_heading(rows, file);
	while (!err && row) {
		err = write_row(rows, row, site, &stack, file);
		if (!err)
			err = export_rows_next(rows, &row, &site);
	}
	vec_free(&stack.vec);
	return err;
}

const struct export_format export_csv = {
	.name	= "csv",
	.brief	= "a heading, then a line a row, for spreadsheets",
	.rows	= write_csv,
};
