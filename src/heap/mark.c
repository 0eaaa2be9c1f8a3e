/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conservative marking (theory in mark.h). */

#include "heap/mark.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "heap/edges.h"
#include "heap/extents.h"
#include "heap/heuristic.h"

#define BUFFER		(256u << 10)
#define WIDE		(64u << 10)	/* blocks from which pointers are not kept */
#define WINDOW		1024u
#define READY		1024u		/* powers of two */
#define TARGETS		16u
#define AHEAD		8u		/* blocks whose pointers are fetched */
#define SWEPT_LEAST	32u		/* a sweep that follows one in so many blocks is worth another */
#define NEAR		2048u		/* what is read for nothing, rather than to read twice */

enum state { UNREACHED, POSSIBLE, REACHABLE, DEFINITE, INDIRECT };

/* What the words that are scanned are worth. */
enum strength { FIRM, WEAK, LOST };

/* A block that a pointer leads to, while it is on its way into the cache. */
struct target {
	uint32_t block;
	bool strong;
	enum strength strength;
};

/* Memory, by way of what is in the buffer already. */
struct peek {
	struct memory memory;
	struct marker *marker;
};

struct marker {
	const struct mark_source *source;
	struct held_list *list;
	struct mark_result *ret;
	struct extents extents;
	struct heuristic heuristic;
	struct edges edges;
	struct peek peek;
	VEC(uint32_t) wide;		/* blocks */
	uint32_t *pending;		/* by window: its blocks that are pending */
	uint32_t *from;			/* by window: none of its blocks before this one is pending */
	uint64_t *busy;			/* bits by window: any pending? */
	size_t nr_windows;
	size_t nr_pending;
	enum strength strength;
	uint32_t clique;		/* LOST: the block by which all is found */
	bool gathering, draining;	/* the last: what is pending is followed as it comes */
	/* Draining: blocks whose pointers are kept, to be followed next. */
	uint32_t ready[READY];
	uint32_t nr_ready, first_ready;
	struct target target[TARGETS];	/* that they lead to; a ring */
	uint32_t nr_targets, first_target;
	uint32_t origin;		/* gathering: whose words are scanned */
	uint32_t keeping;		/* gathering: whose pointers are kept; or EXTENT_NONE */
	/* Words that may be addresses, and whose they are: looked up together. */
	uint64_t word[EXTENTS_BATCH];
	uint32_t word_of[EXTENTS_BATCH];
	size_t nr_words;
	uint64_t *buffer;
	uint64_t start, end;		/* what is in the buffer */
};

static struct held *at(const struct marker *marker, uint32_t block)
{
	return held_at(marker->list, block);
}

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

/* --- what is reached --- */

static void clear_pending(struct marker *marker, uint32_t block)
{
	size_t window = block / WINDOW;

	at(marker, block)->pending = false;
	marker->nr_pending--;
	if (!--marker->pending[window])
		marker->busy[window / 64] &= ~(1ull << window % 64);
}

static void make_ready(struct marker *marker, uint32_t block)
{
	at(marker, block)->ready = true;
	edges_prefetch(&marker->edges, block);
	marker->ready[(marker->first_ready + marker->nr_ready++) % READY] = block;
}

static void set_state(struct marker *marker, uint32_t block, enum state state)
{
	struct held *held = at(marker, block);
	size_t window = block / WINDOW;

	held->state = state;
	if (held->pending || held->ready || held->kept == EDGES_NONE)
		return;
	if (marker->draining && held->kept == EDGES_KEPT && marker->nr_ready < READY) {
		make_ready(marker, block);
		return;
	}
	held->pending = true;
	marker->nr_pending++;
	if (!marker->pending[window]++)
		marker->busy[window / 64] |= 1ull << window % 64;
	marker->from[window] = MIN(marker->from[window], block);
}

static void lose(struct marker *marker, uint32_t block)
{
	struct held *held = at(marker, block);

	if (block == marker->clique)
		return;
	if (held->state == UNREACHED)
		set_state(marker, block, INDIRECT);
	else if (held->state == DEFINITE)
		held->state = INDIRECT;		/* all behind it is lost already */
	else
		return;
	marker->ret->leader[block] = marker->clique + 1;
}

static void reach(struct marker *marker, uint32_t block, bool strong)
{
	enum state to = strong && marker->strength == FIRM ? REACHABLE : POSSIBLE;

	if (marker->strength == LOST)
		lose(marker, block);
	else if (at(marker, block)->state < to)
		set_state(marker, block, to);
}

/* --- words --- */

