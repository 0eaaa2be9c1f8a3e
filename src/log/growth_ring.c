/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The growth ring (growth_ring.h). Freestanding. */

#include "log/growth_ring.h"

#include "log/log_layout.h"
#include "log/ring.h"

void growth_ring_put(struct log *log, const struct growth_event *event)
{
	uint64_t number = __atomic_fetch_add(&log->header->growth, 1, __ATOMIC_RELAXED);
	struct log_growth_slot *slot = &log->growth[number & (log->nr_growth - 1)];

	if (!ring_claim(&slot->ticket, number))
		return;
	ring_store(&slot->entered, event->entered);
	ring_store(&slot->left, event->left);
	ring_store(&slot->who, ring_pair(event->thread, event->stack));
	ring_store(&slot->call, event->call);
	for (unsigned i = 0; i < GROWTH_ARGS; i++)
		ring_store(&slot->arg[i], event->arg[i]);
	ring_store(&slot->result, event->result);
	ring_publish(&slot->ticket, number);
}

enum growth_read growth_ring_get(const struct log *log, uint64_t number, struct growth_event *ret)
{
	const struct log_growth_slot *slot = &log->growth[number & (log->nr_growth - 1)];
	uint64_t seen = ring_load(&slot->ticket), who;

	if (seen != ring_ticket(number))
		return seen > (ring_ticket(number) | RING_BUSY) ? GROWTH_GONE : GROWTH_NOT_YET;
	ret->number = number;
	ret->entered = ring_load(&slot->entered);
	ret->left = ring_load(&slot->left);
	who = ring_load(&slot->who);
	ret->call = (uint32_t)ring_load(&slot->call);
	for (unsigned i = 0; i < GROWTH_ARGS; i++)
		ret->arg[i] = ring_load(&slot->arg[i]);
	ret->result = ring_load(&slot->result);
	if (!ring_held(&slot->ticket, seen))
		return GROWTH_GONE;
	ret->thread = (uint32_t)(who >> 32);
	ret->stack = (uint32_t)who;
	log_bound_ids(log, &ret->thread, &ret->stack);
	return GROWTH_READ;
}

uint64_t growth_ring_next(const struct log *log)
{
	return __atomic_load_n(&log->header->growth, __ATOMIC_ACQUIRE);
}

struct growth_run growth_ring_run(const struct log *log)
{
	return (struct growth_run){
		.kinds = __atomic_load_n(&log->header->growth_kinds, __ATOMIC_RELAXED),
		.first = __atomic_load_n(&log->header->growth_first, __ATOMIC_RELAXED),
		.start = __atomic_load_n(&log->header->growth_start, __ATOMIC_RELAXED),
		.brk = __atomic_load_n(&log->header->growth_brk, __ATOMIC_RELAXED),
	};
}

void growth_ring_begin(struct log *log, uint64_t kinds, uint64_t brk)
{
	uint64_t were = growth_ring_run(log).kinds;

	if (kinds && !were) {
		__atomic_store_n(&log->header->growth_first, growth_ring_next(log),
				 __ATOMIC_RELAXED);
		__atomic_store_n(&log->header->growth_start, log_now(), __ATOMIC_RELAXED);
	}
	if (kinds & ~were & LOG_GROWTH_BRK)
		__atomic_store_n(&log->header->growth_brk, brk, __ATOMIC_RELAXED);
	__atomic_store_n(&log->header->growth_kinds, kinds, __ATOMIC_RELAXED);
}
