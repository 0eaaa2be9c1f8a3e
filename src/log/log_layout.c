/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The layout of a region, computed from its size. Freestanding. */

#include "log/log_layout.h"

#include "log/log_deferred.h"
#include "log/directory.h"
#include "log/free_history.h"
#include "log/growth_ring.h"
#include "log/journal.h"
#include "log/ref_ring.h"
#include "log/stack_table.h"
#include "log/log_unknown_free.h"
#include "log/block_table.h"

#define TABLE_TURN	13

/* The largest power of two that is at most x; x must not be 0. */
static uint64_t power_of_two(uint64_t x)
{
	return 1ull << (63 - __builtin_clzll(x));
}

/* Hand out the next bytes of the region, in whole pages. */
static uint8_t *cut(struct log *log, uint64_t *at, uint64_t bytes)
{
	uint8_t *start = log->base + *at;

	*at += ALIGN_UP(bytes, LOG_PAGE);
	return start;
}

/* Bytes of memory that a region may take (log_layout.h). */
static uint64_t memory(const struct log *log)
{
	return log->size / 2;
}

/*
 * The registry gets a sixteenth of the memory, and the stacks an eighth: of the default gigabyte
 * that is room for 64K threads and about a million stacks.
 */
static void cut_threads(struct log *log, uint64_t *at)
{
	uint64_t nr = power_of_two(memory(log) / 16 / sizeof(struct log_entry));

	log->nr_threads = (uint32_t)MIN(nr, LOG_THREADS_MAX);
	log->thread = (struct log_entry *)cut(log, at, log->nr_threads * sizeof(struct log_entry));
	log->thread_index = (uint32_t *)cut(log, at, 2 * log->nr_threads * sizeof(uint32_t));
}

static void cut_stacks(struct log *log, uint64_t *at)
{
	uint64_t bytes = memory(log) / 8;
	uint64_t nr = MIN(power_of_two(bytes / STACK_TYPICAL), STACK_NR_MAX);

	log->nr_stacks = (uint32_t)nr;
	while (stack_level_start(log->stack_levels) * STACK_BUCKET < 2 * nr)
		log->stack_levels++;
	log->stack_index = (uint64_t *)cut(log, at, stack_level_start(log->stack_levels) *
					   STACK_BUCKET * sizeof(uint64_t));
	log->stack_directory = (uint32_t *)cut(log, at, (nr + 1) * sizeof(uint32_t));
	log->arena_size = MIN(ALIGN_DOWN(bytes, LOG_PAGE), (uint64_t)STACK_UNIT << 32);
	log->arena = cut(log, at, log->arena_size);
}

/* They get at most a sixty-fourth of the memory. */
static void cut_freed(struct log *log, uint64_t *at)
{
	uint64_t nr = power_of_two(memory(log) / 64 / sizeof(struct log_free_slot));

	log->nr_frees = (uint32_t)MIN(nr, LOG_FREES_MAX);
	log->freed = (struct log_free_slot *)cut(log, at, log->nr_frees * sizeof(*log->freed));
}

/* They get at most a sixty-fourth of the memory, besides the table. */
static void cut_deferred(struct log *log, uint64_t *at)
{
	log->nr_deferred = (uint32_t)MIN(memory(log) / 64 / DEFERRED_BYTES,
					 (uint64_t)DEFERRED_COPIES);
	log->deferred = (struct deferred_table *)cut(log, at, DEFERRED_TABLE_BYTES);
	log->deferred_copy =
		(struct deferred_copy *)cut(log, at, (uint64_t)log->nr_deferred * DEFERRED_BYTES);
}

/* They get at most a thirty-second of the region. */
static void cut_growth(struct log *log, uint64_t *at)
{
	log->nr_growth = power_of_two(log->size / 32 / sizeof(struct log_growth_slot));
	log->growth = (struct log_growth_slot *)cut(log, at,
						    log->nr_growth * sizeof(*log->growth));
}