/* The words that come are of another block. */
static void end_keeping(struct marker *marker)
{
	uint32_t block = marker->keeping;

	marker->keeping = EXTENT_NONE;
	if (block == EXTENT_NONE)
		return;
	at(marker, block)->kept = edges_end(&marker->edges, block);
	/* Somebody may have reached it, when it was read and before it was known to have pointers. */
	if (at(marker, block)->state != UNREACHED)
		set_state(marker, block, at(marker, block)->state);
}

/* Whatever is found of a block that is known to be reachable is, too. */
static bool is_kept(const struct marker *marker, uint32_t of)
{
	return marker->gathering && (marker->keeping == of || at(marker, of)->state != REACHABLE);
}

static void keep(struct marker *marker, uint32_t from, uint32_t to, bool strong)
{
	if (marker->keeping != from) {
		end_keeping(marker);
		marker->keeping = from;
		edges_begin(&marker->edges);
	}
	if (to != from && at(marker, to)->state != REACHABLE)
		edges_add(&marker->edges, to, strong);
}

/* A word that is an address in a block. `of`: while gathering, whose. */
static void found(struct marker *marker, const struct extent_found *is, uint64_t address,
		  uint32_t of)
{
	const struct held *held = at(marker, is->block);
	bool kept = is_kept(marker, of), strong;

	if (held->state == REACHABLE || held->state == INDIRECT || (kept && is->block == of) ||
	    (!kept && held->state == POSSIBLE && marker->strength == WEAK))
		return;
	strong = address == held->address;
	if (!strong && (kept || marker->strength == FIRM)) {
		struct block block = held_block(marker->list, is->block);

		strong = heuristic_applies(&marker->heuristic, &block, address);
	}
	if (kept)
		keep(marker, of, is->block, strong);
	else
		reach(marker, is->block, strong);
	if (is->outer == EXTENT_NONE)
		return;
	if (kept)
		keep(marker, of, is->outer, strong);
	else
		reach(marker, is->outer, strong);
}

static void look_up_words(struct marker *marker)
{
	struct extent_found is[EXTENTS_BATCH];
	size_t nr = marker->nr_words;

	marker->nr_words = 0;
	extents_look_up(&marker->extents, marker->word, nr, is);
	for (size_t i = 0; i < nr; i++)
		if (is[i].block != EXTENT_NONE)
			found(marker, &is[i], marker->word[i], marker->word_of[i]);
}

/* Look up what is left, before strength, or what is gathered, changes. */
static void end_words(struct marker *marker)
{
	look_up_words(marker);
	end_keeping(marker);
}

