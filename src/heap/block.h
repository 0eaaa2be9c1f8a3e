/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks: what `malloc allocations` lists. From the log (each with thread, time, stack); the heap
 * walk adds those from before the attach, when there is one. A scan of the log while it is written
 * is consistent for each block. There may be ten million blocks, so a caller that does not need all
 * of them at once adds them up as they come (blocks_each), or reads them in pieces (block_list.h).
 * The search for leaks has a form of its own for them (packed.h).
 */
#pragma once

#include "base/vec.h"
#include "log/log.h"
#include "log/sample.h"

struct block {
	uint64_t address;	/* in its own process */
	uint64_t size;
	uint64_t time;		/* time stamp; 0: from before the attach */
	uint32_t thread;	/* registry index */
	uint32_t stack;
	/* arena, LOG_HEAP_MMAP, LOG_HEAP_USER (by its domain) or LOG_HEAP_UNKNOWN */
	uint16_t heap;
	bool preattach;		/* it is in no record: from the walk */
	uint8_t process;	/* number of the process: LOG_PROCESS_SHIFT */
	bool unrecorded;	/* preattach is set, but it may not be from before the attach */
	uint8_t free_kind;	/* of a free chunk (enum chunk_kind, `malloc freespace`); 0 */
	/* it was freed after the moment of the walk, so somebody had its address */
	bool freed;
	uint8_t rate;		/* as in struct log_record */
	uint64_t usable;	/* bytes that malloc_usable_size gives; 0: not walked */
};

/*
 * For each stack id: what its live blocks stand for, all of them, also those that a filter drops.
 */
struct live_counts {
	struct sample_share *at;
	size_t nr, room;
};

struct blocks {
	VEC(struct block) vec;
	struct live_counts live;
};

#define BLOCKS_INIT	{ VEC_INIT, VEC_INIT }

/*
 * How many blocks a block stands for in sums, if the log samples one in `mean` bytes, or by the
 * block's own rate if it has one; itself if mean is 0.
 */
struct sample_share block_share(uint64_t mean, const struct block *block);

/* Begin with no blocks, with room for all stacks of the log. */
struct err *block_live_counts_init(const struct log *log, struct live_counts *ret) MUST_CHECK;
/* Ids that no stack can have are ignored. */
static inline void live_counts_add(struct live_counts *live, uint64_t mean,
				   const struct block *block)
{
	struct sample_share share;

	if (block->stack >= live->nr)
		return;
	share = block_share(mean, block);
	live->at[block->stack].blocks += share.blocks;
	live->at[block->stack].bytes += share.bytes;
}

/* The same for a block of a scan, whose stack may have been added after block_live_counts_init. */
static inline struct err *live_counts_meet(const struct log *log, struct live_counts *live,
					   uint64_t mean, const struct block *block)
{
	if (UNLIKELY(block->stack >= live->nr) && block->stack <= reader_stacks(log) &&
	    !vec_slot(live, block->stack))
		return err_nomem;
	live_counts_add(live, mean, block);
	return NULL;
}

/* Records that are live but not in the table, because a realloc has them in hand. */
struct in_hand {
	VEC(struct log_record) vec;
};

/* slot is the place of its record (reader_slot); 0: in hand. */
typedef struct err *blocks_each_fn(const struct block *block, uint64_t slot, void *ctx);
/*
 * Call fn for each block of the log, and for those in hand (may be NULL), in no order, until it
 * returns an error. While others write, a block that lives all the time comes once; an address that
 * is freed and given out again meanwhile may come twice, as two blocks.
 */
struct err *blocks_each(const struct log *log, const struct in_hand *in_hand,
			blocks_each_fn *fn, void *ctx) MUST_CHECK;

/*
 * All blocks of the log, and those in hand (may be NULL), sorted by domain, process and address. If
 * there are two at one address, the younger one counts.
 */
struct err *blocks_from_log(const struct log *log, const struct in_hand *in_hand,
			    struct blocks *ret) MUST_CHECK;
void blocks_free(struct blocks *blocks);
/*
 * The number of blocks by the accounts. 0: they say more than the tables have room for, so they are
 * damaged, and memory must be taken as records are found.
 */
uint64_t blocks_expected(const struct log *log);

/* Blocks are sorted by this: domain, process, address. No two keys are equal. */
static inline uint64_t block_key(const struct block *block)
{
	return block->address | (uint64_t)block->process << LOG_PROCESS_SHIFT |
	       (block->heap == LOG_HEAP_USER ? LOG_DOMAIN_USER : 0);
}

/* "mmap", "user" (by its domain), "-" (not known); NULL: it has a number. */
const char *block_heap_name(uint16_t heap);

/* Sort; if two have one key, the younger one stays. */
struct err *blocks_sort(struct blocks *blocks) MUST_CHECK;
struct block block_of_record(const struct log_record *record);

struct heap_chunk;

/* The block of a chunk that is in no record, or is free. */
struct block block_of_chunk(const struct heap_chunk *chunk, uint8_t process, bool complete);
