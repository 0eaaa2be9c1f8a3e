/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A region as a whole: make it, open it, measure it, empty it. */

#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "log/log_clock.h"
#include "log/log_deferred.h"
#include "log/directory.h"
#include "log/free_history.h"
#include "log/journal.h"
#include "log/registry.h"
#include "log/sample.h"
#include "log/stack_table.h"
#include "log/log_unknown_free.h"
#include "log/block_table.h"

static struct err *check_free_history(const struct log *log, uint64_t sample, uint32_t nr)
{
	if (nr && sample)
		return err_create(ERR_USAGE,
				  "free-history: the log samples, and tells no double frees");
	if (nr > log->nr_frees)
		return err_create(ERR_USAGE,
				  "free-history: a log of %" PRIu64 "M has room for %u frees "
				  "(--log-limit SIZE makes it larger)",
				  log->size >> 21, log->nr_frees);
	return NULL;
}

struct err *log_format_behind(void *base, const struct log_config *config, struct log *ret)
{
	struct log_header *header;
	struct err *err;
	struct log log;

	if (!config->stack_depth || config->stack_depth > LOG_DEPTH_MAX)
		return err_create(ERR_USAGE, "log: stack depth %u is not in 1 to %d",
				  config->stack_depth, LOG_DEPTH_MAX);
	if (!log_layout(base, config->region_size, JOURNAL_SIZE, &log))
		return err_create(ERR_USAGE, "log: %" PRIu64 " bytes is not in %llu to %llu",
				  config->region_size, LOG_REGION_MIN, LOG_REGION_MAX);
	err = check_free_history(&log, config->sample | config->cost, config->free_history);
	if (err)
		return err;
	header = log.header;
	memset(header, 0, sizeof(*header));
	header->version = LOG_VERSION;
	header->stack_depth = config->stack_depth;
	header->size = config->region_size;
	header->sample = config->cost ? sample_rate_mean(SAMPLE_RATE_FIRST) : config->sample;
	header->sample_rate = config->cost ? SAMPLE_RATE_FIRST : 0;
	header->sample_cost = config->cost;
	header->free_history = config->free_history;
	header->tables = 1;
	header->threads = 1;
	header->stacks = 1ull << 32 | 1;
	header->origin = ALIGN_DOWN(log_now(), (uint64_t)WHO_TICK_BITS + 1);
	header->start = header->gap = header->origin;
	header->near_size = UINT64_MAX;
	header->budget = UINT64_MAX;
	header->uncovered = header->sample != 0;	/* such a log has no directory */
	log_clock_start(&log);
	memcpy(header->magic, LOG_MAGIC, sizeof(header->magic));
	*ret = log;
	return NULL;
}

struct err *log_format(void *base, const struct log_config *config, struct log *ret)
{
	struct err *err = log_format_behind(base, config, ret);

	if (!err)
		journal_init(base, config->region_size, JOURNAL_SIZE);
	return err;
}

struct err *log_open(void *base, uint64_t size, struct log *ret)
{
	const struct journal *journal = base;
	struct err *err = journal_check(journal, size);
	struct log log;

	if (err)
		return err_wrap(err, "log");
	if (!log_layout(base, journal->region_size, journal->log_offset, &log))
		return err_create(ERR_FORMAT,
				  "log: a region of %" PRIu64 " bytes with the log at %" PRIu64,
				  journal->region_size, journal->log_offset);
	if (memcmp(log.header->magic, LOG_MAGIC, sizeof(log.header->magic)))
		return err_create(ERR_FORMAT, "log: no magic number");
	if (log.header->version != LOG_VERSION)
		return err_hint(err_create(ERR_FORMAT, "log: version %u, this mdbg knows %d",
					   log.header->version, LOG_VERSION),
				"another version of mdbg has made it; use that, or detach to remove it");
	if (!log_view(base, size, &log))
		return err_create(ERR_FORMAT, "log: made for %" PRIu64 " bytes",
				  log.header->size);
	*ret = log;
	return NULL;
}

