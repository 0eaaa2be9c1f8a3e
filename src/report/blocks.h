/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of `malloc allocations`. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct block_source;
struct list;
struct out;
struct session;
struct heaps;

/*
 * Print all blocks of the list in its order, what is uncertain about the walk that they come from,
 * and a line with the sums of the printed blocks. verbose adds the columns of -v.
 */
struct err *blocks_print(struct session *session, const struct block_source *source,
			 const struct heaps *heap, bool verbose, struct out *out) MUST_CHECK;
/* The same with a line for each block, which has its function. The source must have names. */
struct err *blocks_print_brief(struct session *session, const struct block_source *source,
			       const struct heaps *heap, struct out *out) MUST_CHECK;
/* Print the free chunks: the table of `malloc freespace`. */
struct err *chunks_print(struct list *list, const struct heaps *heap,
			 struct out *out) MUST_CHECK;
/* Print a line for each uncertainty of the walk. */
void blocks_print_heap_notes(const struct heaps *heap, struct out *out);
/* Print for how long the process was stopped for the walk; nothing if it was not stopped. */
void blocks_print_heap_stood(const struct heaps *heap, struct out *out);
