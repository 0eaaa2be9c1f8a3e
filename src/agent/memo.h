/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verified walk cache: what a thread remembers of its stack walks.
 *
 * An entry says: a walk that began at this (PC, SP), with this BP if a rule used it before it was
 * restored from the stack, read these stack slots and found these values; it came to this stack id.
 * If all the slots still hold the same values, and the module map is of the same generation, a walk
 * would read the same words and come to the same stack: it is not walked. Return addresses are
 * slots; a saved BP is one only if a later rule used it (BP is an ordinary register in most code:
 * if it were always compared, the cache would never hit), and likewise any other word that a rule
 * read (DRAP, RBX). A walk over a signal frame is never remembered. Depth and upper bound are
 * compared, as a walk depends on them too. It depends on what the areas hold as well: whoever uses
 * a slot of an area for something else must change the generation.
 *
 * Finding
 *
 *	index		hash -> item; buckets of MEMO_WAYS places, each with 16 bits of the hash
 *	item		an entry: to be verified. Or a branch: read these stack words, mix them
 *			into the hash, and look there
 *
 * One (PC, SP) may have many stacks: sixteen functions of equal frames, called by turns, make 256.
 * So when a stack is met where an entry of another one stands, a branch takes its place, with up to
 * MEMO_WORDS words in which the two differ and which are slots of both; or the branch that led
 * there gets more of them. (BP, where both used it, is such a word too.) A word that is not a slot
 * of all stacks that come by would be noise: it is taken out of the branch when such a stack comes,
 * and that branch gets no more. The first slot in which two stacks differ always is one of both
 * (struct walk_trace), and that in which the first of many differs is one of all: something is
 * always left to tell them apart by.
 *
 * Room. Entries lie one behind the other in a ring that is used round and round; the oldest ones
 * give way. Branches, to which many entries hang, have a place of their own, where those give way
 * that were not used of late. An item is in one place of the index at most, and the place is
 * cleared with it. An entry that no key leads to any more is out of use, but stays until the ring
 * comes round.
 *
 * Entries hold the all-time counts of their stacks since they were made. They are folded into the
 * stack table when an entry gives way, and are added by who reads them (memo_each).
 *
 * One writer: the thread itself. Readers in another process believe nothing but what they can
 * bound.
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"
#include "unwind/walk.h"

#define MEMO_INDEX	4096		/* places by hash; a power of two */
#define MEMO_WAYS	4
#define MEMO_ROOM	(112u << 10)	/* bytes of items */
#define MEMO_UNIT	8u		/* bytes; items lie at multiples of it */
#define MEMO_BRANCHES	256
#define MEMO_WORDS	8		/* of a branch */

enum memo_kind {
	MEMO_NONE,			/* nothing, and in the ring nothing behind it */
	MEMO_GAP,
	MEMO_ENTRY,
	MEMO_FORK,			/* a branch */
};

struct memo_item {
	uint16_t units;			/* of this item, header and all */
	uint16_t place;			/* in the index, if that has it */
	uint8_t kind;
	uint8_t pad[3];
};

struct memo_entry {
	struct memo_item item;
	uint32_t stack;
	uint16_t nr;			/* slots, a multiple of 4: the first fills up */
	uint16_t regs_used;
	uint64_t pc, sp, high, function;
	uint32_t generation, depth;
	uint64_t bp, bx;		/* compared if used */
	uint64_t blocks, bytes;
	uint64_t value[];		/* nr, and then as many uint32_t: bytes from SP */
};

struct memo_branch {
	struct memo_item item;
	uint64_t key;			/* the hash that led here */
	uint64_t bp;			/* all ones: by BP, too; else 0 */
	uint32_t reach;			/* bytes from SP on that must be readable */
	uint8_t nr;			/* words */
	uint8_t narrowed;		/* some were noise */
	uint8_t used;
	uint8_t pad;
	uint32_t offset[MEMO_WORDS];	/* from SP; the first fills up */
};

