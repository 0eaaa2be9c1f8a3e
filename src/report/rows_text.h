/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rows of any answer as a table of text, a line a row: -brief. */
#pragma once

#include "answer/answer.h"

struct out;

/*
 * Print the columns that have a title and one of these flags (0: all that have a title). There may be
 * millions of rows. Frees them.
 */
struct err *rows_print(struct answer *rows, unsigned flags, struct out *out) MUST_CHECK;
