/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the answer of `malloc diff`. */
#pragma once

#include "heap/difference.h"
#include "report/moment_text.h"

#define DIFF_INDENT	8	/* of the traceback */

struct out;
struct session;

/* Print "#1  +500 bytes in +5 blocks", for the rank 0. */
void diff_rank_print(size_t rank, int64_t bytes, int64_t count, struct out *out);
/* Print "2 sites changed; grown 500 bytes, shrunk 0 bytes". */
void diff_sums_print(size_t nr, uint64_t grown, uint64_t shrunk, struct out *out);

/*
 * Print the two moments, a paragraph for each stack that has changed, with its rank, and a line
 * with the sums.
 */
struct err *diff_print(struct session *session, const struct moment_name *from,
		       const struct moment_name *to, const struct difference *difference,
		       struct out *out) MUST_CHECK;
