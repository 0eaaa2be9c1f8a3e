/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A slot of the tables, and the changes of its state (block_table.h). Freestanding. */
#pragma once

#include "log/directory.h"
#include "log/tags.h"

/* Store the contents of a slot that is claimed, in the order that readers rely on. */
static ALWAYS_INLINE void slot_store(struct log_slot *slot, struct slot_words words)
{
	__atomic_store_n(&slot->time, words.time, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->size, words.size, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->stack, words.stack, __ATOMIC_RELEASE);
}

/* A slot, with all that is needed to change it. */
struct place {
	struct log_window *window;
	unsigned slot;
	unsigned tag;		/* of the address, in this table */
	uint64_t key;		/* as last seen or stored */
};

/* Does the slot have the address, as a live or a retired record? */
static inline bool slot_has(struct log_window *window, unsigned slot, uint64_t address,
			    uint64_t *key)
{
	*key = __atomic_load_n(&window->slot[slot].key, __ATOMIC_RELAXED);
	return !((*key ^ address) & (KEY_ADDRESS | KEY_CLAIMED));
}

/* FREE -> CLAIMED, if the key still is place->key. */
static inline bool slot_claim(struct place *place)
{
	uint64_t old = place->key, new = ((old & KEY_SEQUENCE) + KEY_SEQUENCE_ONE) | KEY_CLAIMED;

	if ((old & KEY_STATE) != KEY_FREE)
		return false;
	if (!__atomic_compare_exchange_n(&place->window->slot[place->slot].key, &old, new, false,
					 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	place->key = new;
	return true;
}

/* FREE -> CLAIMED, as the key is now. */
static inline bool slot_claim_any(struct place *place)
{
	place->key = __atomic_load_n(&place->window->slot[place->slot].key, __ATOMIC_RELAXED);
	return slot_claim(place);
}

/* CLAIMED -> LIVE, with the contents that are in the slot already. */
static inline void slot_publish(struct place *place, uint64_t address)
{
	tag_store(tag_of(place->window, place->slot), place->tag | TAG_LIVE);
	place->key = (place->key & KEY_SEQUENCE) | KEY_LIVE | address;
	__atomic_store_n(&place->window->slot[place->slot].key, place->key, __ATOMIC_RELEASE);
}

static inline void record_decode(uint64_t key, uint64_t time, uint64_t size, uint64_t stack,
				 struct log_record *ret)
{
	ret->address = key & KEY_ADDRESS;
	ret->size = size & LOG_SIZE_MAX;
	ret->rate = (uint8_t)(size >> LOG_SIZE_BITS);
	ret->time = time;
	slot_stack_decode(stack, ret);
}

/* For the owner of the address: nobody else changes the slot. */
static inline void slot_read_own(const struct place *place, struct log_record *ret)
{
	const struct log_slot *slot = &place->window->slot[place->slot];

	record_decode(place->key, __atomic_load_n(&slot->time, __ATOMIC_RELAXED),
		      __atomic_load_n(&slot->size, __ATOMIC_RELAXED),
		      __atomic_load_n(&slot->stack, __ATOMIC_RELAXED), ret);
}