static void scan_words(struct marker *marker, const uint64_t *word, size_t nr)
{
	uint64_t low = marker->extents.low, len = marker->extents.high - low;

	for (size_t i = 0; i < nr; i++) {
		if (word[i] - low >= len)
			continue;
		marker->word[marker->nr_words] = word[i];
		marker->word_of[marker->nr_words++] = marker->origin;
		if (marker->nr_words == EXTENTS_BATCH)
			look_up_words(marker);
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
		uint64_t at, got = 0;

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
	end_words(marker);
	return err;
}

/* --- blocks --- */

/* A block that others lie inside of is scanned between them. */
static void scan_inside(struct marker *marker, uint64_t start, uint64_t end)
{
	struct extent_at next;
	struct extent extent;

	if (!marker->extents.user.runs.nr || at(marker, marker->origin)->user) {
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
	return marker->gathering || at(marker, block)->pending ||
	       (marker->strength == LOST && at(marker, block)->state == UNREACHED);
}

/* Fill the buffer with block i, up to end, and neighbours behind it that are to be scanned as well. */
static struct err *fill_from(struct marker *marker, uint32_t i, uint64_t end)
{
	uint64_t start = ALIGN_DOWN((uint64_t)at(marker, i)->address, 8ull), got;

	for (uint32_t next = i + 1; next < marker->list->nr; next++) {
		uint64_t next_start = at(marker, next)->address;
		uint64_t next_end = extents_end(&marker->extents, next);

		if (next_start < end || next_start > end + NEAR || next_end - start > BUFFER)
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

/* Of a block, whose extent ends there. */
static struct err *read_block(struct marker *marker, uint32_t block, uint64_t end)
{
	uint64_t start = at(marker, block)->address;
	struct mark_ranges again = { VEC_INIT };
	struct err *err = NULL;

	marker->origin = block;
	if (end - start < 8)
		return NULL;
	if (end - start <= WIDE && !is_buffered(marker, start, end))
		err = fill_from(marker, block, end);
	if (err)
		return err;
	if (is_buffered(marker, start, end)) {
		scan_inside(marker, start, end);
		return NULL;
	}
	/* Once is enough to say that it cannot be read. */
	err = scan_pieces(marker, start, end, at(marker, block)->noted ? &again :
						      &marker->ret->unread_blocks, scan_inside);
	at(marker, block)->noted = true;
	vec_free(&again.vec);
	return err;
}

/* The one that has been fetched for the longest time. */
static void reach_target(struct marker *marker)
{
	struct target target = marker->target[marker->first_target++ % TARGETS];

	marker->nr_targets--;
	marker->strength = target.strength;
	reach(marker, target.block, target.strong);
}

static void follow(struct marker *marker, uint32_t block, enum strength strength)
{
	struct edge_at edge = edges_of(&marker->edges, block);
	struct target target = { .strength = strength };

	while (edges_next(&marker->edges, &edge, &target.block, &target.strong)) {
		if (marker->nr_targets == TARGETS)
			reach_target(marker);
		__builtin_prefetch(at(marker, target.block), 1);
		marker->target[(marker->first_target + marker->nr_targets++) % TARGETS] = target;
	}
}

static enum strength strength_of(const struct marker *marker, uint32_t block)
{
	if (marker->strength == LOST)
		return LOST;
	return at(marker, block)->state == REACHABLE ? FIRM : WEAK;
}

static struct err *scan_block(struct marker *marker, uint32_t block)
{
	enum strength strength = strength_of(marker, block);
	struct err *err;

	if (at(marker, block)->kept == EDGES_KEPT) {
		follow(marker, block, strength);
		return NULL;
	}
	marker->strength = strength;
	err = read_block(marker, block, extents_end(&marker->extents, block));
	end_words(marker);
	return err;
}

/*
 * Follow who is ready, and who gets so, until only so many are left; with 0, until nobody is, and
 * nothing is on its way. Of a few each is waited for, one after the other.
 */
static void follow_ready(struct marker *marker, uint32_t left)
{
	while (marker->nr_ready > left || (!left && marker->nr_targets)) {
		uint32_t block = marker->ready[marker->first_ready % READY];

		if (!marker->nr_ready) {
			reach_target(marker);
			continue;
		}
		if (marker->nr_ready > AHEAD)
			edges_prefetch_first(&marker->edges,
					     marker->ready[(marker->first_ready + AHEAD) % READY]);
		marker->first_ready++;
		marker->nr_ready--;
		at(marker, block)->ready = false;
		follow(marker, block, strength_of(marker, block));
	}
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
	uint32_t end = (uint32_t)MIN((window + 1) * WINDOW, marker->list->nr);
	struct err *err = NULL;

	for (uint32_t i = next_in_window(marker, window, end);
	     i < end && marker->pending[window] && !err; i = next_in_window(marker, window, i)) {
		if (!at(marker, i)->pending)
			continue;
		clear_pending(marker, i);
		if (at(marker, i)->kept == EDGES_KEPT)
			make_ready(marker, i);
		else
			err = scan_block(marker, i);
		if (marker->nr_ready > READY / 2)
			follow_ready(marker, READY / 4);
	}
	return err ? err : cancel_check();
}

/* The first window from `window` on that has any pending; nr_windows: none has. */
static size_t next_window(const struct marker *marker, size_t window)
{
	size_t nr_words = (marker->nr_windows + 63) / 64, i = window / 64;
	uint64_t bits = i < nr_words ? marker->busy[i] & ~0ull << window % 64 : 0;

	while (!bits && ++i < nr_words)
		bits = marker->busy[i];
	return bits ? i * 64 + (size_t)__builtin_ctzll(bits) : marker->nr_windows;
}

static struct err *scan_pending(struct marker *marker)
{
	struct err *err = NULL;

	follow_ready(marker, 0);
	while (marker->nr_pending && !err) {
		for (size_t window = next_window(marker, 0);
		     window < marker->nr_windows && !err; window = next_window(marker, window + 1))
			err = scan_window(marker, window);
		follow_ready(marker, 0);
	}
	return err;
}

/* --- gathering --- */

/*
 * Wide blocks are read whenever they are reached, so those that roots lead to come first: who hangs on a
 * large table is then known to be reachable, and what he points to need not be kept.
 */
static struct err *scan_wide(struct marker *marker)
{
	struct err *err = NULL;
	bool any = true;

	while (any && !err) {
		any = false;
		for (size_t i = 0; i < marker->wide.nr && !err; i++) {
			uint32_t block = marker->wide.at[i];

			if (!at(marker, block)->pending)
				continue;
			any = true;
			clear_pending(marker, block);
			err = scan_block(marker, block);
		}
	}
	return err;
}

/* All blocks that are not wide, once, from front to back. */
static struct err *gather(struct marker *marker)
{
	struct err *err = NULL;

	marker->strength = FIRM;
	marker->gathering = true;
	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		struct held *held = at(marker, i);
		uint64_t end = extents_end(&marker->extents, i), len = end - held->address;

		marker->ret->block_bytes += len < 8 ? 0 : len;
		if (len > WIDE)
			continue;
		/* Unless it turns out to have some. */
		if (held->pending)
			clear_pending(marker, i);
		held->kept = EDGES_NONE;
		err = read_block(marker, i, end);
		if (!err && i % WINDOW == 0)
			err = cancel_check();
	}
	end_words(marker);
	marker->gathering = false;
	return err;
}

/* --- sweeps --- */

/* Who is pending in a window, once. What must be read is read from front to back. */
static struct err *sweep_window(struct marker *marker, size_t window, bool down, size_t *nr)
{
	uint32_t start = (uint32_t)(window * WINDOW);
	uint32_t len = (uint32_t)MIN(WINDOW, marker->list->nr - start);
	struct err *err = NULL;

	for (uint32_t i = 0; i < len && marker->pending[window] && !err; i++) {
		uint32_t block = start + (down ? len - 1 - i : i);

		if (!at(marker, block)->pending || (down && at(marker, block)->kept != EDGES_KEPT))
			continue;
		clear_pending(marker, block);
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
		reach_target(marker);
	return err;
}

/* To and fro, for as long as that finds many. */
static struct err *sweep(struct marker *marker)
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
 * In order of address, so that of a ring the first is the leader. One that turns out to hang on a
 * later one is the leader of nothing any more.
 */
static struct err *find_lost(struct marker *marker)
{
	struct err *err = NULL;

	marker->strength = LOST;
	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		if (at(marker, i)->state != UNREACHED)
			continue;
		marker->clique = i;
		set_state(marker, i, DEFINITE);
		err = scan_pending(marker);
	}
	return err;
}

/* --- result --- */

/* Leaders of leaders: each way is made short as it is gone, so that this is quick. */
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
		[REACHABLE] = LEAK_REACHABLE, [DEFINITE] = LEAK_DEFINITE,
		[INDIRECT] = LEAK_INDIRECT,
	};

	for (uint32_t i = 0; i < marker->list->nr; i++) {
		struct held *held = at(marker, i);

		if (held->state == INDIRECT)
			marker->ret->leader[i] = last_leader(marker, i) + 1;
		held->state = kinds[held->state] & 7;
	}
}

static struct err *prepare_blocks(struct marker *marker)
{
	struct err *err = NULL;

	for (uint32_t i = 0; i < marker->list->nr && !err; i++) {
		struct held *held = at(marker, i);

		held->state = UNREACHED;
		held->pending = held->ready = held->noted = false;
		held->kept = EDGES_UNREAD;
		if (extents_end(&marker->extents, i) - held->address > WIDE)
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
	edges_init(&marker->edges, nr);
	marker->nr_windows = (nr + WINDOW - 1) / WINDOW;
	marker->pending = calloc(marker->nr_windows + 1, sizeof(*marker->pending));
	marker->from = malloc((marker->nr_windows + 1) * sizeof(*marker->from));
	marker->busy = calloc(marker->nr_windows / 64 + 1, sizeof(*marker->busy));
	marker->buffer = malloc(BUFFER);
	/* Pages of it are taken up only where any are indirectly lost. */
	marker->ret->leader = calloc(nr + 1, sizeof(*marker->ret->leader));
	if (!marker->pending || !marker->from || !marker->busy || !marker->buffer ||
	    !marker->ret->leader)
		return err_nomem;
	memset(marker->from, 0xff, (marker->nr_windows + 1) * sizeof(*marker->from));
	marker->peek = (struct peek){ { peek_read }, marker };
	heuristic_init(&marker->heuristic, &marker->peek.memory, marker->source->code,
		       marker->source->nr_code);
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
		err = sweep(marker);
	marker->draining = true;
	if (!err)
		err = scan_pending(marker);
	return err ? err : find_lost(marker);
}

struct err *mark_run(const struct mark_source *source, struct mark_result *ret)
{
	struct mark_result result = { .leader = NULL };
	struct marker marker = { .source = source, .list = source->list, .ret = &result,
				 .extents = EXTENTS_INIT, .origin = EXTENT_NONE,
				 .keeping = EXTENT_NONE };
	struct err *err = run(&marker);

	if (!err)
		conclude(&marker);
	extents_free(&marker.extents);
	edges_free(&marker.edges);
	vec_free(&marker.wide);
	free(marker.pending);
	free(marker.from);
	free(marker.busy);
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
	free(result->leader);
	vec_free(&result->unread_roots.vec);
	vec_free(&result->unread_blocks.vec);
	result->leader = NULL;
}
