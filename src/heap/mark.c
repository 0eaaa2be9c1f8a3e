/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conservative marking (theory in mark.h). */

#include "heap/mark.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "heap/heuristic.h"
#include "heap/extents.h"

#define BUFFER		(256u << 10)
#define WINDOW	1024u
#define NEAR		2048u		/* what is read for nothing, rather than to read twice */
#define BEFORE		16384u

enum state {
	UNREACHED, POSSIBLE, REACHABLE, DEFINITE, INDIRECT,
	STATE_MASK = 0x7f,
	PENDING = 0x80,
};

/* What the words that are scanned are worth. */
enum strength { FIRM, WEAK, LOST };

struct marker {
	const struct mark_source *source;
	struct mark_result *ret;
	struct extents extents;
	struct heuristic heuristic;
	uint8_t *state;			/* by block: enum state */
	uint32_t *pending;		/* by window: blocks whose first extent is in it */
	uint32_t *from;			/* by window: none of its extents before this one is pending */
	size_t nr_windows, lowest;	/* none is pending in windows before lowest */
	size_t nr_pending;
	enum strength strength;
	uint32_t clique;		/* LOST: the block by which all is found */
	uint64_t *buffer;
	uint64_t start, end;		/* what is in the buffer */
};

static enum state state_of(const struct marker *marker, uint32_t block)
{
	return marker->state[block] & STATE_MASK;
}

static void set_pending(struct marker *marker, uint32_t block, enum state state)
{
	uint32_t extent = marker->extents.first[block];
	size_t window = extent / WINDOW;
	bool was = marker->state[block] & PENDING;

	marker->state[block] = (uint8_t)(state | (extent == EXTENT_NONE ? 0 : PENDING));
	if (was || extent == EXTENT_NONE)
		return;
	marker->pending[window]++;
	marker->nr_pending++;
	marker->lowest = MIN(marker->lowest, window);
	marker->from[window] = MIN(marker->from[window], extent);
}

static void lose(struct marker *marker, uint32_t block)
{
	enum state state = state_of(marker, block);

	if (block == marker->clique)
		return;
	if (state == UNREACHED)
		set_pending(marker, block, INDIRECT);
	else if (state == DEFINITE)
		marker->state[block] = INDIRECT;	/* all behind it is lost already */
	else
		return;
	marker->ret->leader[block] = marker->clique;
}

static void reach(struct marker *marker, uint32_t block, bool strong)
{
	enum state to = strong && marker->strength == FIRM ? REACHABLE : POSSIBLE;

	if (marker->strength == LOST)
		lose(marker, block);
	else if (state_of(marker, block) < to)
		set_pending(marker, block, to);
}

/* A word that is an address in a extent. */
static void found(struct marker *marker, uint32_t i, uint64_t address)
{
	const struct extent *extent = &marker->extents.vec.at[i];
	const struct block *block = &marker->source->block[extent->block];
	enum state state = state_of(marker, extent->block);
	bool strong;

	if (state == REACHABLE || (state == POSSIBLE && marker->strength == WEAK) ||
	    state == INDIRECT)
		return;
	strong = address == block->address ||
		 (marker->strength == FIRM &&
		  heuristic_applies(&marker->heuristic, block, address));
	reach(marker, extent->block, strong);
	if (extent->outer != EXTENT_NONE)
		reach(marker, extent->outer, strong);
}

static void scan_words(struct marker *marker, const uint64_t *word, size_t nr)
{
	uint64_t low = marker->extents.low, len = marker->extents.high - low;

	for (size_t i = 0; i < nr; i++) {
		uint32_t extent;

		if (word[i] - low >= len)
			continue;
		extent = extents_look_up(&marker->extents, word[i]);
		if (extent != EXTENT_NONE)
			found(marker, extent, word[i]);
	}
}

/* --- memory --- */

/* Words of [start, end), which is in the buffer but for what is no whole word. */
static void scan_buffered(struct marker *marker, uint64_t start, uint64_t end)
{
	start = ALIGN_UP(start, 8ull);
	end = ALIGN_DOWN(end, 8ull);
	if (start < end)
		scan_words(marker, marker->buffer + (start - marker->start) / 8, (end - start) / 8);
}

/* From start on, a multiple of 8; *got_ret may be less than asked for, and 0. */
static struct err *fill(struct marker *marker, uint64_t start, uint64_t end, uint64_t *got_ret)
{
	size_t got = 0;
	struct err *err = memory_read_some(marker->source->memory, start, marker->buffer,
					   (size_t)(end - start), &got);

	if (err && err->code != ERR_MEMORY)
		return err;
	*got_ret = err ? 0 : got;
	marker->start = start;
	marker->end = start + *got_ret;
	return NULL;
}

