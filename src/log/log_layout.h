/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where everything lies in the region. The whole layout follows from two numbers, the offset of the
 * header and the bytes of the region (log_layout), and each process that maps the region computes
 * it anew: the region holds no offset that a reader would have to believe. That matters because the
 * target can write there: mdbg takes from the region only numbers that it can bound (how many
 * tables, how much of the arena) and contents.
 *
 *	offset 0	the journal (journal.h), JOURNAL_SIZE
 *	header_offset	struct log_header, LOG_HEADER_SIZE
 *			hints		uint64_t[LOG_HINTS]	(block_table.h)
 *			threads		struct log_entry[nr_threads]
 *			thread index	uint32_t[2 * nr_threads]	(registry.c)
 *			stack index	stack_levels levels of buckets (stack_table.h)
 *			stack directory	uint32_t[nr_stacks + 1]
 *			stack arena	stacks, one after the other
 *			unknown frees	LOG_UNKNOWN_FREE_KINDS rings of
 *					struct log_unknown_free_slot[LOG_UNKNOWN_FREES]
 *					(log_unknown_free.h)
 *			counting filter	uint8_t[LOG_COUNTING_FILTER], where the log samples
 *					(counting_filter.h)
 *			frees		struct log_free_slot[nr_frees]	(free_history.h)
 *			deferred	struct deferred_table, struct deferred_copy[nr_deferred]
 *					(log_deferred.h)
 *			growth		struct log_growth_slot[nr_growth]	(growth_ring.h)
 *			references	struct log_ref_slot[nr_refs]	(ref_ring.h)
 *			extent map	uint64_t[extent_mask + 1]	(directory.h)
 *			extents		struct directory_extent[nr_extents]
 *			directory	struct directory_line[nr_extents * DIRECTORY_LINES]
 *			table 0, table 1, ...				(block_table.h)
 *	size
 *
 * The file behind it is sparse: parts that no writer has touched take no memory. Readers must not
 * look at parts that are not in use, since even a read of a hole in shared memory fills it.
 *
 * Memory. A region takes half as many bytes of memory as it has addresses, at most. Small blocks
 * fill the directory, large ones the tables, and nobody knows beforehand which a program will have:
 * so the directory and the tables each have addresses for all that the other parts leave of that
 * half (log->share), and together they may take as much. header->dense counts the pages of the
 * directory, and what the tables take follows from their number (share_left). No page and no
 * table is added beyond that. A page may be, in the moment in which another thread adds the last
 * one or a table: the excess is a page for each thread. Less than that may be taken if the process
 * has not so much to spare (budget.h).
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"

#define LOG_MAGIC		"mdbg-log"
#define LOG_HEADER_SIZE		(16 * 1024)
#define LOG_PAGE		4096
#define LOG_HINTS		4096		/* a power of two */
#define LOG_THREADS_MAX		(1u << 16)	/* a record has 16 bits for it */
#define LOG_ADDRESS_BITS	56		/* of a record's address */
#define LOG_ANCHORS		256		/* of the clock */
#define LOG_COUNTING_FILTER		(1u << 20)	/* counters */
/* unknown frees of each kind that are remembered; a power of two */
#define LOG_UNKNOWN_FREES		1024

/*
 * One thread that was seen: its ids, and its accounts. Only the thread itself writes here (or the
 * tracer, while the thread is stopped); entry 0 belongs to all. An entry takes whole pairs of cache
 * lines, so that writers do not share one.
 */
struct log_entry {
	uint64_t account[sizeof(struct log_accounts) / sizeof(uint64_t)];
	uint64_t thread_pointer;
	uint32_t lwp;
	uint32_t pad;
} __attribute__((aligned(128)));

/* A moment in both clocks (log_clock.c). */
struct log_anchor {
	uint64_t stamp;
	uint64_t end;		/* ns since the epoch at which the time before it ends ... */
	/* ... and from which the time after it goes on: later, if the clock was set forward here */
	uint64_t start;
};

