/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The first thing that the tables try: a block that is in the primary slot of its address
 * (block_table.h), in the newest of few tables. Hot blocks of an allocator mostly are: their
 * addresses come again and again and find their own retired records. This code may give up at any
 * point; then block_table.c searches.
 *
 * Freestanding.
 */
#pragma once

#include "log/slot.h"

/* This number of tables fits in a cache; with more of them the primary slot is not tried first. */
#define TABLES_SMALL	3

/* The primary slot of an address in the table where a search begins. */
struct primary {
	bool is_near;			/* false: not for the fast path */
	struct log_slot *slot;
	uint16_t *tag;			/* of this slot */
	unsigned hash;			/* the tag of the address, without its live bit */
};

static inline uint64_t hash_address(uint64_t address)
{
	unsigned __int128 product = (unsigned __int128)address * 0xd6e8feb86659fd93ull;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Each table rotates the hash differently, so that addresses that crowd one window of a table are
 * spread in the next.
 */
static inline uint64_t hash_turn(uint64_t hash, const struct log_table *table)
{
	return hash << (table->turn & 63) | hash >> (-table->turn & 63);
}

/*
 * The upper bits of both halves pick the windows; the lower bits of the lower half pick the primary
 * slot and the tag. If bits next to those of the window picked the slot, addresses at equal
 * distances that come to one window would have few primary slots in it.
 */
static inline struct log_window *turned_window(const struct log_table *table, uint32_t half)
{
	return &table->window[(uint64_t)half * table->nr >> 32];
}

/* Bytes from the window's start to the primary slot. Two of the 16 numbers lead to slot 0. */
static inline unsigned turned_primary(uint64_t turned)
{
	unsigned at = turned >> 15 & 0xf;

	/* No branch is used: the processor could not predict it. */
	return (at + (at < 1)) * (unsigned)sizeof(struct log_slot);
}

/* The other slot of the same cache line. The slot beside the tags has none and is its own. */
static inline unsigned slot_buddy(unsigned slot)
{
	return slot ? ((slot - 1) ^ 1) + 1 : 0;
}

static inline unsigned turned_tag(uint64_t turned)
{
	return turned & TAG_HASH;
}

/* The state and address of a key, without its sequence. */
static inline uint64_t key_what(uint64_t key)
{
	return key << 6;
}

_Static_assert(KEY_SEQUENCE == ~0ull << 58 && KEY_FREE == 0, "key");

static inline void primary_of(const struct log *log, uint64_t address, struct primary *ret)
{
	uint32_t newest = __atomic_load_n(&log->newest, __ATOMIC_RELAXED);
	const struct log_table *table = &log->table[newest];
	uint64_t turned = hash_turn(hash_address(address), table);
	uint8_t *window = (uint8_t *)turned_window(table, (uint32_t)(turned >> 32));
	unsigned at = turned_primary(turned);

	ret->slot = (struct log_slot *)(window + at);
	ret->tag = (uint16_t *)(window + at / (sizeof(struct log_slot) / sizeof(uint16_t))) - 1;
	ret->hash = turned_tag(turned);
	ret->is_near = newest < TABLES_SMALL;
}

/*
 * Put a block in its primary slot, which is near. Its address fits (address_fits). False: the slot
 * does not have the address's own retired record (another writer may have claimed it).
 */
static inline bool primary_insert(const struct primary *primary, uint64_t address,
					 struct slot_words words)
{
	uint64_t key = __atomic_load_n(&primary->slot->key, __ATOMIC_RELAXED);
	uint64_t sequence = key - KEY_FREE - address;
	uint64_t claimed = sequence + KEY_SEQUENCE_ONE + KEY_CLAIMED;

	if (UNLIKELY(key_what(sequence)) ||
	    UNLIKELY(!__atomic_compare_exchange_n(&primary->slot->key, &key, claimed, false,
						  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return false;
	slot_store(primary->slot, words);
	tag_store(primary->tag, primary->hash | TAG_LIVE);
	__atomic_store_n(&primary->slot->key, claimed - KEY_CLAIMED + KEY_LIVE + address,
			 __ATOMIC_RELEASE);
	return true;
}

/* Take a block out of its primary slot. Its address fits. False: it is not there. */
static inline bool primary_remove(const struct primary *primary, uint64_t address,
				  struct log_record *ret)
{
	uint64_t key = __atomic_load_n(&primary->slot->key, __ATOMIC_RELAXED);

	if (UNLIKELY(key_what(key - KEY_LIVE - address)))
		return false;
	record_decode(key, __atomic_load_n(&primary->slot->time, __ATOMIC_RELAXED),
		      __atomic_load_n(&primary->slot->size, __ATOMIC_RELAXED),
		      __atomic_load_n(&primary->slot->stack, __ATOMIC_RELAXED), ret);
	/* The tag comes first: storing the key gives the slot up. */
	tag_store(primary->tag, primary->hash);
	__atomic_store_n(&primary->slot->key, key - KEY_LIVE + KEY_FREE, __ATOMIC_RELEASE);
	return true;
}
