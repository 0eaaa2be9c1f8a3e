/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of any answer as a table of text, a line a row: -brief. */
#pragma once

#include "answer/answer.h"

struct out;
struct stack_names;

/*
 * Print the columns that have a title and COLUMN_BRIEF. There may be millions of rows. names, for
 * rows with a column of a stack, which is shown by its function; it may be NULL otherwise. Frees
 * the rows.
 */
struct err *rows_text_print(struct answer *rows, struct stack_names *names,
			    struct out *out) MUST_CHECK;
