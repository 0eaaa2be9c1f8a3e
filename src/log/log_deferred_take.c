/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Deferred stacks, mdbg's half: it takes copies out, finishes stacks and marks ranges (theory in
 * log_deferred.h).
 */

#include <string.h>

#include "log/log_deferred.h"
#include "log/log_layout.h"
#include "log/stack_table.h"
#include "unwind/walk.h"

void log_deferred_take_look(const struct log *log, struct deferred_seen *ret)
{
	ret->nr = 0;
	for (uint32_t i = 0; i < log->nr_deferred; i++) {
		uint64_t claim = __atomic_load_n(&log->deferred->head[i].claim, __ATOMIC_ACQUIRE);

		ret->claim[i] = claim & DEFERRED_READY ? claim : 0;
		if (!ret->claim[i])
			continue;
		ret->pc[i] = *(const volatile uint64_t *)&log->deferred_copy[i].walk.pc;
		ret->nr++;
	}
}

static void drop(struct log *log, uint32_t i)
{
	__atomic_store_n(&log->deferred->head[i].claim, 0, __ATOMIC_RELEASE);
}

/* Is it a deferred stack, with this hash in the place of the last PC? */
static struct log_stack *find_deferred(const struct log *log, uint32_t stack, uint64_t hash)
{
	uint32_t nr;
	struct log_stack *at = stack_table_find(log, stack, &nr);

	return at && nr && at->end == WALK_DEFERRED && at->pc[nr - 1] == hash ? at : NULL;
}

static bool makes_sense(const struct deferred_copy *copy)
{
	const struct deferred_walk *walk = &copy->walk;

	return walk->nr <= LOG_DEPTH_MAX && walk->at < walk->nr &&
	       walk->len <= sizeof(copy->stack) && walk->sp <= UINT64_MAX - walk->len &&
	       walk->end < WALK_ENDS && walk->end != WALK_DEFERRED &&
	       copy->pcs[walk->at] == walk->pc;
}

bool log_deferred_take(struct log *log, const struct deferred_seen *seen, uint32_t i,
		       struct deferred_copy *ret, uint32_t *stack_ret)
{
	struct deferred_head *head = &log->deferred->head[i];
	uint64_t claim = __atomic_load_n(&head->claim, __ATOMIC_ACQUIRE);

	if (!seen->claim[i] || claim != seen->claim[i])
		return false;
	memcpy(ret, &log->deferred_copy[i], sizeof(*ret));
	*stack_ret = (uint32_t)claim;
	if (makes_sense(ret) && find_deferred(log, *stack_ret, head->hash))
		return true;
	drop(log, i);
	return false;
}

void log_deferred_take_finish(struct log *log, uint32_t i, uint32_t stack, uint32_t whole)
{
	struct log_stack *at = find_deferred(log, stack, log->deferred->head[i].hash);

	if (at && whole != LOG_STACK_NONE)
		__atomic_store_n(&at->forward, whole, __ATOMIC_RELEASE);
	drop(log, i);
}

void log_deferred_take_mark(struct log *log, uint64_t start, uint64_t end, uint32_t generation)
{
	struct deferred_table *table = log->deferred;
	struct deferred_range *range;

	if (table->generation != generation) {
		for (unsigned i = 0; i < DEFERRED_RANGES; i++)
			__atomic_store_n(&table->range[i].end, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&table->generation, generation, __ATOMIC_RELEASE);
	}
	for (unsigned i = 0; i < DEFERRED_RANGES; i++)
		if (table->range[i].start == start && table->range[i].end == end)
			return;
	range = &table->range[table->next++ % DEFERRED_RANGES];
	__atomic_store_n(&range->end, 0, __ATOMIC_RELEASE);
	__atomic_store_n(&range->start, start, __ATOMIC_RELEASE);
	__atomic_store_n(&range->end, end, __ATOMIC_RELEASE);
}

void log_deferred_take_renew(struct log *log, bool (*is_gone)(uint32_t lwp, void *ctx), void *ctx)
{
	struct deferred_table *table = log->deferred;

	__atomic_store_n(&table->used, 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < log->nr_deferred; i++) {
		uint64_t claim = __atomic_load_n(&table->head[i].claim, __ATOMIC_ACQUIRE);
		uint32_t thread = (uint32_t)(claim >> 32) & (LOG_THREADS_MAX - 1);
		uint32_t lwp = reader_thread(log, thread).lwp;

		if ((claim & DEFERRED_BUSY) && lwp && is_gone(lwp, ctx))
			drop(log, i);
	}
}
