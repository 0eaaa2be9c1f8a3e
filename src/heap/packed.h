/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * All blocks of a process, side by side, for the search for leaks: twenty million are 800 MB as
 * struct block, and as much again while they are sorted. So a block is 16 bytes here, with the
 * state of the search in it; its time and thread (`timed`) are kept only if a caller needs them.
 * The blocks are sorted in place, and blocks that only the heap walk has are merged in place.
 *
 *	packed_from_log, or packed_add for each and packed_sort
 *	packed_merge_walk or packed_merge_past
 *
 * Then malloc's blocks are in order of address, and behind them the user's own (block.h), too.
 */
#pragma once

#include "heap/block.h"

#define PACKED_MOST	(1u << 30)	/* blocks */

struct packed_block {
	uint64_t address : 48;
	uint64_t user : 1;		/* of an allocator that the user has named */
	uint64_t preattach : 1, unrecorded : 1, freed : 1;	/* as in struct block */
	uint64_t large : 1;		/* size is the index of one that does not fit */
	/*
	 * For the search (reach.c). After it, state is the block's enum leak_kind, and likely its
	 * enum likely.
	 */
	uint64_t state : 3, pending : 1, ready : 1, kept : 2, noted : 1, likely : 3;
	uint32_t size;
	uint32_t stack;
};

/* Members that only some searches need. */
struct packed_timed {
	struct packed_block held;
	uint64_t time;
	uint32_t thread;
	uint8_t rate;			/* as in struct block */
};

_Static_assert(sizeof(struct packed_block) == 16 && sizeof(struct packed_timed) == 32,
	       "found by shifts");

/* The heap of the blocks from this address on. */
struct packed_heap {
	uint64_t from;
	uint16_t heap;
};

struct packed_list {
	uint8_t *at;			/* nr items: struct packed_block, or packed_timed */
	size_t nr, room;
	size_t most;			/* the expected number of blocks, if it is known; else 0 */
	bool timed;
	uint8_t process;
	size_t nr_outer;		/* malloc's; sorted lists only */
	VEC(uint64_t) large;
	/* heaps of malloc's blocks, by address; if empty, none is known */
	VEC(struct packed_heap) heaps;
	struct live_counts live;	/* of the log, including those of other processes */
	uint64_t others;		/* blocks of other processes, left out */
};

#define PACKED_INIT	{ .at = NULL }

static inline size_t packed_stride(const struct packed_list *list)
{
	return list->timed ? sizeof(struct packed_timed) : sizeof(struct packed_block);
}

static inline struct packed_block *packed_at(const struct packed_list *list, size_t i)
{
	return (struct packed_block *)(void *)(list->at + (i << (4 + list->timed)));
}

/* Returns a block of a list with times. */
static inline struct packed_timed *packed_timed_at(const struct packed_list *list, size_t i)
{
	return (struct packed_timed *)(void *)(list->at + i * sizeof(struct packed_timed));
}

static inline uint64_t packed_size(const struct packed_list *list, const struct packed_block *held)
{
	return held->large ? list->large.at[held->size] : held->size;
}

/* In a list without times and threads both are 0. */
struct block packed_block(const struct packed_list *list, size_t i);
/*
 * Returns the index of the first of malloc's blocks behind address; if all start at or before it:
 * nr_outer.
 */
size_t packed_behind(const struct packed_list *list, uint64_t address);

/*
 * Add one at the end. ERR_NOMEM, ERR_RANGE: too many, or too many that are large (base/limits.h).
 */
struct err *packed_add(struct packed_list *list, const struct block *block) MUST_CHECK;
/*
 * Sort by address. Of two blocks at one address the younger one stays; if there may be such, the
 * list must have times. *doubles_ret (may be NULL) is how many were dropped. ERR_NOMEM.
 */
struct err *packed_sort(struct packed_list *list, size_t *doubles_ret) MUST_CHECK;
/* Drop those of the user's own blocks of which fn says so. */
void packed_drop_user(struct packed_list *list, bool (*fn)(const void *ctx, uint64_t address),
		      const void *ctx);
void packed_free(struct packed_list *list);

struct heap_walk;
struct walk_merge;
struct word_list;

struct packed_source {
	const struct log *log;
	const struct in_hand *in_hand;	/* may be NULL */
	uint64_t until;			/* younger blocks are left out */
	uint8_t process;		/* whose blocks are wanted */
	bool timed;
};

/* All blocks of the log, sorted. */
struct err *packed_from_log(const struct packed_source *source, struct packed_list *ret) MUST_CHECK;

/*
 * Add two things from a walk with notes to the blocks of the log (of the walk's process): the heap
 * of each block, and the blocks that only the walk has (NOTE_EARLY). On failure the list is as
 * before.
 */
struct err *packed_merge_walk(struct packed_list *list, const struct heap_walk *walk,
			      bool complete) MUST_CHECK;
/*
 * Merge a walk of an earlier moment, when the log has gone on since; the log is asked about chunks
 * that have no record in the list (reconcile.h). All chunks that are blocks get their notes;
 * left_out as in reconcile_merge.
 */
struct err *packed_merge_past(struct packed_list *list, struct heap_walk *walk,
			      const struct walk_merge *merge,
			      struct word_list *left_out) MUST_CHECK;
