/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows for formats that have a column for each figure (export_rows.h). */

#include "export/export_rows.h"

#include <stdlib.h>
#include <string.h>

#include "export/model.h"

static struct err *index_stacks(struct export_rows *rows)
{
	const struct model *model = rows->model;

	vec_each(site, &model->sites)
		rows->nr_stacks = MAX(rows->nr_stacks, (size_t)site->figures.stack + 1);
	rows->by_stack = calloc(rows->nr_stacks + 1, sizeof(*rows->by_stack));
	if (!rows->by_stack)
		return err_nomem;
	for (size_t i = 0; i < model->sites.nr; i++)
		if (model->sites.at[i].part != MODEL_EARLY)
			rows->by_stack[model->sites.at[i].figures.stack] = (uint32_t)i + 1;
	return NULL;
}

struct err *export_rows_init(struct export_rows *rows, const struct model *model,
			     struct answer *answer)
{
	*rows = (struct export_rows){ .of = answer ? answer->of : &site_relation, .model = model,
				      .answer = answer };
	for (size_t i = 0; i < rows->of->nr; i++) {
		const struct column *column = &rows->of->columns[i];

		if (column->kind == COLUMN_STACK)
			rows->stack = column;
		if (!strcmp(column->key, "function") && !(column->flags & COLUMN_NOT_EXPORTED))
			rows->named = true;
	}
	return rows->answer && rows->stack ? index_stacks(rows) : NULL;
}

void export_rows_free(struct export_rows *rows)
{
	free(rows->by_stack);
}

struct site_row export_rows_site(const struct model *model, const struct model_site *site)
{
	bool recorded = site->part != MODEL_EARLY;

	return (struct site_row){
		.site = site->figures,
		.over = (double)model->growth_ns / 1e9,
		.all_time = recorded && !model->past,
		.aged = site->figures.oldest && !model->past,
		.grown = recorded && model->growth_ns,
	};
}

static void next_site(struct export_rows *rows, const void **row_ret,
		      const struct model_site **site_ret)
{
	if (rows->next == rows->model->held)
		return;
	*site_ret = &rows->model->sites.at[rows->next++];
	rows->site = export_rows_site(rows->model, *site_ret);
	*row_ret = &rows->site;
}

struct err *export_rows_next(struct export_rows *rows, const void **row_ret,
			     const struct model_site **site_ret)
{
	struct err *err;
	uint64_t stack;

	*row_ret = NULL;
	*site_ret = NULL;
	if (!rows->answer) {
		next_site(rows, row_ret, site_ret);
		return NULL;
	}
	err = answer_next(rows->answer, row_ret);
	if (err || !*row_ret)
		return err;
	rows->given++;
	if (!rows->stack)
		return NULL;
	stack = column_get(rows->stack, *row_ret).number;
	if (stack && stack < rows->nr_stacks && rows->by_stack[stack])
		*site_ret = &rows->model->sites.at[rows->by_stack[stack] - 1];
	return NULL;
}

const struct column *export_rows_column(const struct export_rows *rows, size_t *at)
{
	while (*at < rows->of->nr) {
		const struct column *column = &rows->of->columns[(*at)++];

		if (!(column->flags & COLUMN_NOT_EXPORTED) && column->kind != COLUMN_STACK &&
		    column->kind != COLUMN_ROWS)
			return column;
	}
	return NULL;
}
