/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * export folded: a line `outermost;...;innermost BYTES` for each stack, as flamegraph.pl, speedscope
 * and others read it. Inlined functions are frames of their own. Changes have two numbers, the bytes
 * before and after, as difffolded.pl writes them for flamegraph.pl.
 */

#include "export/export_file.h"
#include "export/format_list.h"
#include "export/model.h"
#include "export/text.h"

static struct err *write_site(const struct model *model, const struct model_site *site,
			      struct model_stack *stack, struct export_file *file)
{
	struct err *err = model_stack_get(model, site, stack);

	for (size_t i = stack->vec.nr; !err && i-- > 0;) {
		text_write(file, stack->vec.at[i].frame->name, ";", ':');
		export_file_text(file, i ? ";" : " ");
	}
	if (model->changes) {
		export_file_number(file, site->from_bytes);
		export_file_text(file, " ");
	}
	export_file_number(file, site->from_bytes + site->figures.bytes);
	export_file_text(file, "\n");
	return err_first(err, export_file_check(file));
}

static struct err *write_folded(const struct model *model, struct export_file *file)
{
	struct model_stack stack = { VEC_INIT };
	struct err *err = NULL;

	for (size_t i = 0; !err && i < model->held; i++)
		err = write_site(model, &model->sites.at[i], &stack, file);
	vec_free(&stack.vec);
	return err;
}

const struct export_format export_folded = {
	.name	= "folded",
	.brief	= "a line a stack, for flamegraph.pl, speedscope and the like",
	.wants	= EXPORT_ANY | EXPORT_CHANGES,
	.write	= write_folded,
};