/* Scan what is worth it of [start, end) piece by piece, by `scan`. */
static struct err *scan_pieces(struct marker *marker, uint64_t start, uint64_t end,
			       struct mark_ranges *unread,
			       void (*scan)(struct marker *marker, uint64_t start, uint64_t end))
{
	const struct mark_source *source = marker->source;
	struct mark_range part = { start, end };
	struct err *err = NULL;

	while (!err && start < end) {
		uint64_t at, got;

		if (source->next_present && !source->next_present(source->ctx, start, end, &part))
			break;
		for (at = part.start; !err && at < part.end; at = start) {
			uint64_t from = ALIGN_DOWN(at, 8ull), to = MIN(part.end, from + BUFFER);

			err = fill(marker, from, to, &got);
			if (!err && from + got > at)
				scan(marker, at, from + got);
			start = from + got;
			if (!err && start < to) {
				at = MAX(at, start);
				start = mark_behind_hole(unread, at, part.end);
				err = mark_ranges_note(unread, at, start);
			}
			if (!err)
				err = cancel_check();
		}
		start = part.end;
	}
	return err;
}

/* --- roots --- */

/* What lies between blocks. */
static void scan_gaps(struct marker *marker, uint64_t start, uint64_t end)
{
	const struct extents *extents = &marker->extents;
	size_t low = 0, high = extents->vec.nr;

	while (low < high) {		/* the first that ends behind start */
		size_t middle = low + (high - low) / 2;

		if (extents->vec.at[middle].end <= start)
			low = middle + 1;
		else
			high = middle;
	}
	while (start < end) {
		const struct extent *extent = low < extents->vec.nr ? &extents->vec.at[low++] : NULL;
		uint64_t stop = extent ? MIN(extent->start, end) : end;

		if (start < stop) {
			scan_buffered(marker, start, stop);
			marker->ret->root_bytes += stop - start;
		}
		start = extent ? MAX(start, extent->end) : end;
	}
}

static struct err *scan_roots(struct marker *marker)
{
	const struct mark_source *source = marker->source;
	struct mark_ranges *unread = &marker->ret->unread_roots;
	struct err *err = NULL;
	uint64_t before;

	marker->strength = FIRM;
	scan_words(marker, source->word, source->nr_words);
	for (size_t i = 0; i < source->nr_heaps && !err; i++)
		err = scan_pieces(marker, source->heap[i].start, source->heap[i].end, unread,
				  scan_gaps);
	before = marker->ret->root_bytes;
	marker->ret->heap_bytes = before;
	for (size_t i = 0; i < source->nr_roots && !err; i++)
		err = scan_pieces(marker, source->root[i].start, source->root[i].end, unread,
				  scan_gaps);
	marker->ret->root_bytes -= before;
	return err;
}

/* --- blocks --- */

static bool will_be_scanned(const struct marker *marker, uint32_t block)
{
	return marker->state[block] & PENDING ||
	       (marker->strength == LOST && state_of(marker, block) == UNREACHED);
}

/*
 * Have extent i in the buffer, with neighbours behind it that are to be scanned as well, and some
 * before it, since lists often run that way.
 */
static struct err *have(struct marker *marker, uint32_t i)
{
	const struct extent *extent = marker->extents.vec.at;
	uint64_t start = extent[i].start, end = extent[i].end, got;

	if (ALIGN_DOWN(start, 8ull) >= marker->start && end <= marker->end)
		return NULL;
	for (uint32_t before = i; before-- > 0;) {
		if (extent[before].end + NEAR < start || extent[before].start + BEFORE < extent[i].start)
			break;
		start = extent[before].start;
	}
	start = ALIGN_DOWN(start, 8ull);
	for (size_t next = (size_t)i + 1; next < marker->extents.vec.nr; next++) {
		if (extent[next].start > end + NEAR || extent[next].end - start > BUFFER)
			break;
		if (will_be_scanned(marker, extent[next].block))
			end = extent[next].end;
	}
	return fill(marker, start, end, &got);
}

static struct err *scan_extent(struct marker *marker, uint32_t i)
{
	const struct extent *extent = &marker->extents.vec.at[i];
	struct err *err = NULL;

	if (extent->end - extent->start < 8)
		return NULL;
	marker->ret->block_bytes += extent->end - extent->start;
	if (extent->end - extent->start <= BUFFER - BEFORE - 8)
		err = have(marker, i);
	if (err)
		return err;
	if (ALIGN_DOWN(extent->start, 8ull) >= marker->start && extent->end <= marker->end) {
		scan_buffered(marker, extent->start, extent->end);
		return NULL;
	}
	return scan_pieces(marker, extent->start, extent->end, &marker->ret->unread_blocks,
			   scan_buffered);
}

/* A block that others lie inside of is in several extents. */
static struct err *scan_block(struct marker *marker, uint32_t block)
{
	const struct extents *extents = &marker->extents;
	const struct block *at = &marker->source->block[block];
	uint32_t i = extents->first[block];
	struct err *err = NULL;

	if (marker->strength != LOST)
		marker->strength = state_of(marker, block) == REACHABLE ? FIRM : WEAK;
	for (; !err && i < extents->vec.nr && extents->vec.at[i].start - at->address <= at->size; i++)
		if (extents->vec.at[i].block == block)
			err = scan_extent(marker, i);
	return err;
}

/* One that is found behind is next: lists often run that way. */
static uint32_t next_in_window(struct marker *marker, size_t window, uint32_t i)
{
	uint32_t from = marker->from[window];

	if (from > i)
		return i + 1;
	marker->from[window] = UINT32_MAX;
	return from;
}

