/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All pointers of a process: from block to block, and from roots to blocks. It is made in one pass
 * over the memory, and needs neither that nor the process afterwards.
 *
 * The search for leaks (reach.h) keeps those pointers alone that it has not followed yet
 * (pointer_graph.h). Who asks which way leads to a block (block_path.h), or what a block keeps
 * (dominators.h), needs all of them. A pointer takes four bytes, and a block four more; what is kept
 * for further ways takes some 1.5 bytes a pointer, and four a block (turned_graph.h).
 *
 * Each aligned word that is an address in a block is a pointer to it, wherever in the block it
 * points: what an intrusive list, a string with a header or an object of Python holds, it holds by
 * inner pointers. So blocks that the search for leaks calls possibly lost are held here.
 *
 * Nested blocks: a pointer to an inner block is one to the block around it, too.
 */
#pragma once

#include "heap/reach/turned_graph.h"
#include "heap/reach/word_scan.h"

#define BLOCK_GRAPH_MOST	(UINT32_MAX - 16)	/* pointers */

/* A word of a root that points to a block. */
struct graph_root {
	uint64_t place;		/* its address; WORD_ALONE: its index in source.word */
	uint32_t block;
	uint32_t in;		/* enum word_in */
};

struct block_graph {
	uint32_t nr;			/* blocks, as in the list */
	/* nr + 1: those of block i are to.at[first[i] .. first[i + 1]]; NULL: only `turned` is left */
	uint32_t *first;
	VEC(uint32_t) to;		/* blocks; not to the block itself */
	/*
	 * The first nr_firm are of memory that is certainly in use, and the rest of stacks, then of
	 * registers: those words may be left over from earlier calls.
	 */
	VEC(struct graph_root) roots;
	size_t nr_firm;
	struct reach_unread unread_roots, unread_blocks;
	/*
	 * Of dominators_build: who points to whom, without what lost blocks point to beside each
	 * other. Its vertices are those of struct dominators.
	 */
	struct turned_graph turned;
};

/* ERR_CANCELLED; ERR_NOMEM; ERR_RANGE: too many blocks or pointers. */
struct err *block_graph_build(const struct reach_source *source,
			      struct block_graph *ret) MUST_CHECK;
/* It may be called on zeros. */
void block_graph_free(struct block_graph *graph);
