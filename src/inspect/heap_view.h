/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A walk of the heaps of a view: what the view has is made the walk's source (heap/heap_walk.h).
 * It may be done again, of another view.
 */
#pragma once

#include "base/word_list.h"
#include "inspect/heaps.h"
#include "inspect/memory_view.h"

struct memory_limit;

struct heap_view {
	const struct memory_view *view;
	const struct memory_limit *own_memory;	/* what mdbg itself may take (walk_limit.h) */
	bool check;			/* the links of the bins, too */
	bool lists;			/* add up the free lists, too */
	struct heaps *ret;	/* gets the walk, and what is known of the heaps */
	struct word_list in_flight_words;	/* of the threads inside; sorted */

	VEC(struct heap_map) maps;
	VEC(struct heap_map) data;	/* of one libc behind another's */
	struct heap_libc libc[HEAP_LIBCS_MAX];
	size_t nr_libcs;
	struct word_list threads;
	VEC(struct heap_inside) inside;	/* their words are in ... */
	VEC(uint64_t) words;		/* ... this, one thread's behind another's */
	bool all_threads;
};

/* Any thread. ret->walk is empty before. ERR_UNSUPPORTED: no allocator that can be walked. */
struct err *heap_view_walk(struct heap_view *walk) MUST_CHECK;
void heap_view_free(struct heap_view *walk);
