/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the log: records, stacks, threads, sums. The region is not trusted: see log_layout.h and
 * stack_table.h.
 */

#include <string.h>

#include "log/log_deferred.h"
#include "log/directory.h"
#include "log/log_layout.h"
#include "log/registry.h"
#include "log/ring.h"
#include "log/stack_table.h"
#include "log/log_unknown_free.h"
#include "log/block_table.h"
#include "unwind/walk.h"

static bool window_each(const struct log *log, const struct log_window *window,
			uint32_t *patience, log_each_fn *fn, void *ctx)
{
	uint64_t unit = log->nr_extents * DIRECTORY_RECORDS + 1 +
			(uint64_t)(window - log->table[0].window) * WINDOW_UNITS;

	for (unsigned i = 0; i < WINDOW_SLOTS; i++) {
		struct log_record record;

		if (block_table_read_slot(log, &window->slot[i], patience, &record) &&
		    fn(&record, unit + i, ctx))
			return true;
	}
	return false;
}

void reader_each(const struct log *log, log_each_fn *fn, void *ctx)
{
	/* A table that is added meanwhile has only records that are younger than this scan. */
	uint32_t nr = block_table_count(log), patience = SLOT_PATIENCE;

	if (directory_each(log, fn, ctx))
		return;
	for (uint32_t i = 0; i < nr; i++)
		for (uint32_t j = 0; j < log->table[i].nr; j++)
			if (window_each(log, &log->table[i].window[j], &patience, fn, ctx))
				return;
}

/* NULL: there is no such slot in the tables in use. */
static const struct log_slot *slot_at(const struct log *log, uint64_t number)
{
	const struct log_table *last = &log->table[block_table_count(log) - 1];
	uint64_t windows = (uint64_t)(last->window - log->table[0].window) + last->nr;

	if (number / WINDOW_UNITS >= windows || number % WINDOW_UNITS == 0)
		return NULL;
	return &log->table[0].window[number / WINDOW_UNITS].slot[number % WINDOW_UNITS - 1];
}

/* The numbers of the directory's records come first, then those of the tables' slots. */
bool reader_slot(const struct log *log, uint64_t slot, struct log_record *ret)
{
	uint64_t records = log->nr_extents * DIRECTORY_RECORDS;
	uint32_t patience = SLOT_PATIENCE;
	const struct log_slot *at;

	if (slot - 1 < records)
		return directory_numbered(log, slot - 1, ret);
	at = slot_at(log, slot - records);
	return at && block_table_read_slot(log, at, &patience, ret);
}

static void unpair(uint64_t pair, uint32_t *high_ret, uint32_t *low_ret)
{
	*high_ret = (uint32_t)(pair >> 32);
	*low_ret = (uint32_t)pair;
}

static bool unknown_free_read(const struct log *log, const struct log_unknown_free_slot *slot,
			      uint64_t number,
			      struct log_unknown_free *ret)
{
	if (ring_load(&slot->ticket) != ring_ticket(number))
		return false;
	ret->address = ring_load(&slot->address);
	ret->time = ring_load(&slot->time);
	unpair(ring_load(&slot->who), &ret->thread, &ret->stack);
	ret->on_stack = ring_load(&slot->on_stack);
	ret->block.address = ret->address;
	ret->block.size = MIN(ring_load(&slot->block_size), LOG_SIZE_MAX);
	ret->block.time = ring_load(&slot->block_time);
	unpair(ring_load(&slot->block_who), &ret->block.thread, &ret->block.stack);
	ret->block.heap = LOG_HEAP_UNKNOWN;
	ret->first.address = ret->address;
	ret->first.block_time = ret->block.time;
	ret->first.time = ring_load(&slot->first_time);
	unpair(ring_load(&slot->first_who), &ret->first.thread, &ret->first.stack);
	ret->history = (uint32_t)ring_load(&slot->history);
	log_bound_ids(log, &ret->thread, &ret->stack);
	log_bound_ids(log, &ret->block.thread, &ret->block.stack);
	log_bound_ids(log, &ret->first.thread, &ret->first.stack);
	return ring_held(&slot->ticket, ring_ticket(number));
}