struct log_config log_config(const struct log *log)
{
	uint32_t depth = __atomic_load_n(&log->header->stack_depth, __ATOMIC_RELAXED);
	uint64_t sample = __atomic_load_n(&log->header->sample, __ATOMIC_RELAXED);
	uint64_t rate = sample ? log_rate(log) : 0;

	if (rate)
		sample = MAX(sample_rate_mean(rate), 1ull);
	return (struct log_config){
		.region_size = log->size,
		.stack_depth = depth ? MIN(depth, (uint32_t)LOG_DEPTH_MAX) : 1,
		.sample = MIN(sample, SAMPLE_MEAN_MAX),
		.cost = (uint32_t)log->header->sample_cost,
		.free_history = free_history_kept(log),
	};
}

/* A count of unknown frees is taken back a moment later if it turns out to be another kind. */
struct log_older log_older_of(const struct log *log, const struct log_accounts *accounts)
{
	return (struct log_older){
		.known = !log_config(log).sample,
		.bytes = accounts->sized_bytes, .frees = accounts->sized_frees,
		.unsized = accounts->unknown_frees - MIN(accounts->unknown_frees,
							 accounts->sized_frees),
	};
}

struct log_older log_older(const struct log *log)
{
	struct log_accounts accounts = reader_accounts(log);

	return log_older_of(log, &accounts);
}

void log_set_rate(struct log *log, uint8_t rate)
{
	if (log_rate(log) && rate)
		__atomic_store_n(&log->header->sample_rate, rate, __ATOMIC_RELAXED);
}

bool log_set_cost(struct log *log, uint32_t cost)
{
	if (!log_rate(log))
		return false;
	__atomic_store_n(&log->header->sample_cost, cost, __ATOMIC_RELAXED);
	if (!cost)
		log_set_rate(log, SAMPLE_RATE_ALL);
	return true;
}

void log_set_sampled(struct log *log, uint64_t mean, uint32_t cost)
{
	__atomic_store_n(&log->header->sample, mean, __ATOMIC_RELAXED);
	__atomic_store_n(&log->header->sample_cost, cost, __ATOMIC_RELAXED);
}

struct err *log_set_free_history(struct log *log, uint32_t nr)
{
	struct err *err = check_free_history(log, log->header->sample, nr);

	if (!err)
		__atomic_store_n(&log->header->free_history, nr, __ATOMIC_RELAXED);
	return err;
}

/*
 * Zero the pages of a shared mapping by giving them back. Memory without a file (in tests) is set
 * to zero instead.
 */
static void wipe(void *start, uint64_t bytes)
{
	if (bytes && madvise(start, bytes, MADV_REMOVE))
		memset(start, 0, bytes);
}

/* What wipe_directory and the end of all tables but the first give back. */
static uint64_t records_taken(const struct log *log)
{
	return MIN(log->header->extents, log->nr_extents) * 2 * LOG_PAGE +
	       MIN(log->header->dense, log->share / LOG_PAGE) * LOG_PAGE +
	       tables_bytes(log, block_table_count(log)) - tables_bytes(log, 1);
}

static void wipe_directory(struct log *log)
{
	uint64_t nr = MIN(log->header->extents, log->nr_extents);

	wipe(log->extent_map, (log->extent_mask + 1) * sizeof(*log->extent_map));
	wipe(log->extent, nr * sizeof(*log->extent));
	wipe(log->directory, nr * DIRECTORY_BYTES);
	log->header->extents = 0;
	log->header->dense = 0;
	log->header->uncovered = log->header->sample != 0;
}