static struct err *scan_window(struct marker *marker, size_t window)
{
	uint32_t end = (uint32_t)MIN((window + 1) * WINDOW, marker->extents.vec.nr);
	struct err *err = NULL;

	for (uint32_t i = next_in_window(marker, window, end);
	     i < end && marker->pending[window] && !err; i = next_in_window(marker, window, i)) {
		uint32_t block = marker->extents.vec.at[i].block;

		if (!(marker->state[block] & PENDING) || marker->extents.first[block] != i)
			continue;
		marker->state[block] &= STATE_MASK;
		marker->pending[window]--;
		marker->nr_pending--;
		err = scan_block(marker, block);
	}
	return err ? err : cancel_check();
}

static struct err *scan_pending(struct marker *marker)
{
	struct err *err = NULL;

	while (marker->nr_pending && !err) {
		size_t window = marker->lowest;

		/* What is found behind the sweep sets it anew. */
		marker->lowest = marker->nr_windows;
		for (; window < marker->nr_windows && marker->nr_pending && !err; window++)
			if (marker->pending[window])
				err = scan_window(marker, window);
	}
	return err;
}

/*
 * In order of address, so that of a ring the first is the leader. One that turns out to hang on a
 * later one is the leader of nothing any more.
 */
static struct err *find_lost(struct marker *marker)
{
	struct err *err = NULL;

	marker->strength = LOST;
	for (uint32_t i = 0; i < marker->source->nr_blocks && !err; i++) {
		if (state_of(marker, i) != UNREACHED)
			continue;
		marker->clique = i;
		set_pending(marker, i, DEFINITE);
		err = scan_pending(marker);
	}
	return err;
}

/* --- result --- */

/* Leaders of leaders: each way is made short as it is gone, so that this is quick. */
static uint32_t last_leader(struct marker *marker, uint32_t block)
{
	uint32_t *leader = marker->ret->leader, last = block;

	while (leader[last] != MARK_NO_LEADER)
		last = leader[last];
	while (leader[block] != MARK_NO_LEADER) {
		uint32_t next = leader[block];

		leader[block] = last;
		block = next;
	}
	return last;
}

static void conclude(struct marker *marker)
{
	static const uint8_t kinds[] = {
		[UNREACHED] = LEAK_DEFINITE, [POSSIBLE] = LEAK_POSSIBLE,
		[REACHABLE] = LEAK_REACHABLE, [DEFINITE] = LEAK_DEFINITE,
		[INDIRECT] = LEAK_INDIRECT,
	};

	for (uint32_t i = 0; i < marker->source->nr_blocks; i++) {
		enum state state = state_of(marker, i);

		if (state == INDIRECT)
			marker->ret->leader[i] = last_leader(marker, i);
		marker->ret->kind[i] = kinds[state];
	}
}

static struct err *prepare(struct marker *marker)
{
	size_t nr = marker->source->nr_blocks;
	struct err *err = extents_build(marker->source->block, nr, &marker->extents);

	if (err)
		return err;
	marker->nr_windows = (marker->extents.vec.nr + WINDOW - 1) / WINDOW;
	marker->lowest = marker->nr_windows;
	marker->state = calloc(nr + 1, 1);
	marker->pending = calloc(marker->nr_windows + 1, sizeof(*marker->pending));
	marker->from = malloc((marker->nr_windows + 1) * sizeof(*marker->from));
	marker->buffer = malloc(BUFFER);
	marker->ret->kind = calloc(nr + 1, 1);
	marker->ret->leader = malloc((nr + 1) * sizeof(*marker->ret->leader));
	if (!marker->state || !marker->pending || !marker->from || !marker->buffer ||
	    !marker->ret->kind || !marker->ret->leader)
		return err_nomem;
	memset(marker->from, 0xff, (marker->nr_windows + 1) * sizeof(*marker->from));
	memset(marker->ret->leader, 0xff, (nr + 1) * sizeof(*marker->ret->leader));
	heuristic_init(&marker->heuristic, marker->source->memory, marker->source->code,
		       marker->source->nr_code);
	return NULL;
}

struct err *mark_run(const struct mark_source *source, struct mark_result *ret)
{
	struct mark_result result = { .kind = NULL };
	struct marker marker = { .source = source, .ret = &result, .extents = EXTENTS_INIT };
	struct err *err = prepare(&marker);

	if (!err)
		err = scan_roots(&marker);
	if (!err)
		err = scan_pending(&marker);
	if (!err)
		err = find_lost(&marker);
	if (!err)
		conclude(&marker);
	extents_free(&marker.extents);
	free(marker.state);
	free(marker.pending);
	free(marker.from);
	free(marker.buffer);
	if (err) {
		mark_free(&result);
		return err;
	}
	*ret = result;
	return NULL;
}

void mark_free(struct mark_result *result)
{
	free(result->kind);
	free(result->leader);
	vec_free(&result->unread_roots.vec);
	vec_free(&result->unread_blocks.vec);
	result->kind = NULL;
	result->leader = NULL;
}
