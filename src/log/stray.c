/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stray frees: what they are, and the rings of them. Freestanding; see stray.h. */

#include "log/stray.h"

#include "log/layout.h"
#include "log/registry.h"
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
static enum caller caller_of(const struct log *log, uint32_t id,
			     const struct stray_facts *facts)
{
	uint32_t nr;
	const struct log_stack *stack = stack_find(log, id, &nr);

	for (uint32_t i = 1; stack && i < nr; i++)
		if (!in_library(facts, stack->pc[i]))
			return CALLER_PROGRAM;
	return stack && nr > 1 && stack->end == WALK_COMPLETE ? CALLER_LIBRARY : CALLER_UNKNOWN;
}

static uint64_t who(uint32_t thread, uint32_t stack)
{
	return (uint64_t)thread << 32 | stack;
}

static void remember(struct log *log, enum log_stray_kind kind, const struct log_stray *stray,
		     const struct log_record *block)
{
	uint64_t number = __atomic_fetch_add(&log->header->strays[kind], 1, __ATOMIC_RELAXED);
	struct log_stray_slot *slot = &log->stray[kind][number % LOG_STRAYS];
	uint64_t ticket = __atomic_load_n(&slot->ticket, __ATOMIC_RELAXED);

	if ((ticket & STRAY_BUSY) || ticket >> 1 > number ||
	    !__atomic_compare_exchange_n(&slot->ticket, &ticket, (number + 1) << 1 | STRAY_BUSY,
					 false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	__atomic_store_n(&slot->address, stray->address, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->time, stray->time, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->who, who(stray->thread, stray->stack), __ATOMIC_RELEASE);
	__atomic_store_n(&slot->on_stack, stray->on_stack, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->block_size, block->size, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->block_time, block->time, __ATOMIC_RELEASE);
	__atomic_store_n(&slot->block_who, who(block->thread, block->stack), __ATOMIC_RELEASE);
	__atomic_store_n(&slot->ticket, (number + 1) << 1, __ATOMIC_RELEASE);
}

void log_stray(struct log *log, const struct log_stray *stray,
	       const struct stray_facts *facts, bool told_apart)
{
	enum caller caller = caller_of(log, stray->stack, facts);
	uint64_t gap = __atomic_load_n(&log->header->gap, __ATOMIC_RELAXED);
	struct log_record block;

	if (caller == CALLER_LIBRARY) {
		account_add(log, stray->thread, LOG_ACCOUNT(unknown_frees), -1ull);
		account_add(log, stray->thread, LOG_ACCOUNT(own_frees), 1);
	} else if (told_apart && facts->complete && caller == CALLER_PROGRAM &&
		   log_ghost(log, stray->address, &block) && block.time > gap) {
		account_add(log, stray->thread, LOG_ACCOUNT(unknown_frees), -1ull);
		account_add(log, stray->thread, LOG_ACCOUNT(double_frees), 1);
		remember(log, LOG_STRAY_DOUBLE, stray, &block);
	} else {
		block.size = block.time = 0;
		block.thread = block.stack = 0;
		remember(log, LOG_STRAY_UNKNOWN, stray, &block);
	}
}
