/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conservative marking (theory in reach.h): its passes. */

#include "heap/reach/reach.h"

#include <string.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "heap/reach/reach_private.h"

#define SWEPT_LEAST	32u	/* a sweep that follows one in so many blocks is worth another */

static struct err *scan_roots(struct marker *marker)
{
	const struct reach_source *source = marker->source;
	struct reach_unread *unread = &marker->ret->unread_roots;
	struct err *err = NULL;
	uint64_t before;

	marker->strength = FIRM;
	reach_words(marker, source->word, source->nr_certain);
	for (size_t i = 0; i < source->nr_heaps && !err; i++)
		err = reach_read_gaps(marker, source->heap[i].start, source->heap[i].end, unread);
	before = marker->ret->root_bytes;
	marker->ret->heap_bytes = before;
	for (size_t i = 0; i < source->nr_roots && !err; i++)
		err = reach_read_gaps(marker, source->root[i].start, source->root[i].end, unread);
	marker->ret->root_bytes -= before;
	reach_words_end(marker);
	return err;
}

static struct err *scan_block(struct marker *marker, uint32_t block)
{
	enum strength strength = reach_words_strength_of(marker, block);
	struct err *err;

	if (marker_at(marker, block)->kept == GRAPH_KEPT) {
		reach_words_follow(marker, block, strength);
		return NULL;
	}
	marker->strength = strength;
	err = reach_read_block(marker, block, extents_end(&marker->extents, block));
	reach_words_end(marker);
	return err;
}

/* A block that is found behind this one is next: lists often run that way. */
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
	uint32_t end = (uint32_t)MIN((window + 1) * REACH_WINDOW, marker->list->nr);
	struct err *err = NULL;

	for (uint32_t i = next_in_window(marker, window, end);
	     i < end && marker->pending[window] && !err; i = next_in_window(marker, window, i)) {
		if (!marker_at(marker, i)->pending)
			continue;
		reach_words_clear_pending(marker, i);
		if (marker_at(marker, i)->kept == GRAPH_KEPT)
			reach_words_make_ready(marker, i);
		else
			err = scan_block(marker, i);
		if (marker->nr_ready > REACH_READY / 2)
			reach_words_follow_ready(marker, REACH_READY / 4);
	}
	return err ? err : cancel_check();
}

/* Returns the first window from `window` on that has pending blocks; nr_windows: none has. */
static size_t next_window(const struct marker *marker, size_t window)
{
	size_t nr_words = (marker->nr_windows + 63) / 64, i = window / 64;
	uint64_t bits = i < nr_words ? marker->busy[i] & ~0ull << window % 64 : 0;

	while (!bits && ++i < nr_words)
		bits = marker->busy[i];
	return bits ? i * 64 + (size_t)__builtin_ctzll(bits) : marker->nr_windows;
}

struct err *reach_follow_pending(struct marker *marker)
{
	struct err *err = NULL;

	reach_words_follow_ready(marker, 0);
	while (marker->nr_pending && !err) {
		size_t window = marker->first_busy = next_window(marker, marker->first_busy);

		for (; window < marker->nr_windows && !err;
		     window = next_window(marker, window + 1)) {
			err = scan_window(marker, window);
			if (!marker->nr_pending)
				break;
		}
		reach_words_follow_ready(marker, 0);
	}
	marker->first_busy = marker->nr_windows;
	return err;
}

/*
 * Wide blocks are read whenever they are reached, so those that roots lead to come first: blocks
 * that a large table points to are then known to be reachable, and their pointers need not be kept.
 * Each is on the stack at most once, since it is while it is pending.
 */
static struct err *scan_wide(struct marker *marker)
{
	AUTO_FREE uint32_t *next = malloc((marker->wide.nr + 1) * sizeof(*next));
	struct err *err = NULL;

	if (!next)
		return err_nomem;
	marker->wide_next = next;
	for (size_t i = marker->wide.nr; i--;)
		if (marker_at(marker, marker->wide.at[i])->pending)
			next[marker->nr_wide_next++] = marker->wide.at[i];
	while (marker->nr_wide_next && !err) {
		uint32_t block = next[--marker->nr_wide_next];

		reach_words_clear_pending(marker, block);
		err = scan_block(marker, block);
	}
	marker->wide_next = NULL;
	return err;
}

