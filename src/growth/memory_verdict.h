/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Says in one sentence which memory of a process grows, by two looks at it.
 *
 * A kind grows by its resident and swapped bytes. What is mapped and not touched yet is asked for
 * only if nothing else grows. Growth below the limit of memory_verdict_least is noise: pages that
 * a program touches now and then.
 *
 * If the heap grows, the log decides about it. The bytes that blocks hold have grown as well: it is
 * in use. The heap was extended, and blocks hold no more than before: what was in use at some time
 * is free, and malloc keeps it. The heap was not extended: memory that it had already is written to
 * for the first time.
 *
 * A heap that does not grow may still keep much of a burst. It is said to do so only if blocks
 * once held more (the peak of the history) and the heap is larger than what blocks hold now and
 * what the process had in memory when recording began, which blocks of that time may hold.
 *
 * Where heap, mapped and anonymous memory cannot be told apart for certain (another allocator than
 * glibc's, or a heap that changes all the time), they count as one: it is in use if blocks hold as
 * much more, and else it is not known whose it is.
 *
 * There is no guess: without a second look that has the kinds, only what the history of the log
 * proves is said.
 */
#pragma once

#include "growth/memory_use.h"

enum memory_verdict_kind {
	MEMORY_SECOND_LOOK,	/* it takes one more to know */
	MEMORY_NOTHING_GROWS,
	MEMORY_HEAP_GROWS,	/* in use */
	MEMORY_HEAP_FREE,	/* free, but kept */
	MEMORY_HEAP_TOUCHED,	/* it is not larger, but more of it is in memory */
	MEMORY_HEAP_UNCLEAR,	/* the log does not say whether it is in use */
	MEMORY_KIND_GROWS,	/* another kind */
};

/* What the history of the log knows, from samples that have no kinds. All 0: nothing. */
struct memory_past {
	uint64_t first_rss, first_held;	/* of its first sample */
	uint64_t peak_held;		/* the most that blocks have held */
	bool known;
};

struct memory_verdict {
	enum memory_verdict_kind kind;
	enum memory_kind which;		/* of MEMORY_KIND_GROWS */
	uint64_t bytes;			/* by how much it has grown, or how much is free */
	uint64_t ns;			/* between the two looks; 0: there was one */
	char text[288];			/* a sentence, without a full stop */
	char ask[64];			/* the command to type next */
};

/* before: NULL if there is none. past: NULL if there is none. */
void memory_verdict(const struct memory_look *before, const struct memory_look *now,
		    const struct memory_past *past, struct memory_verdict *ret);
/* How many bytes a process of this size must have grown by. */
uint64_t memory_verdict_least(uint64_t resident);