struct log_header {
	char magic[8];
	uint32_t version;
	uint32_t stack_depth;
	uint64_t size;		/* bytes of the region */
	uint64_t sample;
	uint64_t origin;	/* time stamp of log_format: SEQ counts from here */
	uint64_t start;		/* time stamp of log_format or log_reset */
	uint64_t gap;		/* time stamp of log_note_gap, by mdbg */
	uint64_t free_history;	/* frees that are remembered (free_history.h), by mdbg */
	uint64_t near_size;	/* UINT64_MAX: not known (log_set_near_size), by mdbg */
	uint64_t growth_kinds, growth_first, growth_start, growth_brk;	/* growth_ring.h, by mdbg */
	uint64_t budget;	/* bytes that the log may take (budget.h), by mdbg */
	uint64_t sample_rate;	/* 0: the mean is `sample` for ever (log_set_rate), by mdbg */
	uint64_t sample_cost;	/* its bound (sample_cost.h), by mdbg */

	/* Written by all writers; each on a line of its own. */
	uint32_t tables __attribute__((aligned(64)));	/* allocation tables in use, 1 at least */
	uint32_t threads __attribute__((aligned(64)));	/* registry entries in use, 1 at least */
	/* next id << 32 | next unit of the arena (stack_table.h) */
	uint64_t stacks __attribute__((aligned(64)));
	/* how many were ever put into each ring */
	uint64_t unknown_frees[LOG_UNKNOWN_FREE_KINDS] __attribute__((aligned(64)));
	uint64_t frees __attribute__((aligned(64)));	/* the same */
	uint64_t growth __attribute__((aligned(64)));	/* the same */
	uint64_t refs __attribute__((aligned(64)));	/* the same */
	/* directory.h: places taken; and is there an address whose extent has found no place? */
	uint64_t extents __attribute__((aligned(64)));
	uint64_t dense;		/* pages */
	uint32_t uncovered;
	uint64_t taken;		/* bytes (budget.h) */

	/* Written by mdbg only. */
	uint32_t anchors __attribute__((aligned(64)));
	uint64_t rate;		/* ns a tick, times 2^48, for what comes after the last anchor */
	uint64_t rate_stamp, rate_ns;	/* where rate is measured from: the start (log_clock.c) */
	uint64_t ahead;		/* ns that the log is ahead of a clock that was set back */
	struct log_anchor anchor[LOG_ANCHORS];
};

_Static_assert(sizeof(struct log_header) <= LOG_HEADER_SIZE, "header");
_Static_assert(sizeof(struct log_entry) == 256, "entry");

/*
 * Fill in the pointers and bounds of *log for a region of size bytes at base whose header lies at
 * header_offset. They follow from these numbers alone; the region is not read. False: it does not
 * fit.
 */
bool log_layout(void *base, uint64_t size, uint64_t header_offset, struct log *ret);

/*
 * A reader bounds the ids of a record in its own copy before it hands the record out: an id that
 * this region cannot have given becomes LOG_STACK_DAMAGED, or entry 0 of the registry. An address
 * has at most 56 bits and a size 48, because a slot has no room for more.
 */
static inline void log_bound_ids(const struct log *log, uint32_t *thread, uint32_t *stack)
{
	if (*thread >= log->nr_threads)
		*thread = 0;
	if (*stack > log->nr_stacks)
		*stack = LOG_STACK_DAMAGED;
	else
		*stack = log_deferred_whole(log, *stack);
}

/* Returns the rate at which the log samples now (sample.h); 0: it does not, or has one mean for ever. */
static inline uint8_t log_rate(const struct log *log)
{
	return (uint8_t)__atomic_load_n(&log->header->sample_rate, __ATOMIC_RELAXED);
}

/* Can this be the address of a record? */
static inline bool address_fits(uint64_t address)
{
	return address - 1 < (1ull << LOG_ADDRESS_BITS) - 1;
}
