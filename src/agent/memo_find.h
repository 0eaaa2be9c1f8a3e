/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The look-up of the walk cache, to be inlined where every nanosecond counts. memo.h says how it
 * works; what is not found is for memo_stack. Freestanding.
 */
#pragma once

#include "agent/memo.h"

/* Branches that may follow one another, and the entry. */
#define MEMO_LEVELS		8
#define MEMO_USED_BP		1u
#define MEMO_USED_BX		2u
#define BUCKET_BITS	10
#define WAY_BITS	2

#define MEMO_MIX_1	0x9e3779b97f4a7c15ull
#define MEMO_MIX_2	0xd6e8feb86659fd93ull

_Static_assert(MEMO_WAYS == 1 << WAY_BITS && MEMO_INDEX == MEMO_WAYS << BUCKET_BITS, "index");

/* A word of the target's stack. */
static inline uint64_t stack_word(uint64_t addr)
{
	struct word {
		uint64_t value;
	} __attribute__((packed, may_alias));

	return ((const struct word *)(uintptr_t)addr)->value;
}

static inline uint64_t walk_key(const struct memo_walk *walk)
{
	return (walk->pc + (walk->function << 21)) * MEMO_MIX_1 + walk->sp * MEMO_MIX_2;
}

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

/* The key behind a branch. Return addresses differ little: keep their low bits apart. */
static inline uint64_t branch_key(const struct memo_branch *branch, const struct memo_walk *walk)
{
	const uint32_t *offset = branch->offset;
	uint64_t sp = walk->sp, a, b;

	a = stack_word(sp + offset[0]) + rotate(stack_word(sp + offset[1]), 16) +
	    rotate(stack_word(sp + offset[2]), 32) + rotate(stack_word(sp + offset[3]), 48);
	b = stack_word(sp + offset[4]) + rotate(stack_word(sp + offset[5]), 16) +
	    rotate(stack_word(sp + offset[6]), 32) + rotate(stack_word(sp + offset[7]), 48);
	return (a + branch->key) * MEMO_MIX_1 + (b + (walk->bp & branch->bp)) * MEMO_MIX_2;
}

/* The item as a branch; NULL if it is none, or only has the tag of this key. */
static inline struct memo_branch *branch_at(struct memo_item *item, uint64_t key)
{
	struct memo_branch *branch = (struct memo_branch *)item;

	return item->kind == MEMO_FORK && branch->key == key ? branch : NULL;
}

/* May the words of the branch be read? */
static inline bool branch_reads(const struct memo_branch *branch, const struct memo_walk *walk)
{
	return walk->sp + branch->reach <= walk->high;
}

/* The upper bits of a key are the best. */
static inline uint32_t *bucket_of(struct memo *memo, uint64_t key)
{
	return &memo->index[key >> (64 - BUCKET_BITS) << WAY_BITS];
}

static inline uint32_t tag_of(uint64_t key)
{
	return (uint32_t)(key >> (64 - BUCKET_BITS - 32)) & 0xffff0000;
}

/*
 * The item at this key; one of kind MEMO_NONE if there is none. One place at most has its tag; by
 * conditional moves, since which one is a coin toss.
 */
static inline struct memo_item *item_find(struct memo *memo, uint64_t key)
{
	const uint32_t *bucket = bucket_of(memo, key);
	uint32_t tag = tag_of(key), unit = 0;

#pragma GCC unroll 4
	for (unsigned i = 0; i < MEMO_WAYS; i++) {
		uint32_t differ = bucket[i] ^ tag;

		unit = differ <= UINT16_MAX ? differ : unit;
	}
	return &memo->none + unit;
}

static inline uint32_t *entry_offsets(const struct memo_entry *entry)
{
	return (uint32_t *)&entry->value[entry->nr];
}

/* Did the entry's walk begin as this one would, but for BP and RBX? */
static ALWAYS_INLINE bool entry_starts(const struct memo_entry *entry, const struct memo_walk *walk)
{
	return entry->pc == walk->pc && entry->sp == walk->sp && entry->high == walk->high &&
	       entry->function == walk->function && entry->depth == walk->depth &&
	       entry->generation == walk->map->generation;
}

/* Equal bounds make it safe to read the slots. */
static ALWAYS_INLINE bool entry_slots_hold(const struct memo_entry *entry, uint64_t sp)
{
	const uint64_t *value = entry->value, *end = value + entry->nr;
	const uint64_t *offsets = end;

	/* Two offsets by one load: it is loads that this takes. */
	for (; value != end; value += 4, offsets += 2) {
		if (value[0] != stack_word(sp + (uint32_t)offsets[0]) ||
		    value[1] != stack_word(sp + (offsets[0] >> 32)) ||
		    value[2] != stack_word(sp + (uint32_t)offsets[1]) ||
		    value[3] != stack_word(sp + (offsets[1] >> 32)))
			return false;
	}
	return true;
}

/* Would it find the same stack? */
static ALWAYS_INLINE bool entry_holds(const struct memo_entry *entry, const struct memo_walk *walk)
{
	if (!entry_starts(entry, walk))
		return false;
	if (entry->regs_used &&
	    (((entry->regs_used & MEMO_USED_BP) && entry->bp != walk->bp) ||
	     ((entry->regs_used & MEMO_USED_BX) && entry->bx != walk->bx)))
		return false;
	return entry_slots_hold(entry, walk->sp);
}

/*
 * The item that is most likely at this key: where all others in its bucket are free, it is. It may
 * have any key.
 */
static ALWAYS_INLINE struct memo_item *item_guess(struct memo *memo, uint64_t key)
{
	return &memo->none + (uint16_t)bucket_of(memo, key)[MEMO_WAYS - 1];
}

/* The entry of the stack that a walk would find, all its slots verified; NULL: none is known. */
static ALWAYS_INLINE struct memo_entry *memo_find(struct memo *memo, const struct memo_walk *walk)
{
	uint64_t key = walk_key(walk);
	struct memo_item *item = item_find(memo, key);

	for (unsigned level = 0; level < MEMO_LEVELS; level++) {
		struct memo_entry *entry = (struct memo_entry *)item;
		struct memo_branch *branch;

		if (LIKELY(item->kind == MEMO_ENTRY))
			return LIKELY(entry_holds(entry, walk)) ? entry : NULL;
		branch = branch_at(item, key);
		if (!branch || !branch_reads(branch, walk))
			return NULL;
		branch->used = 2;
		key = branch_key(branch, walk);
		item = item_find(memo, key);
	}
	return NULL;
}

/* More blocks of this stack. */
static ALWAYS_INLINE uint32_t memo_count(struct memo_entry *entry, uint64_t blocks,
					 uint64_t bytes)
{
	entry->blocks += blocks;
	entry->bytes += bytes;
	return entry->stack;
}
