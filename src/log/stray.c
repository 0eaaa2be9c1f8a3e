/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stray frees: what they are, and the rings of them. Freestanding; see stray.h. */

#include "log/stray.h"

#include "log/freed.h"
#include "log/registry.h"
#include "log/ring.h"
#include "log/stack.h"
#include "unwind/walk.h"

enum caller { CALLER_PROGRAM, CALLER_LIBRARY, CALLER_UNKNOWN };

static bool in_library(const struct stray_facts *facts, uint64_t pc)
{
	for (unsigned i = 0; i < STRAY_LIBRARIES; i++)
		if (pc - facts->library[i].start <
		    facts->library[i].end - facts->library[i].start)
			return true;
	return false;
}

/* The innermost PC is the function that was called. */
static enum caller caller_of(const struct log *log, uint32_t id, uint64_t caller,
			     const struct stray_facts *facts)
{
	const struct log_stack *stack;
	uint32_t nr;

	if (caller && !in_library(facts, caller))
		return CALLER_PROGRAM;
	stack = stack_find(log, id, &nr);
	for (uint32_t i = 1; stack && i < nr; i++)
		if (!in_library(facts, stack->pc[i]))
			return CALLER_PROGRAM;
	return stack && nr > 1 && stack->end == WALK_COMPLETE ? CALLER_LIBRARY : CALLER_UNKNOWN;
}

static void remember(struct log *log, enum log_stray_kind kind, const struct log_stray *stray)
{
	uint64_t number = __atomic_fetch_add(&log->header->strays[kind], 1, __ATOMIC_RELAXED);
	struct log_stray_slot *slot = &log->stray[kind][number % LOG_STRAYS];
	const struct log_record *block = &stray->block;
	const struct log_free *first = &stray->first;

	if (!ring_claim(&slot->ticket, number))
		return;
	ring_store(&slot->address, stray->address);
	ring_store(&slot->time, stray->time);
	ring_store(&slot->who, ring_pair(stray->thread, stray->stack));
	ring_store(&slot->on_stack, stray->on_stack);
	ring_store(&slot->block_size, block->size);
	ring_store(&slot->block_time, block->time);
	ring_store(&slot->block_who, ring_pair(block->thread, block->stack));
	ring_store(&slot->first_time, first->time);
	ring_store(&slot->first_who, ring_pair(first->thread, first->stack));
	ring_store(&slot->history, stray->history);
	ring_publish(&slot->ticket, number);
}

void log_stray(struct log *log, struct log_stray *stray, const struct stray_facts *facts,
	       uint64_t caller, bool told_apart)
{
	enum caller who = caller_of(log, stray->stack, caller, facts);
	uint64_t gap = __atomic_load_n(&log->header->gap, __ATOMIC_RELAXED);
	bool is_double = told_apart && facts->complete && who == CALLER_PROGRAM &&
			 log_ghost(log, stray->address, &stray->block) && stray->block.time > gap;

	if (who == CALLER_LIBRARY || is_double) {
		account_add(log, stray->thread, LOG_ACCOUNT(unknown_frees), -1ull);
		account_add(log, stray->thread, is_double ? LOG_ACCOUNT(double_frees) :
							    LOG_ACCOUNT(own_frees), 1);
	}
	if (who == CALLER_LIBRARY)
		return;
	stray->history = is_double ? freed_kept(log) : 0;
	if (!is_double) {
		stray->block.size = stray->block.time = 0;
		stray->block.thread = stray->block.stack = 0;
	}
	if (!is_double || !log_first_free(log, stray->address, stray->block.time, &stray->first)) {
		stray->first.time = 0;
		stray->first.thread = stray->first.stack = 0;
	}
	remember(log, is_double ? LOG_STRAY_DOUBLE : LOG_STRAY_UNKNOWN, stray);
}