/* The input of a walk; it is not on the stack, since stacks of the target may be small. */
struct memo_scratch {
	struct walk_map map;
	struct walk_regs regs;
	struct walk_stack stack;
	uint64_t reg[4];
};

/* All zero at the beginning. */
struct memo {
	uint32_t next;			/* offset in room where the next item goes */
	uint32_t limit;			/* from next to here is nothing */
	uint32_t next_branch;
	uint32_t pressure, passed;	/* whether it is worth while to remember (memo.c) */
	uint64_t misses, uncached;	/* walks that are remembered, and that are not */
	uint32_t index[MEMO_INDEX] __attribute__((aligned(64)));	/* hash << 16 | unit */
	struct walk_cache rows;
	struct memo_scratch scratch;
	uint64_t pcs[LOG_DEPTH_MAX];
	struct walk_trace trace;
	/* The index leads to these items: units are counted from here. */
	struct memo_item none;
	struct memo_branch branch[MEMO_BRANCHES];
	uint8_t room[MEMO_ROOM];
};

struct memo_walk {
	const struct walk_map *map;
	const struct walk_area *area;
	struct log *log;
	uint64_t function;		/* the innermost PC, which is not walked */
	uint64_t pc, sp, bp, bx;	/* in its caller: the return address, and SP behind it */
	uint64_t high;			/* the stack is readable in [sp, high) */
	uint32_t depth;			/* with the function itself */
	uint32_t thread;		/* of the log, for its accounts */
	uint32_t blocks;		/* to be counted: 1 or 0 */
};

/*
 * The stack id, LOG_STACK_NONE if there is no room (counted in unstacked). walk->blocks of `bytes`
 * are counted to it. memo may be NULL: always walked, at most MEMO_SHALLOW frames.
 */
#define MEMO_SHALLOW	16
uint32_t memo_stack(struct memo *memo, const struct memo_walk *walk, uint64_t bytes);

/* The next entry from offset *at on, which it moves behind it; NULL: no more. For readers. */
static inline struct memo_entry *memo_next(struct memo *memo, uint32_t *at)
{
	while (*at <= MEMO_ROOM - sizeof(struct memo_item)) {
		struct memo_item *item = (struct memo_item *)(memo->room + *at);
		uint32_t bytes = *(volatile uint16_t *)&item->units * MEMO_UNIT;

		if (!bytes || bytes > MEMO_ROOM - *at)
			break;
		*at += bytes;
		if (*(volatile uint8_t *)&item->kind == MEMO_ENTRY &&
		    bytes >= sizeof(struct memo_entry))
			return (struct memo_entry *)item;
	}
	return NULL;
}

/*
 * The counts that entries hold: fn(stack, blocks, bytes), for a reader at any time; exact while the
 * thread does not write. A stack may come more than once, and may be none that exists.
 */
static inline void memo_each(const struct memo *memo, void (*fn)(uint32_t stack, uint64_t blocks,
								 uint64_t bytes, void *ctx),
			     void *ctx)
{
	const struct memo_entry *entry;
	uint32_t at = 0;

	while ((entry = memo_next((struct memo *)memo, &at)))
		fn(__atomic_load_n(&entry->stack, __ATOMIC_RELAXED),
		   __atomic_load_n(&entry->blocks, __ATOMIC_RELAXED),
		   __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED), ctx);
}

/* Forget the counts, as log_reset() does those of the stacks. The thread must not write. */
static inline void memo_reset(struct memo *memo)
{
	struct memo_entry *entry;
	uint32_t at = 0;

	while ((entry = memo_next(memo, &at)))
		entry->blocks = entry->bytes = 0;
}

_Static_assert(offsetof(struct memo, branch) - offsetof(struct memo, none) == MEMO_UNIT, "branch");
_Static_assert(offsetof(struct memo, room) - offsetof(struct memo, branch) ==
	       MEMO_BRANCHES * sizeof(struct memo_branch), "room");