/* They get at most a hundred-and-twenty-eighth of the region. */
static void cut_refs(struct log *log, uint64_t *at)
{
	log->refs_reserved = 0;
	log->nr_refs = power_of_two(log->size / 128 / sizeof(struct log_ref_slot));
	log->ref = (struct log_ref_slot *)cut(log, at, log->nr_refs * sizeof(*log->ref));
}

/*
 * It gets addresses for all the memory that is left, and so do the tables. What only finds its
 * pages is taken from the share of both. The map has a page at least; entries without a place lead
 * nowhere.
 */
static void cut_directory(struct log *log, uint64_t *at)
{
	uint64_t each = DIRECTORY_BYTES + sizeof(struct directory_extent);
	uint64_t left = memory(log) - *at, from = *at;
	uint64_t nr = MIN(left / (each + DIRECTORY_MAP_TIMES * sizeof(*log->extent_map)),
			  DIRECTORY_PLACE);
	uint64_t least = nr ? nr : 1;
	uint64_t entries = MAX(power_of_two(least) * DIRECTORY_MAP_TIMES,
			       LOG_PAGE / sizeof(*log->extent_map));

	log->nr_extents = nr;
	log->extent_mask = entries - 1;
	log->extent_map = (uint64_t *)cut(log, at, entries * sizeof(*log->extent_map));
	log->extent = (struct directory_extent *)cut(log, at, nr * sizeof(*log->extent));
	log->share = ALIGN_DOWN(left - (*at - from), LOG_PAGE);
	log->directory = (struct directory_line *)cut(log, at, nr * DIRECTORY_BYTES);
}

/*
 * Each table adds at least STEP; what is left over at the end becomes part of the last one. See
 * block_table.h.
 */
static void cut_tables(struct log *log, uint64_t at)
{
	uint64_t left = log->share, used = 0;

	while (left >= LOG_PAGE && log->nr_tables < LOG_TABLES) {
		uint64_t bytes = table_bytes_next(used);
		struct log_table *table = &log->table[log->nr_tables++];

		if (bytes > left || left - bytes < bytes / 4 || log->nr_tables == LOG_TABLES)
			bytes = MIN(left, TABLE_BYTES_MAX);
		table->window = (struct log_window *)cut(log, &at, bytes);
		table->nr = (uint32_t)(bytes / sizeof(struct log_window));
		table->turn = (log->nr_tables - 1) * TABLE_TURN % 64;
		left -= bytes;
		used += bytes;
	}
	log->hint_units = MIN(used / sizeof(struct log_slot), UINT32_MAX);
}

bool log_layout(void *base, uint64_t size, uint64_t header_offset, struct log *ret)
{
	uint64_t at = header_offset;

	if (size < LOG_REGION_MIN || size > LOG_REGION_MAX || header_offset < JOURNAL_SIZE ||
	    header_offset > LOG_REGION_MIN / 4 || header_offset % LOG_PAGE)
		return false;
	ret->base = base;
	ret->size = size;
	ret->nr_tables = 0;
	ret->newest = 0;
	ret->reserved = (struct log_reserved){ 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 };
	ret->stack_levels = 0;
	ret->header = (struct log_header *)cut(ret, &at, LOG_HEADER_SIZE);
	ret->hint = (uint64_t *)cut(ret, &at, LOG_HINTS * sizeof(*ret->hint));
	cut_threads(ret, &at);
	cut_stacks(ret, &at);
	for (unsigned kind = 0; kind < LOG_UNKNOWN_FREE_KINDS; kind++)
		ret->unknown[kind] = (struct log_unknown_free_slot *)
			cut(ret, &at, LOG_UNKNOWN_FREES * sizeof(struct log_unknown_free_slot));
	ret->counting_filter = cut(ret, &at, LOG_COUNTING_FILTER);
	cut_freed(ret, &at);
	cut_deferred(ret, &at);
	cut_growth(ret, &at);
	cut_refs(ret, &at);
	cut_directory(ret, &at);
	cut_tables(ret, at);
	return true;
}
