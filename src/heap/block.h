/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks: what `malloc allocations` lists. From the log (each with thread, time, stack); the heap
 * walk adds those from before the attach, when there is one. Scans of the log while it is
 * written are consistent per block. There may be ten million, so that who need not have all of them
 * side by side adds them up as they come (blocks_each), or reads them in pieces (list.h); the search for
 * leaks has a form of its own for them (held.h).
 *
 * Walk minus log
 *
 * A block that the heap has and the log has not was allocated before the attach, if both were read
 * in one stop of the target and nothing else explains it. What else there is:
 *
 *	sampling, a full table, probes that were out for a while, a reset: not complete, and all such
 *	blocks are `unrecorded`
 *
 *	a free under way: the record is out, the chunk not yet free. The log still knows the address
 *	(log_knew), and an address that was recorded once cannot be that of an older block
 *
 *	a malloc under way: the chunk is taken, the record not yet in. Then the thread that runs it
 *	has the address in a register or on the top of its stack, among other words (clues). Such a
 *	block is left out; who can let the target run for a moment looks again. A block that nothing
 *	pointed to at an earlier look (sure) is what it seems, as long as none that no record knows
 *	was freed since; one that is left out now and was no block at an earlier look is not from
 *	before the attach
 *
 * A walk of an earlier moment (a snapshot), with a log that has gone on. Blocks of the log are those
 * whose records are older. What a chunk that was held then, and has no such record, may have been:
 *
 *	a block that was freed since, or was being freed: its record is mostly still to be found
 *	(log_past), or a younger one of the same address. It is marked as freed: who freed it had its
 *	address, so that it is no leak. If its place in the log is gone, it is as the next
 *
 *	a block from before the attach: `unrecorded`, if anything was freed since, and no leak unless
 *	the snapshot has no pointer to it
 *
 *	a block that was being allocated, or moved: its record, should it have one by now, may be of
 *	before or of after; its thread has its address
 *
 *	no block: a chunk that the allocator itself had in hand. malloc_consolidate takes a fastbin's
 *	chunks out of all lists before it frees them one by one; but for links that are masked
 *	only its thread's registers lead to them. So it must be known who is inside the allocator
 *	(session/view.c): what his words lead to is left out, and what is in it is searched as a root
 *
 * The last two come of threads that are inside; as long as any of theirs is left out, who can do so
 * makes another snapshot.
 */
#ifndef HEAP_BLOCK_H
#define HEAP_BLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "log/log.h"
#include "log/sample.h"

struct block {
	uint64_t address;	/* in its process */
	uint64_t size;
	uint64_t time;		/* time stamp; 0: from before the attach */
	uint32_t thread;	/* registry index */
	uint32_t stack;
	uint16_t heap;		/* arena, LOG_HEAP_MMAP, LOG_HEAP_USER (by its domain) or LOG_HEAP_UNKNOWN */
	bool preattach;		/* it is in no record: from the walk */
	uint8_t process;	/* its number: LOG_PROCESS_SHIFT */
	bool unrecorded;	/* preattach, and perhaps not from before the attach */
	uint8_t free_kind;	/* of a free chunk (enum chunk_kind, `malloc freespace`); 0 */
	bool freed;		/* since the moment of the walk, so that somebody had its address */
};

/* By stack id: how many blocks all that are live stand for, whatever a filter keeps of them. */
struct live_counts {
	uint64_t *at;
	size_t nr, room;
};

struct blocks {
	VEC(struct block) vec;
	struct live_counts live;
};

#define BLOCKS_INIT	{ VEC_INIT, VEC_INIT }

/*
 * What a block stands for in sums, where the log samples one in `mean` bytes: itself if mean is 0.
 */
struct sample_share block_share(uint64_t mean, const struct block *block);


/* None yet, of any stack of the log. */
struct err *live_counts_init(const struct log *log, struct live_counts *ret) MUST_CHECK;
/* Ids that no stack can have are the business of nobody. */
static inline void live_counts_add(struct live_counts *live, uint64_t mean,
				   const struct block *block)
{
	if (block->stack < live->nr)
		live->at[block->stack] += block_share(mean, block).blocks;
}

/* Records that are live and not in the table: those that a realloc has in hand. */
struct in_hand {
	VEC(struct log_record) vec;
};

/* slot is where its record is (log_slot); 0: in hand. */
typedef struct err *blocks_each_fn(const struct block *block, uint64_t slot, void *ctx);
/*
 * Call fn for each block of the log, and for those in hand (may be NULL), in no order, until it
 * returns an error. While others write, a block that lives all the time comes once; an address that
 * is freed and given out again meanwhile may come twice, as two blocks.
 */
struct err *blocks_each(const struct log *log, const struct in_hand *in_hand,
			blocks_each_fn *fn, void *ctx) MUST_CHECK;

/*
 * All blocks of the log, and those in hand (may be NULL), sorted by domain, process and address. Of
 * two at one address the younger is the block.
 */
struct err *blocks_from_log(const struct log *log, const struct in_hand *in_hand,
			    struct blocks *ret) MUST_CHECK;
void blocks_free(struct blocks *blocks);
/*
 * How many there are, by the accounts; 0 where these say more than the tables have room for: then they are
 * damaged, and memory is taken as records are found.
 */
uint64_t blocks_expected(const struct log *log);

/* What blocks are sorted by: domain, process, address. No two are equal. */
static inline uint64_t block_key(const struct block *block)
{
	return block->address | (uint64_t)block->process << LOG_PROCESS_SHIFT |
	       (block->heap == LOG_HEAP_USER ? LOG_DOMAIN_USER : 0);
}

/* Sort; of two with one key the younger stays. */
struct err *blocks_sort(struct blocks *blocks) MUST_CHECK;
struct block block_of_record(const struct log_record *record);

struct heap_chunk;
struct heap_walk;

struct addresses {
	VEC(uint64_t) vec;		/* sorted */
};

struct held_list;

struct walk_merge {
	const struct log *log;		/* NULL: none */
	const struct in_hand *in_hand;
	const struct held_list *held;	/* all blocks of both, sorted; NULL: the log is to be read */
	uint8_t process;		/* whose heaps they are */
	bool complete;
	uint64_t until;			/* of held_merge_past: time stamp of the walk's moment */
	const uint64_t *clue;		/* words, sorted */
	size_t nr_clues;
	const uint64_t *sure;		/* addresses, sorted */
	size_t nr_sure;
};

/*
 * Note in each chunk of the walk whether the log has its block (NOTE_RECORDED), or it is one from
 * before the attach (NOTE_EARLY). Addresses of those that were left out for a clue are added to
 * left_out, which is empty before.
 */
struct err *walk_merge(struct heap_walk *walk, const struct walk_merge *merge,
		       struct addresses *left_out) MUST_CHECK;

/*
 * May a call that is under way have it? By its block, its chunk, or the chunk behind it: a chunk that
 * is merged with a free one before it is no longer known by its own address, and not yet free.
 */
bool walk_merge_in_hand(const struct walk_merge *merge, const struct heap_chunk *chunk);

/* That of a chunk in no record, or of a free one. */
struct block block_of_chunk(const struct heap_chunk *chunk, uint8_t process, bool complete);
#endif
