/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marking: what words and kept pointers lead to (reach_private.h). */

#include "heap/reach/reach_private.h"

#define AHEAD	8u	/* blocks whose pointers are fetched */

void reach_words_clear_pending(struct marker *marker, uint32_t block)
{
	size_t window = block / REACH_WINDOW;

	marker_at(marker, block)->pending = false;
	marker->nr_pending--;
	if (!--marker->pending[window])
		marker->busy[window / 64] &= ~(1ull << window % 64);
}

void reach_words_make_ready(struct marker *marker, uint32_t block)
{
	marker_at(marker, block)->ready = true;
	graph_prefetch(&marker->graph, block);
	marker->ready[(marker->first_ready + marker->nr_ready++) % REACH_READY] = block;
}

void reach_words_set_state(struct marker *marker, uint32_t block, enum state state)
{
	struct packed_block *held = marker_at(marker, block);
	size_t window = block / REACH_WINDOW;

	held->state = state;
	if (held->pending || held->ready || held->kept == GRAPH_NONE)
		return;
	if (marker->draining && held->kept == GRAPH_KEPT && marker->nr_ready < REACH_READY) {
		reach_words_make_ready(marker, block);
		return;
	}
	held->pending = true;
	marker->nr_pending++;
	if (!marker->pending[window]++)
		marker->busy[window / 64] |= 1ull << window % 64;
	marker->first_busy = MIN(marker->first_busy, window);
	marker->from[window] = MIN(marker->from[window], block);
	if (marker->wide_next && marker_is_wide(marker, block))
		marker->wide_next[marker->nr_wide_next++] = block;
}

static void lose(struct marker *marker, uint32_t from, uint32_t block)
{
	struct packed_block *held = marker_at(marker, block);

	if (block == marker->clique) {
		if (from != block)
			marker->ret->offset[block] = REACH_RING;
		return;
	}
	if (held->state == UNREACHED)
		reach_words_set_state(marker, block, INDIRECT);
	else if (held->state == DEFINITE)
		held->state = INDIRECT;		/* all blocks behind it are lost already */
	else
		return;
	marker->ret->leader[block] = marker->clique + 1;
}

/* Is a block likely by an inner pointer from here? If not, it may be so later. */
static bool is_likely(struct marker *marker, uint32_t from, const struct graph_edge *edge)
{
	if (marker->strength > FAIR || from == edge->to ||
	    marker_at(marker, edge->to)->state >= LIKELY)
		return false;
	if (marker->strength == FAIR &&
	    !reach_evidence_is_left_over(marker, from, edge->to, edge->offset) &&
	    reach_likely_mark(marker, edge->to, edge->offset,
			      reach_evidence_is_link(marker, from, edge->to, edge->offset)))
		return true;
	reach_evidence_note(marker, from, edge->to, edge->offset);
	return false;
}

static void reach(struct marker *marker, uint32_t from, const struct graph_edge *edge)
{
	static const enum state states[] = {
		[FIRM] = REACHABLE, [FAIR] = LIKELY, [WEAK] = POSSIBLE,
	};
	uint32_t block = edge->to;
	enum state to;

	if (marker->strength == LOST) {
		lose(marker, from, block);
		return;
	}
	if (edge->strong)
		to = states[marker->strength];
	else
		to = is_likely(marker, from, edge) ? LIKELY : POSSIBLE;
	if (marker_at(marker, block)->state >= to)
		return;
	if (marker->holder && marker_at(marker, block)->state == UNREACHED)
		marker->ret->holder[block] = marker->holder;
	reach_words_set_state(marker, block, to);
}

/* The following words are those of another block. */
static void end_keeping(struct marker *marker)
{
	uint32_t block = marker->keeping;

	marker->keeping = EXTENT_NONE;
	if (block == EXTENT_NONE)
		return;
	marker_at(marker, block)->kept = pointer_graph_end(&marker->graph, block);
	/* It may have been reached while it was read, before it was known to have pointers. */
	if (marker_at(marker, block)->state != UNREACHED)
		reach_words_set_state(marker, block, marker_at(marker, block)->state);
}

