/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: memory of roots and of blocks, in pieces (mark_private.h). */

#include "base/page.h"
#include "heap/mark_private.h"

#include <string.h>

#include "base/cancel.h"

#define NEAR	2048u	/* what is read for nothing, rather than to read twice */

static struct err *peek_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
			     size_t *len_ret)
{
	const struct marker *marker = ((struct peek *)memory)->marker;

	if (addr < marker->start || addr >= marker->end || len > marker->end - addr)
		return memory_read_some(marker->source->memory, addr, buf, len, len_ret);
	memcpy(buf, (const uint8_t *)marker->buffer + (addr - marker->start), len);
	*len_ret = len;
	return NULL;
}

struct memory *marker_peek(struct marker *marker)
{
	marker->peek = (struct peek){ { peek_read }, marker };
	return &marker->peek.memory;
}

/* Words of [start, end), which is in the buffer but for what is no whole word. */
static void scan_buffered(struct marker *marker, uint64_t start, uint64_t end)
{
	start = ALIGN_UP(start, 8ull);
	end = ALIGN_DOWN(end, 8ull);
	if (start < end)
		marker_words(marker, marker->buffer + (start - marker->start) / 8, (end - start) / 8);
}

static bool is_hole(const struct marker *marker, uint64_t address)
{
	return address - marker->hole.start < marker->hole.end - marker->hole.start;
}

/* From start on, a multiple of 8; *got_ret may be less than asked for, and 0. */
static struct err *fill(struct marker *marker, uint64_t start, uint64_t end, uint64_t *got_ret)
{
	size_t got = 0;
	struct err *err;

	*got_ret = 0;
	if (is_hole(marker, start))
		return NULL;
	err = memory_read_some(marker->source->memory, start, marker->buffer,
			       (size_t)(end - start), &got);
	if (err && err->code != ERR_MEMORY)
		return err;
	*got_ret = err ? 0 : got;
	marker->start = start;
	marker->end = start + *got_ret;
	if (marker->end < end)
		marker->hole = (struct mark_range){ marker->end,
						    ALIGN_DOWN(marker->end, PAGE) + PAGE };
	return NULL;
}

typedef void scan_fn(struct marker *marker, uint64_t start, uint64_t end);

/* From `at` on, which is mapped. */
static struct err *scan_mapped(struct marker *marker, uint64_t at, uint64_t end,
			       struct mark_ranges *unread, scan_fn *scan)
{
	struct err *err = NULL;

	while (!err && at < end) {
		uint64_t from = ALIGN_DOWN(at, 8ull), to = MIN(end, from + MARK_BUFFER), got;

		err = fill(marker, from, to, &got);
		if (!err && from + got > at)
			scan(marker, at, from + got);
		at = MAX(at, from + got);
		if (!err && at < to) {
			to = mark_behind_hole(unread, at, end);
			err = mark_ranges_note(unread, at, to);
			at = to;
		}
		if (!err)
			err = cancel_check();
	}
	return err;
}

/* Scan what is worth it of [start, end) piece by piece, by `scan`. What is in no mapping takes no system call. */
static struct err *scan_pieces(struct marker *marker, uint64_t start, uint64_t end,
			       struct mark_ranges *unread, scan_fn *scan)
{
	const struct mark_source *source = marker->source;
	struct mark_range part = { start, end };
	struct err *err = NULL;

	while (!err && start < end) {
		if (source->next_present && !source->next_present(source->ctx, start, end, &part))
			break;
		for (start = part.start; !err && start < part.end;) {
			struct mark_range mapped = mark_next_mapped(source, start);
			uint64_t from = MIN(mapped.start, part.end), to = MIN(mapped.end, part.end);

			if (start < from)
				err = mark_ranges_note(unread, start, from);
			if (!err && from < to)
				err = scan_mapped(marker, from, to, unread, scan);
			start = to;
		}
		start = part.end;
	}
	return err;
}

static void scan_gaps(struct marker *marker, uint64_t start, uint64_t end)
{
	struct extent_at next = extents_from(&marker->extents, start);
	struct extent extent;

	while (start < end) {
		bool any = extents_next(&marker->extents, &next, &extent);
		uint64_t stop = any ? MIN(extent.start, end) : end;

		if (start < stop) {
			scan_buffered(marker, start, stop);
			marker->ret->root_bytes += stop - start;
		}
		start = any ? extent.end : end;
	}
}

struct err *marker_read_gaps(struct marker *marker, uint64_t start, uint64_t end,
			     struct mark_ranges *unread)
{
	return scan_pieces(marker, start, end, unread, scan_gaps);
}

/* A block that others lie inside of is scanned between them. */
static void scan_inside(struct marker *marker, uint64_t start, uint64_t end)
{
	struct extent_at next;
	struct extent extent;

	if (!marker->extents.user.runs.nr || marker_at(marker, marker->origin)->user) {
		scan_buffered(marker, start, end);
		return;
	}
	next = extents_from(&marker->extents, start);
	while (extents_next(&marker->extents, &next, &extent) && extent.start < end)
		if (extent.block == marker->origin)
			scan_buffered(marker, extent.start, MIN(extent.end, end));
}

static bool will_be_scanned(const struct marker *marker, uint32_t block)
{
	return marker->gathering || marker_at(marker, block)->pending ||
	       (marker->strength == LOST && marker_at(marker, block)->state == UNREACHED);
}

/*
 * Fill the buffer with block i, up to end, and neighbours behind it that are to be scanned as well: unless that
 * is known to fail, or else the same neighbours would be looked at for each block in vain.
 */
static struct err *fill_from(struct marker *marker, uint32_t i, uint64_t end)
{
	uint64_t start = ALIGN_DOWN((uint64_t)marker_at(marker, i)->address, 8ull), got;
	struct mark_range mapped = mark_next_mapped(marker->source, start);

	if (mapped.start > start || mapped.end < end || is_hole(marker, start))
		return NULL;
	for (uint32_t next = i + 1; next < marker->list->nr; next++) {
		uint64_t next_start = marker_at(marker, next)->address;
		uint64_t next_end = extents_end(&marker->extents, next);

		if (next_start < end || next_start > end + NEAR || next_end > mapped.end ||
		    next_end - start > MARK_BUFFER)
			break;
		if (will_be_scanned(marker, next))
			end = next_end;
	}
	return fill(marker, start, end, &got);
}

static bool is_buffered(const struct marker *marker, uint64_t start, uint64_t end)
{
	return ALIGN_DOWN(start, 8ull) >= marker->start && end <= marker->end;
}

struct err *marker_read_block(struct marker *marker, uint32_t block, uint64_t end)
{
	uint64_t start = marker_at(marker, block)->address;
	struct mark_ranges again = { VEC_INIT };
	struct err *err = NULL;

	marker->origin = block;
	if (end - start < 8)
		return NULL;
	if (end - start <= MARK_WIDE && !is_buffered(marker, start, end))
		err = fill_from(marker, block, end);
	if (err)
		return err;
	if (is_buffered(marker, start, end)) {
		scan_inside(marker, start, end);
		return NULL;
	}
	/* Once is enough to say that it cannot be read. */
	err = scan_pieces(marker, start, end, marker_at(marker, block)->noted ? &again :
						      &marker->ret->unread_blocks, scan_inside);
	marker_at(marker, block)->noted = true;
	vec_free(&again.vec);
	return err;
}
