/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ring of references (ref_ring.h). Freestanding. */

#include "log/ref_ring.h"

#include "log/log_layout.h"
#include "log/ring.h"

void ref_ring_put(struct log *log, const struct ref_event *event)
{
	uint64_t number = __atomic_fetch_add(&log->header->refs, 1, __ATOMIC_RELAXED);
	struct log_ref_slot *slot = &log->ref[number & (log->nr_refs - 1)];

	if (!ring_claim(&slot->ticket, number))
		return;
	ring_store(&slot->object, event->object | (event->gives ? REF_SLOT_GIVES : 0));
	ring_store(&slot->time, event->time);
	ring_store(&slot->who, ring_pair(event->thread, event->stack));
	ring_publish(&slot->ticket, number);
}

enum ref_read ref_ring_get(const struct log *log, uint64_t number, struct ref_event *ret)
{
	const struct log_ref_slot *slot = &log->ref[number & (log->nr_refs - 1)];
	uint64_t seen = ring_load(&slot->ticket), object, who;

	if (seen != ring_ticket(number))
		return seen > (ring_ticket(number) | RING_BUSY) ? REF_GONE : REF_NOT_YET;
	object = ring_load(&slot->object);
	ret->time = ring_load(&slot->time);
	who = ring_load(&slot->who);
	if (!ring_held(&slot->ticket, seen))
		return REF_GONE;
	ret->gives = object & REF_SLOT_GIVES;
	ret->object = object & ((1ull << LOG_DOMAIN_SHIFT) - 1);
	ret->thread = (uint32_t)(who >> 32);
	ret->stack = (uint32_t)who;
	log_bound_ids(log, &ret->thread, &ret->stack);
	return REF_READ;
}

uint64_t ref_ring_next(const struct log *log)
{
	return __atomic_load_n(&log->header->refs, __ATOMIC_ACQUIRE);
}
