/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each block keeps: the blocks that nothing would lead to any more if it were not there. These
 * are the blocks that it dominates: every way from a root to them leads through it. Each block has
 * one immediate dominator, the last block on all ways to it, so that all blocks are a tree.
 *
 * The roots come in groups, as the caller names them: a variable, the frames of a function. A group
 * is a vertex, too, and keeps what no other group leads to. Vertices:
 *
 *	0 .. nr - 1	the blocks
 *	nr ..		the groups; the last one stands for nothing: it leads to what is lost, by
 *			the blocks through which all of that is (source_blocks.h). What lost blocks
 *			point to counts among themselves alone.
 *	top		above all groups: it keeps directly what several groups lead to
 *
 * Words of stacks and registers may be left over from an earlier call, and a function that walks
 * along a list does not own it. So such a word is a root only if nothing that comes before it leads
 * to its block: first all other roots, then groups by their number. This is the rule of the search
 * for leaks (struct reach_holder).
 *
 * The algorithm is semi-NCA (Georgiadis, 2005): the semidominators of Lengauer and Tarjan with path
 * compression; then, from the top down, the dominator of a vertex is the first dominator of its
 * parent that is not below its semidominator. That one is searched for by jumps, so that all takes
 * O(pointers * log blocks), whatever the memory holds. Without them it is quadratic on two chains with
 * rungs, as lists with a table beside them have; so is the simple iterative one of Cooper, Harvey and
 * Kennedy. Lengauer and Tarjan's own second half takes 4 bytes a block more. Nothing is recursive: a list of
 * ten million blocks would be as deep. The search in depth keeps its way back in the numbers of
 * parents, and a cursor for each vertex.
 *
 * Memory, in bytes a block, for one pointer a block and 16 bytes of the list: 24 with the graph; 36
 * during the search in depth, and while the pointers are turned round. These are packed then
 * (turned_graph.h), and the graph is freed: 34 for the algorithm itself, and at the end. Parents
 * need not be noted, as those who point to a vertex tell its parent.
 */
#pragma once

#include "heap/reach/block_graph.h"

#define DOMINATORS_NO_GROUP	UINT32_MAX

struct dominators_source {
	/*
	 * It gets the pointers that count turned round, for block_path_find. Unless `keep`, its first
	 * and to are freed as soon as they are not needed.
	 */
	struct block_graph *graph;
	bool keep;
	const struct packed_list *list;		/* has the sizes */
	/*
	 * For each root of the graph: its group, or DOMINATORS_NO_GROUP: it does not count. Words
	 * of stacks and registers that turn out not to count get that.
	 */
	uint32_t *group_of;
	uint32_t nr_groups;
};

struct dominators {
	uint32_t nr, nr_groups;		/* blocks; groups, with that of what is lost */
	uint32_t top;			/* the last vertex */
	uint32_t *of;			/* by vertex: its immediate dominator; of top: top */
	/* By vertex: the bytes and blocks that it keeps; its own are among them. */
	uint32_t *some;			/* dominators_bytes */
	VEC(uint64_t) large;
	uint32_t *blocks;
};

/* What keeps so many bytes has its number in `large`, and this is added to that: few vertices do. */
#define DOMINATORS_LARGE	0xb0000000u

static inline uint64_t dominators_bytes(const struct dominators *dominators, uint32_t vertex)
{
	uint32_t some = dominators->some[vertex];

	return some < DOMINATORS_LARGE ? some : dominators->large.at[some - DOMINATORS_LARGE];
}

static inline uint32_t dominators_group(const struct dominators *dominators, uint32_t group)
{
	return dominators->nr + group;
}

static inline uint32_t dominators_lost(const struct dominators *dominators)
{
	return dominators->top - 1;
}

/* What each vertex keeps of some of the blocks; by vertex. */
struct dominator_sums {
	uint64_t *bytes;
	uint32_t *blocks;
};

/* ERR_CANCELLED; ERR_NOMEM; ERR_RANGE: too many roots. */
struct err *dominators_build(const struct dominators_source *source,
			     struct dominators *ret) MUST_CHECK;
/* Add up those blocks whose byte in `counts` is not 0. ERR_NOMEM. */
struct err *dominators_sum(const struct dominators *dominators, const struct packed_list *list,
			   const uint8_t *counts, struct dominator_sums *ret) MUST_CHECK;
void dominator_sums_free(struct dominator_sums *sums);
/* It may be called on zeros. */
void dominators_free(struct dominators *dominators);
