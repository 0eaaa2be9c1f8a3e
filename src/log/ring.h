/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Tickets: the protocol by which several writers fill the slots of a ring, which keeps the newest
 * entries, while readers of another process look at it without stopping anybody
 * (log_unknown_free.h, free_history.h).
 *
 *	ticket of a slot	0: empty; number (from 1 on) << 1, or with RING_BUSY
 *
 *	             claim: compare and swap		publish: store
 *	OLDER TICKET ----------------------> NUMBER | BUSY ---------------> NUMBER
 *
 * A writer takes a number from a counter that all share, claims the slot with this number (modulo
 * the number of slots), fills it in, and publishes it. It gives up if another writer has claimed
 * the slot, or if the slot has a higher number already: then two writers, a whole ring apart, have
 * come at the same time. So a slot has one writer at a time, and the number of a slot only goes up.
 * A writer that dies in the middle leaves the slot busy for ever: one place less.
 *
 * A reader takes the ticket, the contents, and the ticket again, and believes the contents if both
 * are the same and not busy. Contents are stored with release and loaded with acquire: a reader
 * that has seen a word of a later writer also sees that writer's claim. Numbers are never used
 * again.
 *
 * Freestanding.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define RING_BUSY	1ull

/* The ticket of a number; numbers begin with 0. */
static inline uint64_t ring_ticket(uint64_t number)
{
	return (number + 1) << 1;
}

static inline bool ring_claim(uint64_t *ticket, uint64_t number)
{
	uint64_t old = __atomic_load_n(ticket, __ATOMIC_RELAXED);

	return !(old & RING_BUSY) && old < ring_ticket(number) &&
	       __atomic_compare_exchange_n(ticket, &old, ring_ticket(number) | RING_BUSY, false,
					   __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static inline void ring_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

static inline void ring_publish(uint64_t *ticket, uint64_t number)
{
	__atomic_store_n(ticket, ring_ticket(number), __ATOMIC_RELEASE);
}

static inline uint64_t ring_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Does all that was loaded since `seen` was read belong to that ticket? */
static inline bool ring_held(const uint64_t *ticket, uint64_t seen)
{
	return __atomic_load_n(ticket, __ATOMIC_RELAXED) == seen;
}

/* Thread and stack, two numbers of 32 bits, in one word. */
static inline uint64_t ring_pair(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}
