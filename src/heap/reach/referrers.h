/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds the pointers to a block. The search covers the places in which the search for leaks
 * (reach.h) would find one: the same roots, the same memory of blocks, with the same rules for
 * inner pointers. It reads all of them once, in order, whether they can be reached themselves or
 * not.
 *
 * A pointer to a block that lies inside of another one, of an allocator that the user has named, is
 * a pointer to both.
 */
#pragma once

#include "heap/reach/word_scan.h"

#define REFERRERS_NO_BLOCK	WORD_NO_BLOCK

struct referrer {
	uint64_t place;		/* address of the word; WORD_ALONE: its index in source.word */
	uint64_t word;		/* the pointer */
	uint32_t block;		/* WORD_BLOCK: which one the place is in, the innermost */
	uint8_t in;		/* enum word_in */
	bool firm;		/* to the start, or an inner pointer that keeps the block */
};

struct referrers_spec {
	/*
	 * Pointers to the innermost block that holds `address` are searched for; if no block does,
	 * to the one that holds `otherwise`.
	 */
	uint64_t address, otherwise;
	size_t limit;		/* how many are listed, of firm ones and of the others */
	/* Does this inner pointer keep the block reachable? NULL: none does. */
	bool (*is_firm)(void *ctx, const struct referrer *referrer);
	void *ctx;
};

struct referrers {
	uint32_t block;		/* index, or REFERRERS_NO_BLOCK, and nothing was searched */
	uint32_t outer;		/* the block around it, or REFERRERS_NO_BLOCK */
	VEC(struct referrer) firm, inner;	/* each by `in` and place; the first `limit` */
	uint64_t nr_firm, nr_inner;	/* of all */
	uint64_t own;		/* pointers that are in the block itself, and are not listed */
	/* These ranges could not be read: there may be more pointers. */
	struct reach_unread unread_roots, unread_blocks;
};

/* ERR_CANCELLED; ERR_NOMEM; ERR_RANGE: too many blocks. */
struct err *referrers_find(const struct reach_source *source, const struct referrers_spec *spec,
			   struct referrers *ret) MUST_CHECK;
void referrers_free(struct referrers *referrers);
