/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export csv: a heading, then a line for each site (RFC 4180, with Unix line ends). The stack is one
 * field, in the form of a folded line.
 */

#include <inttypes.h>

#include "base/path.h"
#include "export/figure.h"
#include "export/file.h"
#include "export/format_list.h"
#include "export/model.h"
#include "export/text.h"

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
	export_file_text(file, *text && strchr("=+-@", *text) ? ",\"'" : ",\"");
}

static void write_text(struct export_file *file, const char *text)
{
	begin_text(file, text);
	write_quoted(file, text, "");
	export_file_text(file, "\"");
}

static void write_heading(struct export_file *file)
{
	const struct site_field *field;
	size_t at = 0;

	while ((field = figure_next(&at)))
		export_file_f(file, "%s,", field->key);
	export_file_text(file, "sample,function,module,file,line,end,stack\n");
}

static void write_figures(const struct model *model, const struct model_site *site,
			  struct export_file *file)
{
	const struct site_field *field;
	size_t at = 0;

	while ((field = figure_next(&at))) {
		struct figure figure = figure_get(model, site, field);

		if (figure.known && figure.is_real)
			export_file_f(file, "%.6f", figure.real);
		else if (figure.known)
			export_file_f(file, "%" PRId64, figure.number);
		export_file_text(file, ",");
	}
	export_file_number(file, model->sample);
}

static void write_stack(const struct model_stack *stack, struct export_file *file)
{
	begin_text(file, stack->vec.at[stack->vec.nr - 1].frame->name);
	for (size_t i = stack->vec.nr; i-- > 0;) {
		write_quoted(file, stack->vec.at[i].frame->name, ";");
		export_file_text(file, i ? ";" : "\"");
	}
	export_file_text(file, "\n");
}

static struct err *write_site(const struct model *model, const struct model_site *site,
			      struct model_stack *stack, struct export_file *file)
{
	struct err *err = model_stack_get(model, site, stack);
	const struct model_step *own;
	uint32_t module;

	if (err)
		return err;
	own = model_stack_own(stack);
	module = own->location->module;
	write_figures(model, site, file);
	write_text(file, own->frame->name);
	write_text(file, module == MODEL_NO_MODULE ? "" :
			 path_base(model->modules.at[module].path));
	write_text(file, own->frame->file ? own->frame->file : "");
	export_file_text(file, ",");
	if (own->frame->line)
		export_file_number(file, (uint64_t)own->frame->line);
	write_text(file, site->end ? site->end : "");
	write_stack(stack, file);
	return export_file_check(file);
}

static struct err *write_csv(const struct model *model, struct export_file *file)
{
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;

	write_heading(file);
	for (size_t i = 0; !err && i < model->held; i++)
		err = write_site(model, &model->sites.at[i], &stack, file);
	vec_free(&stack.vec);
	return err;
}

const struct export_format export_csv = {
	.name	= "csv",
	.brief	= "a heading, then a line a site, for spreadsheets",
	.write	= write_csv,
};
