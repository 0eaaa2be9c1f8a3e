/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: memory of roots and of blocks, in pieces (reach_private.h). */

#include "heap/reach/reach_private.h"

#include <string.h>

#define NEAR	2048u	/* bytes that are read needlessly rather than reading twice */

static struct err *peek_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
			     size_t *len_ret)
{
	const struct marker *marker = ((struct peek *)memory)->marker;

	if (addr < marker->scan.start || addr >= marker->scan.end || len > marker->scan.end - addr)
		return memory_read_some(marker->source->memory, addr, buf, len, len_ret);
	memcpy(buf, (const uint8_t *)marker->scan.buffer + (addr - marker->scan.start), len);
	*len_ret = len;
	return NULL;
}

struct memory *reach_read_peek(struct marker *marker)
{
	marker->peek = (struct peek){ { .read = peek_read }, marker };
	return &marker->peek.memory;
}

static void scan_buffered(struct marker *marker, uint64_t start, uint64_t end)
{
	size_t nr;
	const uint64_t *word = scan_words(&marker->scan, start, end, &start, &nr);

	reach_words(marker, word, nr);
}

static struct err *scan_gap(struct marker *marker, uint64_t start, uint64_t end)
{
	size_t nr;
	const uint64_t *word;

	marker->ret->root_bytes += end - start;
	word = scan_words(&marker->scan, start, end, &start, &nr);
	if (marker->collecting)
		return reach_stacks_collect(marker, start, word, nr, false);
	reach_words(marker, word, nr);
	return NULL;
}

static struct err *scan_gaps(void *ctx, uint64_t start, uint64_t end)
{
	struct marker *marker = ctx;
	struct extent_at next = extents_from(&marker->extents, start);
	struct extent extent;
	struct err *err = NULL;

	while (start < end && !err) {
		bool any = extents_next(&marker->extents, &next, &extent);
		uint64_t stop = any ? MIN(extent.start, end) : end;

		if (start < stop)
			err = scan_gap(marker, start, stop);
		start = any ? extent.end : end;
	}
	return err;
}

struct err *reach_read_gaps(struct marker *marker, uint64_t start, uint64_t end,
			    struct reach_unread *unread)
{
	return scan_range(&marker->scan, start, end, unread, scan_gaps);
}

/* A block that others lie inside of is scanned between them. */
static struct err *scan_inside(void *ctx, uint64_t start, uint64_t end)
{
	struct marker *marker = ctx;
	struct extent_at next;
	struct extent extent;

	if (!marker->extents.user.runs.nr || marker_at(marker, marker->origin)->user) {
		scan_buffered(marker, start, end);
		return NULL;
	}
	next = extents_from(&marker->extents, start);
	while (extents_next(&marker->extents, &next, &extent) && extent.start < end)
		if (extent.block == marker->origin)
			scan_buffered(marker, extent.start, MIN(extent.end, end));
	return NULL;
}

static bool will_be_scanned(const struct marker *marker, uint32_t block)
{
	return marker->gathering || marker_at(marker, block)->pending ||
	       (marker->strength == LOST && marker_at(marker, block)->state == UNREACHED);
}

/*
 * Fill the buffer with block i, up to end, and neighbours behind it that are to be scanned as well:
 * unless that is known to fail, or else the same neighbours would be looked at for each block in
 * vain.
 */
static struct err *fill_from(struct marker *marker, uint32_t i, uint64_t end)
{
	uint64_t start = ALIGN_DOWN((uint64_t)marker_at(marker, i)->address, 8ull), got;
	struct reach_range mapped = scan_next_mapped(marker->source, start);
	struct err *err;

	if (mapped.start > start || mapped.end < end || scan_is_hole(&marker->scan, start) ||
	    marker->unasked < end - start)
		return NULL;
	for (uint32_t next = i + 1; next < marker->list->nr; next++) {
		uint64_t next_start = marker_at(marker, next)->address;
		uint64_t next_end = extents_end(&marker->extents, next);

		if (next_start < end || next_start > end + NEAR || next_end > mapped.end ||
		    next_end - start > SCAN_BUFFER)
			break;
		if (will_be_scanned(marker, next))
			end = next_end;
	}
	err = scan_fill(&marker->scan, start, end, &got);
	marker->unasked -= MIN(marker->unasked, got);
	return err;
}

static bool is_buffered(const struct marker *marker, uint64_t start, uint64_t end)
{
	return ALIGN_DOWN(start, 8ull) >= marker->scan.start && end <= marker->scan.end;
}

struct err *reach_read_block(struct marker *marker, uint32_t block, uint64_t end)
{
	uint64_t start = marker_at(marker, block)->address;
	struct reach_unread again = { .bytes = 0 };
	struct err *err = NULL;

	marker->origin = block;
	if (end - start < 8)
		return NULL;
	if (end - start <= REACH_WIDE && !is_buffered(marker, start, end))
		err = fill_from(marker, block, end);
	if (err)
		return err;
	if (is_buffered(marker, start, end))
		return scan_inside(marker, start, end);
	/* Once is enough to say that it cannot be read. */
	err = scan_range(&marker->scan, start, end,
			 marker_at(marker, block)->noted ? &again : &marker->ret->unread_blocks,
			 scan_inside);
	marker_at(marker, block)->noted = true;
	return err;
}
