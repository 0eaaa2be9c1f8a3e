/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The look-up in the unwind cache, to be inlined where every nanosecond counts. unwind_cache.h says
 * how it works; unwind_cache_stack handles what is not found. Freestanding.
 */
#pragma once

#include "agent/unwind_cache.h"

/* The most branches that may follow one another, plus the entry. */
#define CACHE_LEVELS		8
#define CACHE_USED_BP		1u
#define CACHE_USED_BX		2u
#define BUCKET_BITS	10
#define WAY_BITS	2

#define CACHE_MIX_1	0x9e3779b97f4a7c15ull
#define CACHE_MIX_2	0xd6e8feb86659fd93ull

_Static_assert(CACHE_WAYS == 1 << WAY_BITS && CACHE_INDEX == CACHE_WAYS << BUCKET_BITS, "index");

/* A word of the target's stack. */
static inline uint64_t stack_word(uint64_t addr)
{
	struct word {
		uint64_t value;
	} __attribute__((packed, may_alias));

	return ((const struct word *)(uintptr_t)addr)->value;
}

/* The key of a walk that begins so. */
static inline uint64_t start_key(uint64_t pc, uint64_t sp, uint64_t function)
{
	return (pc + (function << 21)) * CACHE_MIX_1 + sp * CACHE_MIX_2;
}

static inline uint64_t walk_key(const struct cache_walk *walk)
{
	return start_key(walk->pc, walk->sp, walk->function);
}

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

/* The key behind a branch. Return addresses differ little: keep their low bits apart. */
static inline uint64_t branch_key(const struct cache_branch *branch, const struct cache_walk *walk)
{
	const uint32_t *offset = branch->offset;
	uint64_t sp = walk->sp, a, b = walk->bp & branch->bp;

	a = stack_word(sp + offset[0]) + rotate(stack_word(sp + offset[1]), 16) +
	    rotate(stack_word(sp + offset[2]), 32) + rotate(stack_word(sp + offset[3]), 48);
	if (branch->nr > 4)
		b += stack_word(sp + offset[4]) + rotate(stack_word(sp + offset[5]), 16) +
		     rotate(stack_word(sp + offset[6]), 32) + rotate(stack_word(sp + offset[7]), 48);
	return (a + branch->key) * CACHE_MIX_1 + b * CACHE_MIX_2;
}

/* The item as a branch; NULL if it is no branch, or if only the tag is that of this key. */
static inline struct cache_branch *branch_at(struct cache_item *item, uint64_t key)
{
	struct cache_branch *branch = (struct cache_branch *)item;

	return item->kind == CACHE_FORK && branch->key == key ? branch : NULL;
}

/* May the words of the branch be read? */
static inline bool branch_reads(const struct cache_branch *branch, const struct cache_walk *walk)
{
	return walk->sp + branch->reach <= walk->high;
}

/* The upper bits of a key are the best. */
static inline uint32_t *bucket_of(struct unwind_cache *cache, uint64_t key)
{
	return &cache->index[key >> (64 - BUCKET_BITS) << WAY_BITS];
}

static inline uint32_t tag_of(uint64_t key)
{
	return (uint32_t)(key >> (64 - BUCKET_BITS - 32)) & 0xffff0000;
}

/*
 * The item at this key, or one of kind CACHE_NONE. At most one place has its tag. Which one it is
 * cannot be predicted, so conditional moves choose it.
 */
static inline struct cache_item *item_find(struct unwind_cache *cache, uint64_t key)
{
	const uint32_t *bucket = bucket_of(cache, key);
	uint32_t tag = tag_of(key), unit = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < CACHE_WAYS; i++) {
		uint32_t differ = bucket[i] ^ tag;

		unit = differ <= UINT16_MAX ? differ : unit;
	}
	return &cache->none + unit;
}

static inline uint32_t *entry_offsets(const struct cache_entry *entry)
{
	return (uint32_t *)&entry->value[entry->nr];
}

/* Did the entry's walk begin as this one would? BP and RBX are not compared here. */
static ALWAYS_INLINE bool entry_starts(const struct cache_entry *entry,
				       const struct cache_walk *walk)
{
	return entry->pc == walk->pc && entry->sp == walk->sp && entry->high == walk->high &&
	       entry->function == walk->function && entry->setting == walk->setting;
}

/* Equal bounds make it safe to read the slots. */
static ALWAYS_INLINE bool entry_slots_hold(const struct cache_entry *entry, uint64_t sp)
{
	const uint64_t *value = entry->value, *end = value + entry->nr;
	const uint64_t *offsets = end;

	/* Two offsets are read by one load: the loads are what takes the time here. */
	for (; value != end; value += 4, offsets += 2) {
		if (value[0] != stack_word(sp + (uint32_t)offsets[0]) ||
		    value[1] != stack_word(sp + (offsets[0] >> 32)) ||
		    value[2] != stack_word(sp + (uint32_t)offsets[1]) ||
		    value[3] != stack_word(sp + (offsets[1] >> 32)))
			return false;
	}
	return true;
}

/* Are the registers that the entry's walk used as they were? */
static ALWAYS_INLINE bool entry_regs_hold(const struct cache_entry *entry, uint64_t bp, uint64_t bx)
{
	return !entry->regs_used ||
	       ((!(entry->regs_used & CACHE_USED_BP) || entry->bp == bp) &&
		(!(entry->regs_used & CACHE_USED_BX) || entry->bx == bx));
}

/* Would a walk now find the entry's stack? */
static ALWAYS_INLINE bool entry_holds(const struct cache_entry *entry,
				      const struct cache_walk *walk)
{
	return entry_starts(entry, walk) && entry_regs_hold(entry, walk->bp, walk->bx) &&
	       entry_slots_hold(entry, walk->sp);
}

/*
 * The item that is most likely at this key (it certainly is if all other places of the bucket are
 * free). Its key is not checked.
 */
static ALWAYS_INLINE struct cache_item *item_guess(struct unwind_cache *cache, uint64_t key)
{
	return &cache->none + (uint16_t)bucket_of(cache, key)[CACHE_WAYS - 1];
}

/* The same as unwind_cache_find, from the item at the walk's key on. */
static ALWAYS_INLINE struct cache_entry *unwind_cache_find_from(struct unwind_cache *cache,
								const struct cache_walk *walk,
								struct cache_item *item, uint64_t key)
{
	for (unsigned level = 0; level < CACHE_LEVELS; level++) {
		struct cache_entry *entry = (struct cache_entry *)item;
		struct cache_branch *branch;

		if (LIKELY(item->kind == CACHE_ENTRY))
			return LIKELY(entry_holds(entry, walk)) ? entry : NULL;
		branch = branch_at(item, key);
		if (!branch || !branch_reads(branch, walk))
			return NULL;
		branch->used = 2;
		key = branch_key(branch, walk);
		item = item_find(cache, key);
	}
	return NULL;
}

/*
 * The entry of the stack that a walk would find, with all its slots verified; NULL: none is known.
 */
static ALWAYS_INLINE struct cache_entry *unwind_cache_find(struct unwind_cache *cache,
							   const struct cache_walk *walk)
{
	uint64_t key = walk_key(walk);

	return unwind_cache_find_from(cache, walk, item_find(cache, key), key);
}
