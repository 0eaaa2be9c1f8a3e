/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Deferred stacks, the agent's half. Freestanding; see log_deferred.h for how it works. */

#include "log/log_deferred.h"

#include "base/compiler.h"
#include "log/log_layout.h"
#include "log/stack_table.h"
#include "unwind/walk.h"

bool log_deferred_is_marked(const struct log *log, uint64_t pc, uint32_t generation)
{
	const struct deferred_table *table = log->deferred;

	if (__atomic_load_n(&table->generation, __ATOMIC_ACQUIRE) != generation)
		return false;
	for (unsigned i = 0; i < DEFERRED_RANGES; i++) {
		uint64_t start = __atomic_load_n(&table->range[i].start, __ATOMIC_RELAXED);
		uint64_t end = __atomic_load_n(&table->range[i].end, __ATOMIC_RELAXED);

		if (pc >= start && pc < end)
			return true;
	}
	return false;
}

bool log_deferred_may(const struct log *log)
{
	return __atomic_load_n(&log->deferred->used, __ATOMIC_RELAXED) < DEFERRED_BUDGET;
}

/* The deferred stack with this hash that is in the log already, finished or waiting. */
static uint32_t find_ready(struct deferred_table *table, uint32_t nr, uint64_t hash)
{
	for (uint32_t i = 0; i < nr; i++) {
		struct deferred_head *head = &table->head[i];
		uint64_t claim = __atomic_load_n(&head->claim, __ATOMIC_ACQUIRE);

		if ((claim & DEFERRED_READY) &&
		    __atomic_load_n(&head->hash, __ATOMIC_ACQUIRE) == hash &&
		    __atomic_load_n(&head->claim, __ATOMIC_RELAXED) == claim)
			return (uint32_t)claim;
	}
	return LOG_STACK_NONE;
}

/* The number of a free copy, now claimed; nr: none is free. */
static uint32_t claim_free(struct deferred_table *table, uint32_t nr, uint64_t claim)
{
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t free = __atomic_load_n(&table->head[i].claim, __ATOMIC_RELAXED);

		if (!free && __atomic_compare_exchange_n(&table->head[i].claim, &free, claim, false,
							 __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
			return i;
	}
	return nr;
}

/*
 * Copied word by word, as the stack has them: other threads may write to it meanwhile, through
 * pointers to its frames.
 */
static void copy_words(void *to, const void *from, uint64_t bytes)
{
	typedef uint64_t __attribute__((may_alias, aligned(1))) word;
	const volatile word *source = from;
	word *target = to;

	for (uint64_t i = 0; i < bytes / sizeof(word); i++)
		target[i] = source[i];
}

static void fill(struct deferred_copy *copy, const struct deferred_walk *walk, const uint64_t *pcs,
		 const void *stack)
{
	copy->walk = *walk;
	copy->walk.nr = MIN(walk->nr, (uint32_t)LOG_DEPTH_MAX);
	copy->walk.len = MIN(walk->len, (uint32_t)sizeof(copy->stack)) & ~7u;
	copy_words(copy->pcs, pcs, copy->walk.nr * sizeof(*pcs));
	copy_words(copy->stack, stack, copy->walk.len);
}

static uint32_t intern(struct log *log, const struct deferred_walk *walk, uint64_t hash,
		       uint64_t *pcs)
{
	uint64_t next = pcs[walk->at + 1];
	uint32_t stack;

	pcs[walk->at + 1] = hash;
	stack = stack_table_insert(log, pcs, walk->at + 2, WALK_DEFERRED, walk->generation);
	pcs[walk->at + 1] = next;
	return stack;
}

uint32_t log_deferred_add(struct log *log, const struct deferred_walk *walk, uint64_t hash,
			  uint64_t *pcs, const void *copy)
{
	struct deferred_table *table = log->deferred;
	uint32_t nr = MIN(__atomic_load_n(&table->ready, __ATOMIC_ACQUIRE), log->nr_deferred);
	uint64_t claim = (uint64_t)walk->thread << 32;
	uint32_t stack = find_ready(table, nr, hash), i;

	__atomic_fetch_add(&table->used, 1, __ATOMIC_RELAXED);
	if (stack != LOG_STACK_NONE)
		return stack;
	i = claim_free(table, nr, claim | DEFERRED_BUSY);
	if (i == nr)
		return LOG_STACK_NONE;
	__atomic_store_n(&table->head[i].hash, hash, __ATOMIC_RELEASE);
	__atomic_store_n(&table->any, 1, __ATOMIC_RELAXED);
	stack = intern(log, walk, hash, pcs);
	/* There is no room; or the stack came before, and is finished already. */
	if (stack == LOG_STACK_NONE || log_deferred_whole(log, stack) != stack) {
		__atomic_store_n(&table->head[i].claim, 0, __ATOMIC_RELEASE);
		return stack;
	}
	fill(&log->deferred_copy[i], walk, pcs, copy);
	__atomic_store_n(&table->head[i].claim, claim | DEFERRED_READY | stack, __ATOMIC_RELEASE);
	return stack;
}

uint32_t log_deferred_whole(const struct log *log, uint32_t stack)
{
	const struct log_stack *at;
	uint32_t nr, whole;

	if (!__atomic_load_n(&log->deferred->any, __ATOMIC_RELAXED))
		return stack;
	at = stack_table_find(log, stack, &nr);
	if (!at || at->end != WALK_DEFERRED)
		return stack;
	whole = __atomic_load_n(&at->forward, __ATOMIC_ACQUIRE);
	at = stack_table_find(log, whole, &nr);
	return at && at->end != WALK_DEFERRED ? whole : stack;
}
