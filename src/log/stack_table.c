/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stack table: intern and count. Freestanding; see stack_table.h for the protocol. */

#include "log/stack_table.h"

#include "log/budget.h"

/* The stack that a search looks for. */
struct wanted {
	const uint64_t *pcs;
	uint32_t nr;
	uint8_t end;
	uint32_t generation;
	uint64_t hash;
};

#define MIX_1	0x9e3779b97f4a7c15ull
#define MIX_2	0xd6e8feb86659fd93ull
#define MIX_3	0xbf58476d1ce4e5b9ull

/*
 * If one factor is 0, the other has no effect; so no start value may be equal to the constant that
 * it is XORed with.
 */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * Four multiplications run at the same time, each for two PCs: the hash must cost less than a cache
 * miss.
 */
static uint64_t hash_stack(const uint64_t *pcs, uint32_t nr, uint8_t end, uint32_t generation)
{
	uint64_t a = generation ^ (uint64_t)end << 32 ^ (uint64_t)nr << 40, b = MIX_3;
	uint64_t c = MIX_3 >> 1, d = MIX_3 >> 2;

	for (; nr >= 8; nr -= 8, pcs += 8) {
		a = mix(pcs[0] ^ a ^ MIX_1, pcs[1] ^ MIX_2);
		b = mix(pcs[2] ^ b ^ MIX_1, pcs[3] ^ MIX_2);
		c = mix(pcs[4] ^ c ^ MIX_1, pcs[5] ^ MIX_2);
		d = mix(pcs[6] ^ d ^ MIX_1, pcs[7] ^ MIX_2);
	}
	if (nr & 4) {
		a = mix(pcs[0] ^ a ^ MIX_1, pcs[1] ^ MIX_2);
		b = mix(pcs[2] ^ b ^ MIX_1, pcs[3] ^ MIX_2);
		pcs += 4;
	}
	if (nr & 2) {
		c = mix(pcs[0] ^ c ^ MIX_1, pcs[1] ^ MIX_2);
		pcs += 2;
	}
	if (nr & 1)
		d = mix(pcs[0] ^ d ^ MIX_1, MIX_2);
	return mix(a ^ b >> 1 ^ MIX_1, c ^ d >> 1 ^ MIX_2);
}

/* The stack at a unit of the arena, if it lies inside with its nr PCs. */
static inline struct log_stack *stack_at(const struct log *log, uint32_t unit, uint32_t nr)
{
	uint64_t at = (uint64_t)unit * STACK_UNIT;

	if (UNLIKELY(!unit || nr > LOG_DEPTH_MAX ||
		     at + sizeof(struct log_stack) + nr * sizeof(uint64_t) > log->arena_size))
		return NULL;
	return (struct log_stack *)(log->arena + at);
}

static bool stack_is(const struct log_stack *stack, const struct wanted *wanted)
{
	uint64_t differ = 0;
	uint32_t i = 0;

	if (stack->nr != wanted->nr || stack->end != wanted->end ||
	    stack->generation != wanted->generation)
		return false;
	for (; i + 4 <= wanted->nr; i += 4) {
		const uint64_t *a = &stack->pc[i], *b = &wanted->pcs[i];

		differ |= (a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]);
	}
	for (; i < wanted->nr; i++)
		differ |= stack->pc[i] ^ wanted->pcs[i];
	return !differ;
}

/* Step 1. Returns the old value of header->stacks; 0: full. */
static uint64_t stack_take(struct log *log, uint32_t nr)
{
	uint64_t bytes = sizeof(struct log_stack) + nr * sizeof(uint64_t);
	uint64_t units = ALIGN_UP(bytes, STACK_UNIT) / STACK_UNIT;
	uint64_t state = __atomic_load_n(&log->header->stacks, __ATOMIC_RELAXED), after;

	if (!log_may_take(log, units * STACK_UNIT + BUDGET_STACK))
		return 0;
	do {
		uint64_t id = state >> 32, unit = (uint32_t)state;

		if (!id || !unit || id > log->nr_stacks ||
		    (unit + units) * STACK_UNIT > log->arena_size || unit + units > UINT32_MAX)
			return 0;
		after = (id + 1) << 32 | (unit + units);
	} while (!__atomic_compare_exchange_n(&log->header->stacks, &state, after, false,
					      __ATOMIC_ACQ_REL, __ATOMIC_RELAXED));
	log_take(log, units * STACK_UNIT + BUDGET_STACK);
	return state;
}

