/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counting filter of a log that samples: most blocks that are freed were never recorded, and a
 * free must know that from one byte that is in the nearest cache. A counter for each few blocks'
 * worth of addresses says how many records there are of these; where it is 0, there is none.
 *
 * Theory of operation
 *
 * It errs to one side only: for each record that is live in the allocation table one is counted in
 * the counting filter, from before the record goes in until after it has come out. So it never says
 * of a block that is recorded that it is not, and what it says too much of costs a search in the
 * tables, which know the truth.
 *
 * Counting: log_insert, log_remove and log_restore, all of them, whoever calls (the agents, the
 * tracer); the short way of fast_path.h and what it falls back on count nothing, and are for logs
 * that do not sample. An insert counts first; if there was no room after all, or the record has
 * taken another one's place at the same address, it takes one back. A writer that dies in between
 * leaves one too many.
 *
 * Asking: the owner of a block does, at its free. The block was counted before malloc returned it,
 * by an atomic add; whatever brought its address to the thread that frees it (the program must
 * order the two, or it could not use the block either) has brought that add before this look. All
 * values that the counter has had from then on include it: each one that is taken back was added
 * before. So no order beyond that of a single counter is needed, and nothing is locked but for the
 * few blocks that are sampled.
 *
 * A counter has a byte. One that reaches COUNTING_FILTER_STUCK stays there: what it has lost count
 * of is never told to be absent. Where so many records share one, nearly all blocks are sampled, or
 * there are a hundred million records.
 *
 * Shape. The frees of a program's hot blocks should touch few cache lines: fewer than the blocks
 * themselves. So neighbours share a counter (COUNTING_FILTER_GRANULE bytes), and a line of counters
 * is of addresses side by side, 16 KB of them; a page is of a megabyte. That records of neighbours
 * are taken for each other does not matter: with a sample every 512 KB it happens to one free in
 * 2,048. Heaps beyond LOG_COUNTING_FILTER * COUNTING_FILTER_GRANULE bytes, or far apart, share
 * counters too: by as many as there are records, divided by LOG_COUNTING_FILTER. The upper bits are
 * mixed in lest arenas, which begin at multiples of 64 MB, all meet at their beginnings. Domain and
 * process in a key (log.h) are lost: they share the counters of their addresses.
 *
 * Rejected: the tags of one window in the first table (a line for each hot block, all over 128 KB,
 * and of no use once there are two tables); a hash of the address (the same); bits alone (they
 * could not be taken back); a mark in the block or its chunk (memory of the target's, and of its
 * allocator).
 *
 * Freestanding.
 */
#pragma once

#include "log/layout.h"

#define COUNTING_FILTER_GRANULE	256u
#define COUNTING_FILTER_LINE	64u
#define COUNTING_FILTER_STUCK	255u

static inline uint8_t *counting_filter_counter(const struct log *log, uint64_t address)
{
	uint64_t granule = address / COUNTING_FILTER_GRANULE;

	return &log->counting_filter[(granule ^ granule / COUNTING_FILTER_LINE) % LOG_COUNTING_FILTER];
}

/* Asked by the block's owner: there is certainly no record of it. */
static inline bool counting_filter_lacks(const struct log *log, uint64_t address)
{
	return !__atomic_load_n(counting_filter_counter(log, address), __ATOMIC_RELAXED);
}

/* Before a record of address is put in. */
static inline void counting_filter_add(struct log *log, uint64_t address)
{
	uint8_t *counter = counting_filter_counter(log, address);
	uint8_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (count != COUNTING_FILTER_STUCK &&
	       !__atomic_compare_exchange_n(counter, &count, (uint8_t)(count + 1), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* After it has come out. */
static inline void counting_filter_take_back(struct log *log, uint64_t address)
{
	uint8_t *counter = counting_filter_counter(log, address);
	uint8_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (count && count != COUNTING_FILTER_STUCK &&
	       !__atomic_compare_exchange_n(counter, &count, (uint8_t)(count - 1), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
