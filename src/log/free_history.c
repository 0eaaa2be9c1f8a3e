/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history of frees (theory in free_history.h). Freestanding. */

#include "log/free_history.h"

#include "log/log_layout.h"
#include "log/ring.h"

uint32_t free_history_kept(const struct log *log)
{
	uint64_t nr = __atomic_load_n(&log->header->free_history, __ATOMIC_RELAXED);

	return (uint32_t)MIN(nr, log->nr_frees);
}

uint32_t free_history_used(const struct log *log)
{
	return (uint32_t)MIN(__atomic_load_n(&log->header->frees, __ATOMIC_RELAXED),
			     free_history_kept(log));
}

void free_history_note(struct log *log, const struct log_free *free)
{
	uint32_t nr = free_history_kept(log);
	struct log_free_slot *slot;
	uint64_t number;

	if (!nr)
		return;
	number = __atomic_fetch_add(&log->header->frees, 1, __ATOMIC_RELAXED);
	slot = &log->freed[number % nr];
	if (!ring_claim(&slot->ticket, number))
		return;
	ring_store(&slot->address, free->address);
	ring_store(&slot->block_time, free->block_time);
	ring_store(&slot->time, free->time);
	ring_store(&slot->who, ring_pair(free->thread, free->stack));
	ring_publish(&slot->ticket, number);
}

static bool slot_is_of(const struct log *log, const struct log_free_slot *slot, uint64_t address,
		       uint64_t block_time, struct log_free *ret)
{
	uint64_t ticket = ring_load(&slot->ticket), who;

	if (!ticket || (ticket & RING_BUSY) || ring_load(&slot->address) != address ||
	    ring_load(&slot->block_time) != block_time)
		return false;
	ret->address = address;
	ret->block_time = block_time;
	ret->time = ring_load(&slot->time);
	who = ring_load(&slot->who);
	ret->thread = (uint32_t)(who >> 32);
	ret->stack = (uint32_t)who;
	log_bound_ids(log, &ret->thread, &ret->stack);
	return ring_held(&slot->ticket, ticket);
}

bool free_history_first(const struct log *log, uint64_t address, uint64_t block_time,
			struct log_free *ret)
{
	uint32_t nr = free_history_used(log);

	for (uint32_t i = 0; i < nr; i++)
		if (slot_is_of(log, &log->freed[i], address, block_time, ret))
			return true;
	return false;
}
