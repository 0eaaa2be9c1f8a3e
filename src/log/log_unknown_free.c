/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Unknown frees: finds out their kinds, keeps the rings. Freestanding; see log_unknown_free.h. */

#include "log/log_unknown_free.h"

#include "log/free_history.h"
#include "log/registry.h"
#include "log/ring.h"
#include "log/stack_table.h"
#include "unwind/walk.h"

enum caller { CALLER_PROGRAM, CALLER_LIBRARY, CALLER_UNKNOWN };

static bool in_library(const struct free_facts *facts, uint64_t pc)
{
	for (unsigned i = 0; i < UNKNOWN_FREE_LIBRARIES; i++)
		if (pc - facts->library[i].start <
		    facts->library[i].end - facts->library[i].start)
			return true;
	return false;
}

/* The innermost PC is the function that was called. */
static enum caller caller_of(const struct log *log, uint32_t id, uint64_t caller,
			     const struct free_facts *facts)
{
	const struct log_stack *stack;
	uint32_t nr;

	if (caller && !in_library(facts, caller))
		return CALLER_PROGRAM;
	stack = stack_table_find(log, id, &nr);
	for (uint32_t i = 1; stack && i < nr; i++)
		if (!in_library(facts, stack->pc[i]))
			return CALLER_PROGRAM;
	return stack && nr > 1 && stack->end == WALK_COMPLETE ? CALLER_LIBRARY : CALLER_UNKNOWN;
}

static void remember(struct log *log, enum log_unknown_free_kind kind,
		     const struct log_unknown_free *unknown)
{
	uint64_t number =
 __atomic_fetch_add(&log->header->unknown_frees[kind], 1, __ATOMIC_RELAXED);
	struct log_unknown_free_slot *slot = &log->unknown[kind][number % LOG_UNKNOWN_FREES];
	const struct log_record *block = &unknown->block;
	const struct log_free *first = &unknown->first;

	if (!ring_claim(&slot->ticket, number))
		return;
	ring_store(&slot->address, unknown->address);
	ring_store(&slot->time, unknown->time);
	ring_store(&slot->who, ring_pair(unknown->thread, unknown->stack));
	ring_store(&slot->on_stack, unknown->on_stack);
	ring_store(&slot->block_size, block->size);
	ring_store(&slot->block_time, block->time);
	ring_store(&slot->block_who, ring_pair(block->thread, block->stack));
	ring_store(&slot->first_time, first->time);
	ring_store(&slot->first_who, ring_pair(first->thread, first->stack));
	ring_store(&slot->history, unknown->history);
	ring_publish(&slot->ticket, number);
}

bool log_unknown_free(struct log *log, struct log_unknown_free *unknown,
		      const struct free_facts *facts,
		      uint64_t caller, bool told_apart)
{
	enum caller who = caller_of(log, unknown->stack, caller, facts);
	uint64_t gap = __atomic_load_n(&log->header->gap, __ATOMIC_RELAXED);
	bool is_double = told_apart && facts->complete && who == CALLER_PROGRAM &&
			 log_record_retired(log, unknown->address, &unknown->block) &&
 unknown->block.time > gap;

	if (who == CALLER_LIBRARY || is_double) {
		account_add(log, unknown->thread, LOG_ACCOUNT(unknown_frees), -1ull);
		account_add(log, unknown->thread, is_double ? LOG_ACCOUNT(double_frees) :
							    LOG_ACCOUNT(own_frees), 1);
	}
	if (who == CALLER_LIBRARY)
		return false;
	unknown->history = is_double ? free_history_kept(log) : 0;
	if (!is_double) {
		unknown->block.size = unknown->block.time = 0;
		unknown->block.thread = unknown->block.stack = 0;
	}
	if (!is_double ||
	    !free_history_first(log, unknown->address, unknown->block.time, &unknown->first)) {
		unknown->first.time = 0;
		unknown->first.thread = unknown->first.stack = 0;
	}
	remember(log, is_double ? LOG_UNKNOWN_FREE_DOUBLE : LOG_UNKNOWN_FREE_OTHER, unknown);
	return !is_double;
}