void log_reset(struct log *log)
{
	uint32_t tables = block_table_count(log), threads = threads_count(log);
	uint32_t stacks = reader_stacks(log);

	log->header->taken -= MIN(log->header->taken, records_taken(log));
	for (uint32_t i = 0; i < tables; i++)
		wipe(log->table[i].window,
		     ALIGN_DOWN(log->table[i].nr * sizeof(struct log_window), LOG_PAGE));
	wipe_directory(log);
	for (uint32_t i = 0; i < threads; i++)
		memset(log->thread[i].account, 0, sizeof(log->thread[i].account));
	for (uint32_t i = 1; i <= stacks; i++) {
		uint32_t nr;
		struct log_stack *stack = stack_table_find(log, i, &nr);

		if (stack)
			stack->total = stack->total_bytes = 0;
	}
	for (unsigned kind = 0; kind < LOG_UNKNOWN_FREE_KINDS; kind++) {
		wipe(log->unknown[kind], LOG_UNKNOWN_FREES * sizeof(struct log_unknown_free_slot));
		log->header->unknown_frees[kind] = 0;
	}
	if (log->header->sample)
		wipe(log->counting_filter, LOG_COUNTING_FILTER);
	wipe(log->freed, log->nr_frees * sizeof(*log->freed));
	log->header->frees = 0;
	log->reserved.unknown_frees = log->reserved.counting_filter = log->reserved.freed = 0;
	log->reserved.tables = log->reserved.extents = 0;
	log->reserved.places = log->reserved.places_seen = 0;
	log->header->tables = 1;
	log->header->start = log_now();
}

void log_set_near_size(struct log *log, uint32_t size)
{
	uint64_t *near = &log->header->near_size, was = __atomic_load_n(near, __ATOMIC_RELAXED);

	__atomic_store_n(near, was == UINT64_MAX ? size : MAX(was, (uint64_t)size),
			 __ATOMIC_RELAXED);
}

void log_note_gap(struct log *log)
{
	__atomic_store_n(&log->header->gap, log_now(), __ATOMIC_RELAXED);
}

uint64_t log_taken(const struct log *log)
{
	return __atomic_load_n(&log->header->taken, __ATOMIC_RELAXED);
}

void log_set_budget(struct log *log, uint64_t more)
{
	uint64_t taken = log_taken(log);

	__atomic_store_n(&log->header->budget, more < UINT64_MAX - taken ? taken + more : UINT64_MAX,
			 __ATOMIC_RELAXED);
}

struct log_usage log_usage(const struct log *log)
{
	uint32_t tables = block_table_count(log), stacks = reader_stacks(log);
	uint64_t pages = directory_pages(log);
	uint64_t arena = MIN((uint32_t)log->header->stacks * (uint64_t)STACK_UNIT, log->arena_size);
	uint32_t levels = 0;
	struct log_usage usage = { 0, 0, 0, 0 };

	for (uint32_t i = 0; i < tables; i++) {
		usage.table_bytes += log->table[i].nr * sizeof(struct log_window);
		usage.table_slots += (uint64_t)log->table[i].nr * WINDOW_SLOTS;
	}
	usage.table_bytes += pages * LOG_PAGE;
	usage.table_slots += pages * DIRECTORY_PAGE_LINES * DIRECTORY_LINE_RECORDS;
	/* The number of levels that so many stacks can fill. */
	while (levels < log->stack_levels && stack_level_start(levels) * STACK_BUCKET < stacks)
		levels++;
	usage.stack_bytes = arena + stacks * sizeof(uint32_t) +
			    stack_level_start(levels) * STACK_BUCKET * sizeof(uint64_t);
	usage.other_bytes =
		JOURNAL_SIZE + LOG_HEADER_SIZE + LOG_HINTS * sizeof(*log->hint) +
		LOG_UNKNOWN_FREE_KINDS * LOG_UNKNOWN_FREES * sizeof(struct log_unknown_free_slot) +
		(log->header->sample ? LOG_COUNTING_FILTER : 0) +
		MAX(free_history_kept(log) * sizeof(struct log_free_slot), log->reserved.freed) +
		DEFERRED_TABLE_BYTES + log->nr_deferred * (uint64_t)DEFERRED_BYTES +
		log->reserved.growth + log->refs_reserved +
		(uint64_t)threads_count(log) * (sizeof(struct log_entry) + 2 * sizeof(uint32_t));
	return usage;
}