/* Scan all blocks that are not wide, once, from front to back. */
static struct err *gather(struct marker *marker)
{
	struct err *err = NULL;

	marker->strength = FIRM;
	marker->gathering = true;
	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		struct packed_block *held = marker_at(marker, i);
		uint64_t end = extents_end(&marker->extents, i), len = end - held->address;

		marker->ret->block_bytes += len < 8 ? 0 : len;
		if (len > REACH_WIDE)
			continue;
		/* Unless it turns out to have some. */
		if (held->pending)
			reach_words_clear_pending(marker, i);
		held->kept = GRAPH_NONE;
		err = reach_read_block(marker, i, end);
		if (!err && i % REACH_WINDOW == 0)
			err = cancel_check();
	}
	reach_words_end(marker);
	marker->gathering = false;
	return err;
}

/* Scan the pending blocks of a window, once. Memory is read from front to back only. */
static struct err *sweep_window(struct marker *marker, size_t window, bool down, size_t *nr)
{
	uint32_t start = (uint32_t)(window * REACH_WINDOW);
	uint32_t len = (uint32_t)MIN(REACH_WINDOW, marker->list->nr - start);
	struct err *err = NULL;

	for (uint32_t i = 0; i < len && marker->pending[window] && !err; i++) {
		uint32_t block = start + (down ? len - 1 - i : i);

		if (!marker_at(marker, block)->pending ||
		    (down && marker_at(marker, block)->kept != GRAPH_KEPT))
			continue;
		reach_words_clear_pending(marker, block);
		err = scan_block(marker, block);
		++*nr;
	}
	return err ? err : cancel_check();
}

static struct err *sweep_once(struct marker *marker, bool down, size_t *nr)
{
	struct err *err = NULL;

	for (size_t i = 0; i < marker->nr_windows && !err; i++) {
		size_t window = down ? marker->nr_windows - 1 - i : i;

		if (marker->pending[window])
			err = sweep_window(marker, window, down, nr);
	}
	while (marker->nr_targets)
		reach_words_reach_target(marker);
	return err;
}

/* Sweep backward and forward, as long as that finds many blocks. */
struct err *reach_sweep(struct marker *marker)
{
	struct err *err = NULL;
	size_t nr = SIZE_MAX;

	while (nr > marker->list->nr / SWEPT_LEAST && marker->nr_pending && !err) {
		nr = 0;
		err = sweep_once(marker, true, &nr);
		if (!err)
			err = sweep_once(marker, false, &nr);
	}
	return err;
}

/*
 * Go through the blocks in order of address, so that the first one of a ring becomes its leader. A
 * leader that turns out to depend on a later block is no leader any more.
 */
static struct err *find_lost(struct marker *marker)
{
	struct err *err = NULL;

	marker->strength = LOST;
	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		if (marker_at(marker, i)->state != UNREACHED)
			continue;
		marker->clique = i;
		reach_words_set_state(marker, i, DEFINITE);
		err = reach_follow_pending(marker);
	}
	return err;
}

/* A leader may have a leader: each way is shortened when it is gone, so that this is quick. */
static uint32_t last_leader(struct marker *marker, uint32_t block)
{
	uint32_t *leader = marker->ret->leader, last = block;

	while (leader[last])
		last = leader[last] - 1;
	while (leader[block]) {
		uint32_t next = leader[block] - 1;

		leader[block] = last + 1;
		block = next;
	}
	return last;
}

