/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads all words in which the search for leaks (reach.h) would find a pointer: the same roots, the
 * same memory of blocks. Memory is read once, in order of address, whether it can be reached itself
 * or not. The caller looks at the words.
 */
#pragma once

#include "heap/extents.h"
#include "heap/reach/scan.h"

/* Where a word is. */
enum word_in { WORD_ALONE, WORD_ROOT, WORD_HEAP, WORD_BLOCK, WORD_STACK };

#define WORD_NO_BLOCK	UINT32_MAX

struct word_piece {
	enum word_in in;
	uint64_t place;		/* of the first word: its address; WORD_ALONE: its index in source.word */
	uint32_t block;		/* of WORD_BLOCK: the innermost one; else WORD_NO_BLOCK */
};

struct word_scan {
	const struct reach_source *source;
	const struct extents *extents;		/* of source->list */
	struct err *(*look)(void *ctx, const uint64_t *word, size_t nr,
			    const struct word_piece *piece);
	void *ctx;
	struct reach_unread unread_roots, unread_blocks;

	struct scan scan;
	enum word_in in;	/* what is scanned */
	bool apart, user;	/* of word_scan_blocks: only these blocks */
};

/* source, extents, look and ctx are set; all else is zeros. ERR_NOMEM */
struct err *word_scan_begin(struct word_scan *scan) MUST_CHECK;
void word_scan_free(struct word_scan *scan);

/* The words source.word[from..to). */
struct err *word_scan_alone(struct word_scan *scan, size_t from, size_t to) MUST_CHECK;
/* What of these ranges is in no block. ERR_CANCELLED, and errors of look. */
struct err *word_scan_ranges(struct word_scan *scan, const struct reach_range *range, size_t nr,
			     enum word_in in) MUST_CHECK;
/* The words of all blocks, in order of address; an outer block's may come in pieces. */
struct err *word_scan_blocks(struct word_scan *scan) MUST_CHECK;
/* The same block by block: first malloc's, then the user's own, which may lie inside of those. */
struct err *word_scan_blocks_apart(struct word_scan *scan) MUST_CHECK;
