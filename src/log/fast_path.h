/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The short way of the allocation table, to be inlined where every nanosecond counts. It handles a
 * block that is in the primary slot of its address (block_table.h), in the newest of few tables.
 * Hot blocks of an allocator mostly are: their addresses come again and again and find their own
 * retired records. Everything else goes the long way (block_table.c), which knows every case; so
 * this code may give up at any point.
 *
 * Instructions count here: with 1,024 live blocks everything is in a cache, and the compare and
 * swap of the claim costs 2 ns.
 *
 * Freestanding.
 */
#pragma once

#include "log/registry.h"
#include "log/block_table.h"

/* This number of tables fits in a cache; with more of them the primary slot is not tried first. */
#define TABLES_SMALL	3

/* The primary slot of an address in the table where a search begins. */
struct home {
	bool is_near;			/* false: not for the short way */
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

static inline void tag_store(uint16_t *tag, unsigned value)
{
	uint16_t __attribute__((may_alias)) *at = tag;

	__atomic_store_n(at, (uint16_t)value, __ATOMIC_RELAXED);
}

static inline void primary_of(const struct log *log, uint64_t address, struct home *ret)
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

static inline bool address_fits(uint64_t address)
{
	return address - 1 < KEY_ADDRESS;
}

/* The state and address of a key, without its sequence. */
static inline uint64_t key_what(uint64_t key)
{
	return key << 6;
}

_Static_assert(KEY_SEQUENCE == ~0ull << 58 && KEY_FREE == 0, "key");

/* The fourth word of a slot. */
static inline uint64_t slot_stack(uint32_t stack, uint32_t thread, uint16_t heap)
{
	return stack | (uint64_t)(thread & 0xffff) << 32 | (uint64_t)heap << 48;
}

static inline uint32_t slot_stack_thread(uint64_t word)
{
	return (uint32_t)(word >> 32) & 0xffff;
}

static inline void slot_stack_decode(uint64_t word, struct log_record *ret)
{
	ret->stack = (uint32_t)word;
	ret->thread = slot_stack_thread(word);
	ret->heap = (uint16_t)(word >> 48);
}

/* The contents of a slot: all but its key. */
struct slot_words {
	uint64_t time, size, stack;
};

/* Store the contents of a slot that is claimed, in the order that readers rely on. */
static ALWAYS_INLINE void slot_store(struct log_slot *slot, struct slot_words words)
{
	__atomic_store_n(&slot->time, words.time, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->size, words.size, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->stack, words.stack, __ATOMIC_RELEASE);
}

/*
 * The long way of log_insert and log_remove (block_table.c), without the counting filter of a log
 * that samples.
 */
bool table_insert(struct log *log, uint64_t address, uint64_t size, uint64_t time, uint64_t stack,
		  struct log_record *replaced);
bool table_remove(struct log *log, uint64_t address, uint32_t thread, struct log_record *ret);

/*
 * Put a block in its primary slot, which is near. Its address fits (address_fits). False: the slot
 * does not have the address's own retired record (another writer may have claimed it).
 */
static ALWAYS_INLINE bool primary_insert(struct log *log, const struct home *home, uint64_t address,
					 struct slot_words words, uint32_t thread)
{
	uint64_t key = __atomic_load_n(&home->slot->key, __ATOMIC_RELAXED);
	uint64_t sequence = key - KEY_FREE - address;
	uint64_t claimed = sequence + KEY_SEQUENCE_ONE + KEY_CLAIMED;

	if (UNLIKELY(key_what(sequence)) ||
	    UNLIKELY(!__atomic_compare_exchange_n(&home->slot->key, &key, claimed, false,
						  __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)))
		return false;
	slot_store(home->slot, words);
	tag_store(home->tag, home->hash | TAG_LIVE);
	__atomic_store_n(&home->slot->key, claimed - KEY_CLAIMED + KEY_LIVE + address,
			 __ATOMIC_RELEASE);
	account_block(log, thread, LOG_ACCOUNT(allocs), words.size);
	return true;
}

/* Take a block out of its primary slot. Its address fits. False: it is not there. */
static ALWAYS_INLINE bool primary_remove(struct log *log, const struct home *home, uint64_t address,
					 uint32_t thread, struct log_record *ret)
{
	uint64_t key = __atomic_load_n(&home->slot->key, __ATOMIC_RELAXED), size;

	if (UNLIKELY(key_what(key - KEY_LIVE - address)))
		return false;
	size = __atomic_load_n(&home->slot->size, __ATOMIC_RELAXED);
	if (ret) {
		ret->address = address;
		ret->size = size;
		ret->time = __atomic_load_n(&home->slot->time, __ATOMIC_RELAXED);
		slot_stack_decode(__atomic_load_n(&home->slot->stack, __ATOMIC_RELAXED), ret);
	}
	/* The tag comes first: storing the key gives the slot up. */
	tag_store(home->tag, home->hash);
	__atomic_store_n(&home->slot->key, key - KEY_LIVE + KEY_FREE, __ATOMIC_RELEASE);
	account_block(log, thread, LOG_ACCOUNT(frees), size);
	return true;
}

/*
 * log_insert of a log that does not sample; the size must be below 2^48, and the thread one that
 * log_thread has given.
 */
static ALWAYS_INLINE bool fast_insert(struct log *log, const struct log_record *record,
				      struct log_record *replaced)
{
	uint64_t stack = slot_stack(record->stack, record->thread, record->heap);
	struct home home;

	primary_of(log, record->address, &home);
	if (UNLIKELY(!home.is_near) || UNLIKELY(!address_fits(record->address)) ||
	    !primary_insert(log, &home, record->address,
			    (struct slot_words){ record->time, record->size, stack },
			    record->thread))
		return table_insert(log, record->address, record->size, record->time, stack,
				    replaced);
	if (replaced)
		replaced->address = 0;
	return true;
}

/* log_remove of such a log and thread. */
static ALWAYS_INLINE bool fast_remove(struct log *log, uint64_t address, uint32_t thread,
				      struct log_record *ret)
{
	struct home home;

	primary_of(log, address, &home);
	if (UNLIKELY(!home.is_near) || UNLIKELY(!address_fits(address)) ||
	    !primary_remove(log, &home, address, thread, ret))
		return table_remove(log, address, thread, ret);
	return true;
}
