/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The verified unwind cache: a thread's memory of its stack walks.
 *
 * An entry has the start of a walk (PC, SP, and BP if a rule used it before it was restored from
 * the stack), the stack slots that the walk read, the values that it found there, and the resulting
 * stack id. If all these slots still hold the same values, and the module map has the same
 * generation, a walk would read the same words and come to the same stack, so it is not done.
 * Return addresses are slots. A saved BP is a slot only if a later rule used it (BP is an ordinary
 * register in most code: if it were always compared, the cache would never hit); the same holds for
 * any other word that a rule read (DRAP, RBX). A walk over a signal frame is never remembered.
 * Depth and upper bound are compared, because a walk depends on them too. It also depends on what
 * the areas hold: code that uses a slot of an area for something else must change the generation.
 *
 * Finding
 *
 *	index		hash -> item; buckets of CACHE_WAYS places, each with 16 bits of the hash
 *	item		an entry: to be verified. Or a branch: read these stack words, mix them
 *			into the hash, and look there
 *
 * One (PC, SP) may have many stacks: sixteen functions of equal frames, called by turns, make 256.
 * So when a stack meets an entry of another stack in its place, a branch replaces that entry. The
 * branch has up to CACHE_WORDS words in which the two stacks differ and which are slots of both. If
 * a branch led there already, it gets more words instead. (BP, if both used it, is such a word
 * too.) A word that is not a slot of every stack that passes the branch would be noise: it is taken
 * out of the branch when such a stack comes, and that branch gets no more words. The first slot in
 * which two stacks differ is always a slot of both (struct walk_trace), and the slot in which the
 * first of many differs is a slot of all, so there is always a word that tells them apart.
 *
 * Room. Entries lie one behind the other in a ring, where the newest overwrite the oldest.
 * Branches, on which many entries depend, are kept apart, and the ones that were not used lately
 * are replaced. An item is in at most one place of the index, and the place is cleared when the
 * item goes. An entry that no key leads to any more is not used again, but stays until the ring
 * overwrites it.
 *
 * Each entry counts the blocks of its stack since the entry was made. The counts are added to the
 * stack table when the entry is dropped; until then a reader must add them (unwind_cache_each). The
 * entry is dropped before its counts are added, so that a reader who looks at the table first never
 * counts a block twice.
 *
 * The only writer is the thread itself. Readers in another process bound everything that they read.
 *
 * Freestanding.
 */
#pragma once

#include "agent/agent_stacks.h"
#include "log/log.h"
#include "unwind/walk.h"

#define CACHE_INDEX	4096		/* places by hash; a power of two */
#define CACHE_WAYS	4
#define CACHE_ROOM	(112u << 10)	/* bytes of items */
#define CACHE_UNIT	8u		/* bytes; items lie at multiples of it */
#define CACHE_BRANCHES	256
#define CACHE_WORDS	8		/* of a branch */

#define CACHE_REGS	16u

enum cache_kind {
	CACHE_NONE,			/* no item, nor any behind it in the ring */
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
	uint64_t setting;
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
	uint8_t narrowed;		/* words were taken out: they were noise */
	uint8_t used;
	uint8_t pad;
	uint32_t offset[CACHE_WORDS];	/* from SP; the first fills up */
};

/* The input of a walk. It is not on the stack because stacks of the target may be small. */
struct cache_scratch {
	struct walk_map map;
	struct walk_regs regs;
	struct walk_stack stack;
	uint64_t few[4];		/* in place of the cache's reg */
};

/* All zero at the beginning. */
struct unwind_cache {
	uint32_t next;			/* offset in room where the next item goes */
	uint32_t limit;			/* [next, limit) is empty */
	uint32_t next_branch;
	uint32_t pressure, passed;	/* is it worth while to remember? (unwind_cache.c) */
	uint64_t misses, uncached;	/* walks that are remembered, and that are not */
	uint64_t turn;			/* odd while entries come and go */
	uint32_t last;			/* unit of the entry of the last stack; 0: it has none */
	uint32_t index[CACHE_INDEX] __attribute__((aligned(64)));	/* hash << 16 | unit */
	struct walk_cache rows;
	struct cache_scratch scratch;
	/* by DWARF number; RBX and, set before the walk (slow_path.c), R12 to R15 of the caller */
	uint64_t reg[CACHE_REGS];
	/* walk_stack.more, for words of other stacks; NULL: there are none */
	bool (*more)(void *ctx, uint64_t address, uint64_t *ret);
	struct agent_walk others;	/* its ctx */
	struct walk_outside outside;
	uint64_t pcs[LOG_DEPTH_MAX];
	struct walk_trace trace;
	/* The items that the index refers to: units are counted from here. */
	struct cache_item none;
	struct cache_branch branch[CACHE_BRANCHES];
	uint8_t room[CACHE_ROOM];
};

