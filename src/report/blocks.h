/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of `malloc allocations`. */
#pragma once

#include "base/err.h"

struct list;
struct out;
struct session;
struct session_heap;

/*
 * All of the list, as it comes, what can be said of the walk that it comes from, and the line with
 * the sums of what was printed.
 */
struct err *blocks_print(struct session *session, struct list *list,
			 const struct session_heap *heap, struct out *out) MUST_CHECK;
/* Free chunks: the table of `malloc freespace`. */
struct err *chunks_print(struct list *list, const struct session_heap *heap,
			 struct out *out) MUST_CHECK;
/* A line for each thing that is not certain of the walk. */
void heap_notes_print(const struct session_heap *heap, struct out *out);
/* For how long the process was stopped for it; nothing if it was not. */
void heap_stood_print(const struct session_heap *heap, struct out *out);
