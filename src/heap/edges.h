/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pointers from block to block, kept while all blocks are read once, from front to back: who is found to
 * be reachable later need not be read again. Four bytes a pointer; a block's lie side by side, those of
 * a group of blocks one behind the other, so that one place is noted for a group.
 *
 * There is room for somewhat more of them than there are blocks. What does not fit is not kept, and
 * the block is read again.
 */
#ifndef HEAP_EDGES_H
#define HEAP_EDGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct held_list;

/* Of a block (struct held, kept). */
enum edges_kept {
	EDGES_UNREAD,		/* it must be read */
	EDGES_KEPT,
	EDGES_NONE,		/* nothing more is to be learned from it */
};

#define EDGES_GROUP	8u

struct edges {
	uint32_t *at;		/* block * 4, | 2: to its start; | 1: the last of its block */
	uint32_t *group;	/* where those of a group begin */
	size_t nr, room;
	size_t begun;		/* those of the block at hand */
	bool full;		/* they did not fit */
};

/* For so many blocks; without memory none are kept. */
void edges_init(struct edges *edges, size_t nr_blocks);
void edges_free(struct edges *edges);

/* Those of a block, behind all that have been added so far. */
void edges_begin(struct edges *edges);
void edges_add(struct edges *edges, uint32_t to, bool strong);
enum edges_kept edges_end(struct edges *edges, uint32_t block);

/* Of a block that will be asked for soon, and then of one that will be asked for next. */
static inline void edges_prefetch(const struct edges *edges, uint32_t block)
{
	__builtin_prefetch(&edges->group[block / EDGES_GROUP]);
}

static inline void edges_prefetch_first(const struct edges *edges, uint32_t block)
{
	__builtin_prefetch(&edges->at[edges->group[block / EDGES_GROUP]]);
}

struct edge_at {
	size_t next;
	bool last;
};

/* Those of a block that is EDGES_KEPT, as all are of which this was said. */
struct edge_at edges_of(const struct edges *edges, const struct held_list *list, uint32_t block);
static inline bool edges_next(const struct edges *edges, struct edge_at *at, uint32_t *to_ret,
			      bool *strong_ret)
{
	uint32_t edge;

	if (at->last)
		return false;
	edge = edges->at[at->next++];
	*to_ret = edge >> 2;
	*strong_ret = edge & 2;
	at->last = edge & 1;
	return true;
}

#endif