struct cache_walk {
	uint64_t setting;		/* cache_setting of map and depth */
	const struct walk_map *map;
	const struct walk_area *area;
	struct log *log;
	uint64_t function;		/* the innermost PC, which is not walked */
	uint64_t pc, sp, bp, bx;	/* of its caller: the return address, SP after the return */
	uint64_t high;			/* the stack is readable in [sp, high) */
	uint32_t depth;			/* with the function itself */
	uint32_t thread;		/* of the log, for its accounts */
};

/* What a stack depends on besides the target's memory and registers, as one word. */
static inline uint64_t cache_setting(uint32_t generation, uint32_t depth)
{
	return generation | (uint64_t)depth << 32;
}

/*
 * The id of the stack; LOG_STACK_NONE if there is no room (counted in unstacked). cache may be
 * NULL: then the stack is always walked, for at most CACHE_SHALLOW frames.
 */
#define CACHE_SHALLOW	16
uint32_t unwind_cache_stack(struct unwind_cache *cache, const struct cache_walk *walk);

/*
 * More blocks of an entry's stack. Whoever sees them counted sees all that the thread has stored
 * before. Two stores that follow one another would do for that, but a compiler may exchange them.
 */
static ALWAYS_INLINE void unwind_cache_count(struct cache_entry *entry, uint64_t blocks,
					     uint64_t bytes)
{
	__atomic_store_n(&entry->blocks, entry->blocks + blocks, __ATOMIC_RELEASE);
	__atomic_store_n(&entry->bytes, entry->bytes + bytes, __ATOMIC_RELEASE);
}

/* Count blocks to the stack that unwind_cache_stack has given last, with the same arguments. */
static inline void unwind_cache_add(struct unwind_cache *cache, struct log *log, uint32_t stack,
				    uint64_t blocks, uint64_t bytes)
{
	struct cache_entry *entry;

	if (LIKELY(cache) && LIKELY(cache->last)) {
		entry = (struct cache_entry *)(&cache->none + (uint16_t)cache->last);
		unwind_cache_count(entry, blocks, bytes);
		return;
	}
	stack_table_count(log, stack, blocks, bytes);
}

/* For readers: the next entry from offset *at on; *at is moved behind it. NULL: no more. */
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
 * Call fn(stack, blocks, bytes) for the counts that entries hold. A reader may do that at any time;
 * the counts are right if unwind_cache_turn was even before, and is the same afterwards. Otherwise
 * the ring has changed meanwhile, and what was taken for an entry may be none. A stack may come
 * more than once, and its id may be one that does not exist.
 */
static inline void unwind_cache_each(const struct unwind_cache *cache,
				     void (*fn)(uint32_t stack, uint64_t blocks, uint64_t bytes,
						void *ctx),
				     void *ctx)
{
	const struct cache_entry *entry;
	uint32_t at = 0;

	while ((entry = unwind_cache_next((struct unwind_cache *)cache, &at))) {
		uint64_t bytes = __atomic_load_n(&entry->bytes, __ATOMIC_ACQUIRE);

		/* Stored before the bytes, and looked at after them: all blocks of these. */
		fn(__atomic_load_n(&entry->stack, __ATOMIC_ACQUIRE),
		   __atomic_load_n(&entry->blocks, __ATOMIC_ACQUIRE), bytes, ctx);
	}
}

/* Odd while entries come and go; another number afterwards. For readers. */
static inline uint64_t unwind_cache_turn(const struct unwind_cache *cache)
{
	return __atomic_load_n(&cache->turn, __ATOMIC_ACQUIRE);
}

/*
 * Set the counts to 0, as log_reset() does with those of the stack table. The thread must not
 * write.
 */
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
