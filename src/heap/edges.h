/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pointers from block to block, kept while all blocks are read once, from front to back: a block
 * that is found to be reachable later is not read again. A pointer takes four bytes. The pointers
 * of a block lie side by side, and those of a group of blocks one behind the other, so that one
 * place is noted for a group, and which of its blocks have any.
 *
 * There is room for somewhat more pointers than there are blocks. If those of a block do not fit,
 * they are not kept, and the block is read again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a block's pointers (struct held, kept). */
enum edges_kept {
	EDGES_UNREAD,		/* it must be read */
	EDGES_KEPT,
	EDGES_NONE,		/* nothing more is to be learned from it */
};

#define EDGES_GROUP	16u

struct edges_group {
	uint32_t first;		/* where they begin */
	uint32_t kept;		/* bits by block: has it any? */
};

#define EDGES_STRONG	2u
#define EDGES_LAST	1u

struct edges {
	uint32_t *at;		/* block * 4, | STRONG: to its start; | LAST: of its block */
	struct edges_group *group;
	size_t nr, room;
	size_t begun;		/* those of the block at hand */
	bool full;		/* they did not fit */
};

/* For so many blocks; without memory none are kept. */
void edges_init(struct edges *edges, size_t nr_blocks);
void edges_free(struct edges *edges);

/* The pointers of one block, behind all that have been added so far. */
void edges_begin(struct edges *edges);
void edges_add(struct edges *edges, uint32_t to, bool strong);
enum edges_kept edges_end(struct edges *edges, uint32_t block);

/* For a block that will be asked for soon, and then for one that will be asked for next. */
static inline void edges_prefetch(const struct edges *edges, uint32_t block)
{
	__builtin_prefetch(&edges->group[block / EDGES_GROUP]);
}

static inline void edges_prefetch_first(const struct edges *edges, uint32_t block)
{
	__builtin_prefetch(&edges->at[edges->group[block / EDGES_GROUP].first]);
}

struct edge_at {
	size_t next;
	bool last;
};

/* The pointers of a block for which edges_end has returned EDGES_KEPT. */
static inline struct edge_at edges_of(const struct edges *edges, uint32_t block)
{
	const struct edges_group *group = &edges->group[block / EDGES_GROUP];
	uint32_t before = group->kept & ((1u << block % EDGES_GROUP) - 1);
	size_t next = group->first;

	for (int left = __builtin_popcount(before); left; next++)
		left -= edges->at[next] & EDGES_LAST;
	return (struct edge_at){ next, false };
}

static inline bool edges_next(const struct edges *edges, struct edge_at *at, uint32_t *to_ret,
			      bool *strong_ret)
{
	uint32_t edge;

	if (at->last)
		return false;
	edge = edges->at[at->next++];
	*to_ret = edge >> 2;
	*strong_ret = edge & EDGES_STRONG;
	at->last = edge & EDGES_LAST;
	return true;
}
