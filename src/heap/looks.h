/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the looks at a target's heaps so far say of its blocks that are in no record.
 *
 * One that is in the hands of a thread inside the allocator was allocated before the attach, or is
 * being given out just now, with its record still to come: it is left out of the look (walk_merge).
 * The target is let go on for a moment then, and looked at again (session/heap.c). Of a later look the
 * ones before tell
 *
 *	sure	it was listed at some look: it stays, though a clue comes near it
 *	seen	it was there, listed or left out, at each look: it may be from before the attach.
 *		Anything else that is left out was given out since, and is no loss
 */
#ifndef HEAP_LOOKS_H
#define HEAP_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/word_list.h"

struct addresses;
struct heap_walk;
struct log;

struct looks {
	struct word_list sure;		/* sorted */
	struct word_list seen;		/* but those at a torn heap; sorted */
	bool any;			/* there was a look at a heap that was not torn */
	uint64_t unknown_frees;		/* up to the last look */
};

void looks_free(struct looks *looks);
/*
 * Before a look. Once one of those that no record knows was freed it may be any of them, and be given
 * out anew: then nothing is sure. log: NULL if there is none. complete: as in struct walk_merge.
 */
void looks_drop_freed(struct looks *looks, const struct log *log, bool complete);
/* After it, if there is to be another: walk has the notes of walk_merge, which left these out. */
struct err *looks_keep(struct looks *looks, const struct heap_walk *walk,
		       const struct addresses *left_out) MUST_CHECK;
/* How many of those that a look left out may be from before the attach. */
uint64_t looks_unsure(const struct looks *looks, const struct addresses *left_out);

#endif
