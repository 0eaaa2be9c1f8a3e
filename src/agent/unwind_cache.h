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
 *	index		hash -> item; buckets of CACHE_WAYS places, each with 16 bits of the hash
 *	item		an entry: to be verified. Or a branch: read these stack words, mix them
 *			into the hash, and look there
 *
 * One (PC, SP) may have many stacks: sixteen functions of equal frames, called by turns, make 256.
 * So when a stack is met where an entry of another one stands, a branch takes its place, with up to
 * CACHE_WORDS words in which the two differ and which are slots of both; or the branch that led
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
 * stack table when an entry gives way, and are added by who reads them (unwind_cache_each).
 *
 * One writer: the thread itself. Readers in another process believe nothing but what they can
 * bound.
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"
#include "unwind/stack_walk.h"

#define CACHE_INDEX	4096		/* places by hash; a power of two */
#define CACHE_WAYS	4
#define CACHE_ROOM	(112u << 10)	/* bytes of items */
#define CACHE_UNIT	8u		/* bytes; items lie at multiples of it */
#define CACHE_BRANCHES	256
#define CACHE_WORDS	8		/* of a branch */

enum cache_kind {
	CACHE_NONE,			/* nothing, and in the ring nothing behind it */
	CACHE_GAP,
	CACHE_ENTRY,
	CACHE_FORK,			/* a branch */
};

struct cache_item {
	uint16_t units;			/* of this item, header and all */
	uint16_t place;			/* in the index, if that has it */
	uint8_t kind;
	uint8_t pad[3];
};

struct cache_entry {
	struct cache_item item;
	uint32_t stack;
	uint16_t nr;			/* slots, a multiple of 4: the first fills up */
	uint16_t regs_used;
	uint64_t pc, sp, high, function;
	uint32_t generation, depth;
	uint64_t bp, bx;		/* compared if used */
	uint64_t blocks, bytes;
	uint64_t value[];		/* nr, and then as many uint32_t: bytes from SP */
};

struct cache_branch {
	struct cache_item item;
	uint64_t key;			/* the hash that led here */
	uint64_t bp;			/* all ones: by BP, too; else 0 */
	uint32_t reach;			/* bytes from SP on that must be readable */
	uint8_t nr;			/* words */
	uint8_t narrowed;		/* some were noise */
	uint8_t used;
	uint8_t pad;
	uint32_t offset[CACHE_WORDS];	/* from SP; the first fills up */
};

/* The input of a walk; it is not on the stack, since stacks of the target may be small. */
struct cache_scratch {
	struct walk_map map;
	struct walk_regs regs;
	struct walk_stack stack;
	uint64_t reg[4];
};

/* All zero at the beginning. */
struct unwind_cache {
	uint32_t next;			/* offset in room where the next item goes */
	uint32_t limit;			/* from next to here is nothing */
	uint32_t next_branch;
	uint32_t pressure, passed;	/* whether it is worth while to remember (unwind_cache.c) */
	uint64_t misses, uncached;	/* walks that are remembered, and that are not */
	uint32_t index[CACHE_INDEX] __attribute__((aligned(64)));	/* hash << 16 | unit */
	struct walk_cache rows;
	struct cache_scratch scratch;
	struct walk_outside outside;
	uint64_t pcs[LOG_DEPTH_MAX];
	struct walk_trace trace;
	/* The index leads to these items: units are counted from here. */
	struct cache_item none;
	struct cache_branch branch[CACHE_BRANCHES];
	uint8_t room[CACHE_ROOM];
};

struct cache_walk {
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
 * are counted to it. unwind cache may be NULL: always walked, at most CACHE_SHALLOW frames.
 */
#define CACHE_SHALLOW	16
uint32_t unwind_cache_stack(struct unwind_cache *cache, const struct cache_walk *walk,
			    uint64_t bytes);

/* The next entry from offset *at on, which it moves behind it; NULL: no more. For readers. */
static inline struct cache_entry *unwind_cache_next(struct unwind_cache *cache, uint32_t *at)
{
	while (*at <= CACHE_ROOM - sizeof(struct cache_item)) {
		struct cache_item *item = (struct cache_item *)(cache->room + *at);
		uint32_t bytes = *(volatile uint16_t *)&item->units * CACHE_UNIT;

		if (!bytes || bytes > CACHE_ROOM - *at)
			break;
		*at += bytes;
		if (*(volatile uint8_t *)&item->kind == CACHE_ENTRY &&
		    bytes >= sizeof(struct cache_entry))
			return (struct cache_entry *)item;
	}
	return NULL;
}

/*
 * The counts that entries hold: fn(stack, blocks, bytes), for a reader at any time; exact while the
 * thread does not write. A stack may come more than once, and may be none that exists.
 */
static inline void unwind_cache_each(const struct unwind_cache *cache,
				     void (*fn)(uint32_t stack, uint64_t blocks,
										  uint64_t bytes,
						void *ctx),
				     void *ctx)
{
	const struct cache_entry *entry;
	uint32_t at = 0;

	while ((entry = unwind_cache_next((struct unwind_cache *)cache, &at)))
		fn(__atomic_load_n(&entry->stack, __ATOMIC_RELAXED),
		   __atomic_load_n(&entry->blocks, __ATOMIC_RELAXED),
		   __atomic_load_n(&entry->bytes, __ATOMIC_RELAXED), ctx);
}

/* Forget the counts, as log_reset() does those of the stacks. The thread must not write. */
static inline void unwind_cache_reset(struct unwind_cache *cache)
{
	struct cache_entry *entry;
	uint32_t at = 0;

	while ((entry = unwind_cache_next(cache, &at)))
		entry->blocks = entry->bytes = 0;
}

_Static_assert(offsetof(struct unwind_cache, branch) - offsetof(struct unwind_cache, none) ==
	       CACHE_UNIT, "branch");
_Static_assert(offsetof(struct unwind_cache, room) - offsetof(struct unwind_cache, branch) ==
	       CACHE_BRANCHES * sizeof(struct cache_branch), "room");