/* Blocks that a reachable block points to are reachable, too. */
static bool is_kept(const struct marker *marker, uint32_t of)
{
	return marker->gathering &&
	       (marker->keeping == of || marker_at(marker, of)->state != REACHABLE);
}

static void keep(struct marker *marker, uint32_t from, const struct graph_edge *edge)
{
	if (marker->keeping != from) {
		end_keeping(marker);
		marker->keeping = from;
		pointer_graph_begin(&marker->graph);
	}
	if (edge->to != from && marker_at(marker, edge->to)->state != REACHABLE)
		pointer_graph_add(&marker->graph, edge);
}

static void take_edge(struct marker *marker, uint32_t of, const struct graph_edge *edge, bool kept)
{
	if (kept)
		keep(marker, of, edge);
	else
		reach(marker, of, edge);
}

/* Handle a word that is an address in a block. `of`: the block that it is in, while gathering. */
static void found(struct marker *marker, const struct extent_found *is, uint64_t address,
		  uint32_t of)
{
	const struct packed_block *held = marker_at(marker, is->block);
	struct graph_edge edge = { .to = is->block, .strong = address == held->address };
	bool kept = is_kept(marker, of);

	if (held->state == REACHABLE || held->state == INDIRECT || (kept && is->block == of))
		return;
	if (!kept && held->state == POSSIBLE && marker->strength == WEAK)
		return;
	if (!edge.strong && (kept || marker->strength <= FAIR)) {
		struct block block = packed_block(marker->list, is->block);

		edge.strong = heuristic_applies(&marker->heuristic, &block, address);
	}
	if (!edge.strong)
		edge.offset = (uint32_t)MIN(address - held->address, (uint64_t)GRAPH_OFFSET_MAX);
	take_edge(marker, of, &edge, kept);
	if (is->outer == EXTENT_NONE)
		return;
	edge.to = is->outer;
	edge.offset = 0;
	take_edge(marker, of, &edge, kept);
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

void reach_words_end(struct marker *marker)
{
	look_up_words(marker);
	end_keeping(marker);
}

void reach_words(struct marker *marker, const uint64_t *word, size_t nr)
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

void reach_words_reach_target(struct marker *marker)
{
	struct target target = marker->target[marker->first_target++ % REACH_TARGETS];

	marker->nr_targets--;
	marker->strength = target.strength;
	reach(marker, target.from, &target.edge);
}

void reach_words_follow(struct marker *marker, uint32_t block, enum strength strength)
{
	struct graph_cursor at = graph_of(&marker->graph, block);
	struct target target = { .from = block, .strength = strength };

	while (graph_next(&marker->graph, &at, &target.edge)) {
		if (marker->nr_targets == REACH_TARGETS)
			reach_words_reach_target(marker);
		__builtin_prefetch(marker_at(marker, target.edge.to), 1);
		if (marker->holder)
			__builtin_prefetch(&marker->ret->holder[target.edge.to], 1);
		if (target.edge.offset)
			__builtin_prefetch(&marker->ret->offset[target.edge.to], 1);
		marker->target[(marker->first_target + marker->nr_targets++) % REACH_TARGETS] =
										  target;
	}
}

enum strength reach_words_strength_of(const struct marker *marker, uint32_t block)
{
	if (marker->strength == LOST)
		return LOST;
	switch (marker_at(marker, block)->state) {
	case REACHABLE:
		return FIRM;
	case LIKELY:
		return FAIR;
	default:
		return WEAK;
	}
}

void reach_words_follow_ready(struct marker *marker, uint32_t left)
{
	while (marker->nr_ready > left || (!left && marker->nr_targets)) {
		uint32_t block = marker->ready[marker->first_ready % REACH_READY];

		if (!marker->nr_ready) {
			reach_words_reach_target(marker);
			continue;
		}
		if (marker->nr_ready > AHEAD)
			graph_prefetch_first(
				&marker->graph,
				marker->ready[(marker->first_ready + AHEAD) % REACH_READY]);
		marker->first_ready++;
		marker->nr_ready--;
		marker_at(marker, block)->ready = false;
		reach_words_follow(marker, block, reach_words_strength_of(marker, block));
	}
}
