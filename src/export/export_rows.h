/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rows for formats that have a column for each figure: the sites of a model, or the rows of any
 * other answer (answer/answer.h), with the stack of each. Columns with COLUMN_NOT_EXPORTED, and
 * those that are lists, are left out; a stack is written as its frames.
 */
#pragma once

#include "answer/answer.h"
#include "answer/site_rows.h"

struct model;
struct model_site;

struct export_rows {
	const struct relation *of;
	const struct model *model;
	struct answer *answer;		/* NULL: the sites of the model are the rows */
	size_t next;			/* of the sites */
	uint64_t given;			/* rows of the answer so far */
	struct site_row site;
	uint32_t *by_stack;		/* stack -> its site of the model, from 1; 0: it has none */
	size_t nr_stacks;
	const struct column *stack;	/* NULL: the rows have no stack */
	bool named;			/* a column says of each row which function it is named after */
};

/* answer may be NULL. A model whose answer has stacks must have all of them (MODEL_ALL_FREED). */
struct err *export_rows_init(struct export_rows *rows, const struct model *model,
			     struct answer *answer) MUST_CHECK;
void export_rows_free(struct export_rows *rows);
/* *row_ret is NULL at the end; *site_ret has the row's stack, or is NULL: it has none. */
struct err *export_rows_next(struct export_rows *rows, const void **row_ret,
			     const struct model_site **site_ret) MUST_CHECK;
/* Get the next column that is a value of its own, from *at on; NULL: there is none. */
const struct column *export_rows_column(const struct export_rows *rows, size_t *at);
/*
 * The figures of a site of the model: of what was there before the attach only what is held is
 * known.
 */
struct site_row export_rows_site(const struct model *model, const struct model_site *site);