void reader_each_unknown_free(const struct log *log, enum log_unknown_free_kind kind,
			      bool (*fn)(const struct log_unknown_free *unknown, void *ctx),
			      void *ctx)
{
	uint64_t end = __atomic_load_n(&log->header->unknown_frees[kind], __ATOMIC_ACQUIRE);
	uint64_t start = end > LOG_UNKNOWN_FREES ? end - LOG_UNKNOWN_FREES : 0;
	struct log_unknown_free unknown;

	for (uint64_t number = start; number < end; number++)
		if (unknown_free_read(log, &log->unknown[kind][number % LOG_UNKNOWN_FREES], number,
				      &unknown) &&
		    fn(&unknown, ctx))
			return;
}

struct log_stack_view reader_stack(const struct log *log, uint32_t stack)
{
	struct log_stack_view view = { NULL, 0, 0, 0, 0, 0 };
	uint32_t whole = log_deferred_whole(log, stack);
	const struct log_stack *at = stack_table_find(log, whole, &view.nr);

	if (!at) {
		view.nr = 0;
		return view;
	}
	view.pcs = at->pc;
	view.end = at->end;
	view.generation = at->generation;
	if (whole == stack) {
		view.total = __atomic_load_n(&at->total, __ATOMIC_RELAXED);
		view.total_bytes = __atomic_load_n(&at->total_bytes, __ATOMIC_RELAXED);
	}
	/* A deferred stack has its hash in the place of the last PC. */
	if (view.end == WALK_DEFERRED && view.nr)
		view.nr--;
	return view;
}

uint32_t reader_stacks(const struct log *log)
{
	uint32_t next = (uint32_t)(__atomic_load_n(&log->header->stacks, __ATOMIC_ACQUIRE) >> 32);

	return next ? MIN(next - 1, log->nr_stacks) : 0;
}

struct log_thread_view reader_thread(const struct log *log, uint32_t thread)
{
	struct log_thread_view view = { 0, 0 };

	if (!thread || thread >= threads_count(log))
		return view;
	view.thread_pointer = __atomic_load_n(&log->thread[thread].thread_pointer,
					      __ATOMIC_RELAXED);
	view.lwp = __atomic_load_n(&log->thread[thread].lwp, __ATOMIC_RELAXED);
	return view;
}

#define ACCOUNTS	((unsigned)(sizeof(struct log_accounts) / sizeof(uint64_t)))
#define OF_FREES	(1u << LOG_ACCOUNT(frees) | 1u << LOG_ACCOUNT(free_bytes) | \
			 1u << LOG_ACCOUNT(replaced) | 1u << LOG_ACCOUNT(unsampled_frees))

static void add_accounts(const struct log *log, uint32_t nr, uint32_t which, uint64_t *sum)
{
	for (uint32_t i = 0; i < nr; i++)
		for (unsigned j = 0; j < ACCOUNTS; j++)
			if (which >> j & 1)
				sum[j] += __atomic_load_n(&log->thread[i].account[j],
							  __ATOMIC_ACQUIRE);
}

struct log_accounts reader_accounts(const struct log *log)
{
	uint64_t sum[ACCOUNTS] = { 0 };
	struct log_accounts accounts;

	add_accounts(log, threads_count(log), OF_FREES, sum);
	add_accounts(log, threads_count(log), ~OF_FREES, sum);
	memcpy(&accounts, sum, sizeof(accounts));
	return accounts;
}

uint64_t reader_held_bytes(const struct log *log)
{
	uint64_t sum[ACCOUNTS] = { 0 };
	uint32_t nr = threads_count(log);

	add_accounts(log, nr, 1u << LOG_ACCOUNT(alloc_bytes), sum);
	add_accounts(log, nr, 1u << LOG_ACCOUNT(free_bytes), sum);
	return sum[LOG_ACCOUNT(alloc_bytes)] -
	       MIN(sum[LOG_ACCOUNT(alloc_bytes)], sum[LOG_ACCOUNT(free_bytes)]);
}

uint64_t reader_live(const struct log *log)
{
	struct log_accounts accounts = reader_accounts(log);

	return accounts.allocs - accounts.frees - accounts.replaced;
}
