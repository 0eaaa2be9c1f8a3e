/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words that may be pointers (word_scan.h). */

#include "heap/reach/word_scan.h"

#define NEAR	2048u		/* between blocks that are read at once; less than a page */

struct err *word_scan_begin(struct word_scan *scan)
{
	return scan_init(&scan->scan, scan->source, scan);
}

void word_scan_free(struct word_scan *scan)
{
	scan_free(&scan->scan);
}

struct err *word_scan_alone(struct word_scan *scan, size_t from, size_t to)
{
	const struct word_piece piece = { WORD_ALONE, from, WORD_NO_BLOCK };

	return from == to ? NULL :
			    scan->look(scan->ctx, scan->source->word + from, to - from, &piece);
}

static struct err *look_buffered(struct word_scan *scan, uint64_t start, uint64_t end,
				 uint32_t block)
{
	struct word_piece piece = { scan->in, 0, block };
	size_t nr;
	const uint64_t *word = scan_words(&scan->scan, start, end, &piece.place, &nr);

	return scan->look(scan->ctx, word, nr, &piece);
}

static bool is_wanted(const struct word_scan *scan, uint32_t block)
{
	return !scan->apart || packed_at(scan->source->list, block)->user == scan->user;
}

/* Scan the parts of [start, end) that are in blocks, if those are scanned now; else all others. */
static struct err *scan_part(void *ctx, uint64_t start, uint64_t end)
{
	struct word_scan *scan = ctx;
	bool blocks = scan->in == WORD_BLOCK;
	struct extent_at next = extents_from(scan->extents, start);
	struct extent extent;
	struct err *err = NULL;

	while (start < end && !err) {
		bool any = extents_next(scan->extents, &next, &extent);
		uint64_t from = any ? MIN(extent.start, end) : end;
		uint64_t to = any ? MIN(extent.end, end) : end;

		if (!blocks && start < from)
			err = look_buffered(scan, start, from, WORD_NO_BLOCK);
		if (blocks && from < to && is_wanted(scan, extent.block))
			err = look_buffered(scan, from, to, extent.block);
		start = to;
	}
	return err;
}

struct err *word_scan_ranges(struct word_scan *scan, const struct reach_range *range, size_t nr,
			     enum word_in in)
{
	struct err *err = NULL;

	scan->in = in;
	for (size_t i = 0; i < nr && !err; i++)
		err = scan_range(&scan->scan, range[i].start, range[i].end, &scan->unread_roots,
				 scan_part);
	return err;
}

/* Neighbours are read at once: what is between two is on the pages of one of them. */
struct err *word_scan_blocks(struct word_scan *scan)
{
	const struct extents *extents = scan->extents;
	struct extent_at at = extents_from(extents, 0);
	struct extent extent;
	bool any = extents_next(extents, &at, &extent);
	struct err *err = NULL;

	scan->in = WORD_BLOCK;
	while (any && !err) {
		uint64_t start = extent.start, end = extent.end;

		for (any = extents_next(extents, &at, &extent);
		     any && extent.start <= end + NEAR && extent.start - start < SCAN_BUFFER;
		     any = extents_next(extents, &at, &extent))
			end = extent.end;
		err = scan_range(&scan->scan, start, end, &scan->unread_blocks, scan_part);
	}
	return err;
}

struct err *word_scan_blocks_apart(struct word_scan *scan)
{
	struct reach_unread unread;
	struct err *err;

	scan->apart = scan->source->list->nr_outer < scan->source->list->nr;
	scan->user = false;
	err = word_scan_blocks(scan);
	if (err || !scan->apart)
		return err;
	unread = scan->unread_blocks;	/* what cannot be read is the same again */
	scan->user = true;
	err = word_scan_blocks(scan);
	scan->unread_blocks = unread;
	return err;
}
