/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Pointers from block to block, kept while all blocks are read once, from front to back: a block
 * that is found to be reachable later is not read again. A pointer takes four bytes. The pointers
 * of a block lie side by side, and those of a group of blocks one behind the other, so that one
 * place is noted for a group, and which of its blocks have any.
 *
 * A pointer to a block's inside takes four bytes more, for where it points to.
 *
 * There is room for somewhat more pointers than there are blocks. If those of a block do not fit,
 * they are not kept, and the block is read again.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The state of a block's pointers (struct packed_block, kept). */
enum graph_kept {
	GRAPH_UNREAD,		/* it must be read */
	GRAPH_KEPT,
	GRAPH_NONE,		/* nothing more is to be learned from it */
};

#define GRAPH_GROUP	16u

struct graph_group {
	uint32_t first;		/* where they begin */
	uint32_t kept;		/* a bit for each block: does it have any pointers? */
};

#define GRAPH_STRONG	2u
#define GRAPH_LAST	1u
#define GRAPH_OFFSET_MAX	((1u << 30) - 1)

struct graph_edge {
	uint32_t to;
	uint32_t offset;	/* in the block, GRAPH_OFFSET_MAX at most; 0: strong, or unknown */
	bool strong;
};

struct pointer_graph {
	/*
	 * block * 4, | STRONG: it counts as one to the start; else offset * 4 follows. | LAST: of
	 * its block, and nothing follows.
	 */
	uint32_t *at;
	struct graph_group *group;
	size_t nr, room;
	size_t begun;		/* those of the block at hand */
	size_t last;		/* the last of these */
	bool full;		/* they did not fit */
};

/* For so many blocks; without memory none are kept. */
void pointer_graph_init(struct pointer_graph *graph, size_t nr_blocks);
void pointer_graph_free(struct pointer_graph *graph);

/* The pointers of one block, behind all that have been added so far. */
void pointer_graph_begin(struct pointer_graph *graph);
void pointer_graph_add(struct pointer_graph *graph, const struct graph_edge *edge);
enum graph_kept pointer_graph_end(struct pointer_graph *graph, uint32_t block);

/* For a block that will be asked for soon, and then for one that will be asked for next. */
static inline void graph_prefetch(const struct pointer_graph *graph, uint32_t block)
{
	__builtin_prefetch(&graph->group[block / GRAPH_GROUP]);
}

static inline void graph_prefetch_first(const struct pointer_graph *graph, uint32_t block)
{
	__builtin_prefetch(&graph->at[graph->group[block / GRAPH_GROUP].first]);
}

struct graph_cursor {
	size_t next;
	bool last;
};

/* The pointers of a block for which pointer_graph_end has returned GRAPH_KEPT. */
static inline struct graph_cursor graph_of(const struct pointer_graph *graph, uint32_t block)
{
	const struct graph_group *group = &graph->group[block / GRAPH_GROUP];
	uint32_t before = group->kept & ((1u << block % GRAPH_GROUP) - 1);
	size_t next = group->first;

	for (int left = __builtin_popcount(before); left; next++)
		left -= graph->at[next] & GRAPH_LAST;
	return (struct graph_cursor){ next, false };
}

static inline bool graph_next(const struct pointer_graph *graph, struct graph_cursor *at,
			      struct graph_edge *ret)
{
	uint32_t word;

	if (at->last)
		return false;
	word = graph->at[at->next++];
	*ret = (struct graph_edge){ .to = word >> 2, .strong = word & GRAPH_STRONG };
	if (!ret->strong) {
		word = graph->at[at->next++];
		ret->offset = word >> 2;
	}
	at->last = word & GRAPH_LAST;
	return true;
}