static void conclude(struct marker *marker)
{
	static const uint8_t kinds[] = {
		[UNREACHED] = LEAK_DEFINITE, [POSSIBLE] = LEAK_POSSIBLE,
		[LIKELY] = LEAK_POSSIBLE, [REACHABLE] = LEAK_REACHABLE, [DEFINITE] = LEAK_DEFINITE,
		[INDIRECT] = LEAK_INDIRECT,
	};

	for (uint32_t i = 0; i < marker->list->nr; i++) {
		struct packed_block *held = marker_at(marker, i);

		if (held->state == INDIRECT)
			marker->ret->leader[i] = last_leader(marker, i) + 1;
		if (held->state != LIKELY)
			held->likely = LIKELY_NOT;
		else if (held->likely == LIKELY_NOT)
			held->likely = LIKELY_VIA;
		held->state = kinds[held->state] & 7;
	}
}

static struct err *prepare_blocks(struct marker *marker)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		struct packed_block *held = marker_at(marker, i);

		held->state = UNREACHED;
		held->likely = LIKELY_NOT;
		held->pending = held->ready = held->noted = false;
		held->kept = GRAPH_UNREAD;
		if (marker_is_wide(marker, i))
			err = vec_push(&marker->wide, i);
	}
	return err;
}

static struct err *prepare(struct marker *marker)
{
	size_t nr = marker->list->nr;
	struct err *err = extents_build(marker->list, &marker->extents);

	if (err)
		return err;
	pointer_graph_init(&marker->graph, nr);
	marker->unasked = marker->source->unasked;
	marker->nr_windows = (nr + REACH_WINDOW - 1) / REACH_WINDOW;
	marker->pending = calloc(marker->nr_windows + 1, sizeof(*marker->pending));
	marker->from = malloc((marker->nr_windows + 1) * sizeof(*marker->from));
	marker->busy = calloc(marker->nr_windows / 64 + 1, sizeof(*marker->busy));
	/* Pages of these arrays are used only where they have entries. */
	marker->ret->leader = calloc(nr + 1, sizeof(*marker->ret->leader));
	marker->ret->holder = calloc(nr + 1, sizeof(*marker->ret->holder));
	marker->ret->offset = calloc(nr + 1, sizeof(*marker->ret->offset));
	if (!marker->pending || !marker->from || !marker->busy || !marker->ret->leader ||
	    !marker->ret->holder || !marker->ret->offset)
		return err_nomem;
	err = scan_init(&marker->scan, marker->source, marker);
	if (err)
		return err;
	memset(marker->from, 0xff, (marker->nr_windows + 1) * sizeof(*marker->from));
	marker->heuristic.memory = reach_read_peek(marker);
	marker->heuristic.code = marker->source->code;
	marker->heuristic.nr_code = marker->source->nr_code;
	return prepare_blocks(marker);
}

static struct err *run(struct marker *marker)
{
	struct err *err = prepare(marker);

	if (!err)
		err = scan_roots(marker);
	if (!err)
		err = scan_wide(marker);
	if (!err)
		err = gather(marker);
	if (!err)
		err = reach_sweep(marker);
	marker->draining = true;
	if (!err)
		err = reach_follow_pending(marker);
	if (!err)
		err = reach_stacks_scan(marker);
	if (!err)
		err = reach_likely_find(marker);
	if (!err)
		err = reach_pools_mark(marker);
	return err ? err : find_lost(marker);
}

struct err *reach_run(const struct reach_source *source, struct reach_result *ret)
{
	struct reach_result result = { .leader = NULL };
	struct marker marker = { .source = source, .list = source->list, .ret = &result,
				 .extents = EXTENTS_INIT, .origin = EXTENT_NONE,
				 .keeping = EXTENT_NONE };
	struct err *err = run(&marker);

	if (!err)
		conclude(&marker);
	extents_free(&marker.extents);
	pointer_graph_free(&marker.graph);
	vec_free(&marker.wide);
	vec_free(&marker.stack_words);
	free(marker.pending);
	free(marker.from);
	free(marker.busy);
	scan_free(&marker.scan);
	if (err)
		reach_free(&result);
	else
		*ret = result;
	return err;
}

void reach_free(struct reach_result *result)
{
	free(result->leader);
	free(result->holder);
	free(result->offset);
	vec_free(&result->holders);
	vec_free(&result->offsets);
	*result = (struct reach_result){ .leader = NULL };
}
