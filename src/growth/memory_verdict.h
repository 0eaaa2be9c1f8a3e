/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The judge: one sentence about which memory of a process grows, by two looks at it, or, if nothing
 * does, about what is there and could go, and the command that helps. `memory`, `memory watch` and
 * `report` have its words.
 *
 * Two looks. The largest change in bytes decides. A kind grows by its resident and swapped bytes.
 * Beside the kinds there is what no resident size shows: pages that were shared since a fork and are
 * copied, because one of both writes to them, and files that descriptors hold. What is mapped and not
 * touched yet is asked for only if nothing else grows. Growth below the limit of memory_verdict_least
 * is noise: pages that a program touches now and then. mdbg's own memory is never part of it.
 *
 * If the heap grows, the log decides about it. The bytes that blocks hold have grown as well: it is
 * in use. The heap was extended, and blocks hold no more than before: what was in use at some time
 * is free, and malloc keeps it. The heap was not extended: memory that it had already is written to
 * for the first time.
 *
 * Shared memory that grows here may have been in memory before: another process has made it, and this
 * one touches it. It is new only if its objects have more.
 *
 * Pages of mapped files are the kernel's to take again. They count from 1 MB on, or if they are
 * private copies.
 *
 * One look. The largest part that could go is named if it is a quarter of what is resident: free
 * memory of the heaps, and whether malloc_trim gives it back, what arenas keep at their ends, or what
 * live blocks on its pages keep; what was given back by MADV_FREE; files of descriptors.
 *
 * Where heap, mapped and anonymous memory cannot be told apart for certain (another allocator than
 * glibc's, or a heap that changes all the time), they count as one: it is in use if blocks hold as
 * much more, and else it is not known whose it is.
 *
 * There is no guess: without a second look that has the kinds, only what the history of the log
 * proves is said of growth.
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
	MEMORY_COPIED,		/* since a fork */
	MEMORY_SHARED_TOUCHED,	/* shared memory that was there before */
	MEMORY_GIVEN_BACK,	/* much of it is the kernel's to take */
	MEMORY_DESCRIPTORS,	/* files that descriptors hold: they grow, or are much */
};

struct memory_verdict {
	enum memory_verdict_kind kind;
	enum memory_kind which;		/* of MEMORY_KIND_GROWS */
	uint64_t bytes;			/* by how much it has grown, or how much is free */
	uint64_t gives;			/* what the command would give back, or MEMORY_UNKNOWN */
	uint64_t ns;			/* between the two looks; 0: there was one */
	char text[320];			/* a sentence, without a full stop */
	char ask[64];			/* the command to type next; "": none */
};

/* before: NULL if there is none. */
void memory_verdict(const struct memory_look *before, const struct memory_look *now,
		    struct memory_verdict *ret);
/* Would it say more if now->free was known? */
bool memory_verdict_wants_free(const struct memory_look *now, const struct memory_verdict *verdict);
/* How many bytes a process of this size must have grown by. */
uint64_t memory_verdict_least(uint64_t resident);