/* Step 2. */
static void stack_write(struct log *log, uint64_t place, const struct wanted *wanted)
{
	uint32_t id = (uint32_t)(place >> 32), unit = (uint32_t)place;
	struct log_stack *stack = (struct log_stack *)(log->arena + (uint64_t)unit * STACK_UNIT);

	stack->id = id;
	stack->generation = wanted->generation;
	stack->nr = (uint16_t)wanted->nr;
	stack->end = wanted->end;
	stack->forward = 0;
	stack->total = stack->total_bytes = 0;
	for (uint32_t i = 0; i < wanted->nr; i++)
		stack->pc[i] = wanted->pcs[i];
	__atomic_store_n(&log->stack_directory[id], unit, __ATOMIC_RELEASE);
}

/*
 * The id of the stack that an index word leads to, if that is the stack searched for; else
 * LOG_STACK_NONE.
 */
static inline uint32_t index_match(const struct log *log, uint64_t word,
				   const struct wanted *wanted)
{
	const struct log_stack *stack;

	if ((word ^ wanted->hash) >> 32)
		return LOG_STACK_NONE;
	stack = stack_at(log, (uint32_t)word, wanted->nr);
	if (!stack || !stack_is(stack, wanted))
		return LOG_STACK_NONE;
	return stack->id <= log->nr_stacks ? stack->id : LOG_STACK_NONE;
}

/* The places of one level in which a stack may be; NULL: there is no such level. */
static inline uint64_t *index_bucket(const struct log *log, uint64_t hash, uint32_t level)
{
	uint64_t mask = ((uint64_t)STACK_BUCKETS << level) - 1;
	uint64_t bucket = stack_level_start(level) + (hash & mask);

	return level < log->stack_levels ? &log->stack_index[bucket * STACK_BUCKET] : NULL;
}

/* Step 3, beginning with the empty place in bucket `place` of a level. */
static NOINLINE uint32_t stack_insert(struct log *log, uint32_t level, unsigned place,
				      const struct wanted *wanted)
{
	uint64_t taken = stack_take(log, wanted->nr), *bucket;
	uint64_t ours = (wanted->hash >> 32 << 32) | (uint32_t)taken;
	uint32_t id = LOG_STACK_NONE;

	if (!taken)
		return LOG_STACK_NONE;
	stack_write(log, taken, wanted);
	for (; !id && (bucket = index_bucket(log, wanted->hash, level)); level++, place = 0) {
		for (; !id && place < STACK_BUCKET; place++) {
			uint64_t word = 0;

			if (__atomic_compare_exchange_n(&bucket[place], &word, ours, false,
							__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
				return (uint32_t)(taken >> 32);
			id = index_match(log, word, wanted);
		}
	}
	/*
	 * The new stack is in no index, so no one has its id. Remove it, so that no reader sees it.
	 */
	__atomic_store_n(&log->stack_directory[taken >> 32], 0, __ATOMIC_RELEASE);
	return id;
}

uint32_t stack_table_insert(struct log *log, const uint64_t *pcs, uint32_t nr, uint8_t end,
			    uint32_t generation)
{
	struct wanted wanted = { pcs, MIN(nr, (uint32_t)LOG_DEPTH_MAX), end, generation, 0 };
	uint64_t *bucket;

	if (!nr)
		return LOG_STACK_NONE;
	wanted.hash = hash_stack(pcs, wanted.nr, end, generation);
	for (uint32_t level = 0; (bucket = index_bucket(log, wanted.hash, level)); level++) {
		for (unsigned place = 0; place < STACK_BUCKET; place++) {
			uint64_t word = __atomic_load_n(&bucket[place], __ATOMIC_ACQUIRE);
			uint32_t id;

			if (!word)
				return stack_insert(log, level, place, &wanted);
			id = index_match(log, word, &wanted);
			if (id)
				return id;
		}
	}
	return LOG_STACK_NONE;
}

struct log_stack *stack_table_find(const struct log *log, uint32_t id, uint32_t *nr_ret)
{
	struct log_stack *stack;
	uint32_t unit;

	if (!id || id > log->nr_stacks)
		return NULL;
	unit = __atomic_load_n(&log->stack_directory[id], __ATOMIC_ACQUIRE);
	stack = stack_at(log, unit, 0);
	if (!stack)
		return NULL;
	*nr_ret = __atomic_load_n(&stack->nr, __ATOMIC_RELAXED);
	return stack_at(log, unit, *nr_ret);
}

void stack_table_count(struct log *log, uint32_t stack, uint64_t blocks, uint64_t bytes)
{
	uint32_t nr;
	struct log_stack *at = stack_table_find(log, stack, &nr);

	if (!at)
		return;
	__atomic_fetch_add(&at->total, blocks, __ATOMIC_RELAXED);
	__atomic_fetch_add(&at->total_bytes, bytes, __ATOMIC_RELAXED);
}
