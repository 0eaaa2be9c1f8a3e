/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The counting filter of a log that samples: most blocks that are freed were never recorded, and a
 * free must be able to see that in one byte, which is in the nearest cache. Each counter belongs to
 * a small range of addresses and says how many records there are in it; if it is 0, there is none.
 *
 * Theory of operation
 *
 * It errs to one side only. Each record is counted from before it goes into the tables
 * until after it has come out. So the filter never says that a recorded block is not recorded. If
 * it says wrongly that a block may be recorded, that costs a search in the tables, which gives the
 * right answer.
 *
 * Counting is done by log_record_insert, log_record_remove and log_record_restore, for all callers.
 * The fast path of fast_path.h and the functions behind it count nothing; they are for logs that do
 * not sample. An insert counts first. If there was no room after all, or the record has replaced
 * another one at the same address, it takes one back. A writer that dies in between leaves the
 * counter one too high.
 *
 * The filter is asked by the owner of a block, at its free. The block was counted by an atomic add
 * before malloc returned it. The program must order that return before the free, in whatever thread
 * that is, or it could not use the block; so the add comes before this look, too. All values of the
 * counter from then on include the add, because each one that is taken back was added before. So
 * the order of a single counter is enough, and only the few sampled blocks need a locked
 * instruction.
 *
 * A counter has a byte. One that reaches COUNTING_FILTER_STUCK stays there: it has lost count, so
 * it must never say that a block is absent. So many records share a counter only if nearly all
 * blocks are sampled, or there are a hundred million records.
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

#include "log/log_layout.h"

#define COUNTING_FILTER_GRANULE	256u
#define COUNTING_FILTER_LINE	64u
#define COUNTING_FILTER_STUCK	255u

static inline uint8_t *counting_filter_counter(const struct log *log, uint64_t address)
{
	uint64_t granule = address / COUNTING_FILTER_GRANULE;

	return &log->counting_filter[(granule ^ granule / COUNTING_FILTER_LINE) %
				     LOG_COUNTING_FILTER];
}

/* For the block's owner: true if there is certainly no record of it. */
static inline bool counting_filter_lacks(const struct log *log, uint64_t address)
{
	return !__atomic_load_n(counting_filter_counter(log, address), __ATOMIC_RELAXED);
}

/* Call this before a record of address is put in. */
static inline void counting_filter_add(struct log *log, uint64_t address)
{
	uint8_t *counter = counting_filter_counter(log, address);
	uint8_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (count != COUNTING_FILTER_STUCK &&
	       !__atomic_compare_exchange_n(counter, &count, (uint8_t)(count + 1), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}

/* Call this after it has come out. */
static inline void counting_filter_take_back(struct log *log, uint64_t address)
{
	uint8_t *counter = counting_filter_counter(log, address);
	uint8_t count = __atomic_load_n(counter, __ATOMIC_RELAXED);

	while (count && count != COUNTING_FILTER_STUCK &&
	       !__atomic_compare_exchange_n(counter, &count, (uint8_t)(count - 1), false,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		;
}
