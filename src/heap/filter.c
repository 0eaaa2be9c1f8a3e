/* SPDX-License-Identifier: GPL-3.0-or-later */
/* FILTER: which blocks match, in which order. The words are read in filter_parse.c. */

#include "heap/filter.h"

#include "base/cleanup.h"
#include "heap/radix.h"

/* Answers to one condition on function or module, which is asked once for each stack. */
struct match_cache {
	uint8_t *state;		/* by stack id */
	uint32_t nr;
};

enum { CACHE_UNKNOWN, CACHE_NO, CACHE_YES };

bool filter_compares(uint64_t a, enum filter_relop relop, uint64_t b)
{
	switch (relop) {
	case FILTER_EQ:
		return a == b;
	case FILTER_NE:
		return a != b;
	case FILTER_LT:
		return a < b;
	case FILTER_LE:
		return a <= b;
	case FILTER_GT:
		return a > b;
	case FILTER_GE:
		return a >= b;
	}
	return false;
}

static uint64_t age(const struct filter_env *env, const struct block *block)
{
	uint64_t then = log_clock_realtime(env->log, block->time);

	return env->now_ns > then ? env->now_ns - then : 0;
}

/* The attribute as a number. False: the block has none. */
static bool value(const struct filter_env *env, const struct block *block, enum filter_attr attr,
		  uint64_t *ret)
{
	bool timed = block->time && !block->preattach;

	switch (attr) {
	case FILTER_ADDRESS:
		*ret = block->address;
		return true;
	case FILTER_SIZE:
		*ret = block->size;
		return true;
	case FILTER_HEAP:
		*ret = block->heap;
		return block->heap != LOG_HEAP_UNKNOWN;
	case FILTER_PID:
		*ret = (uint64_t)env->pids[block->process];
		return true;
	case FILTER_THREAD:
		*ret = reader_thread(env->log, block->thread).lwp;
		return timed && *ret;
	case FILTER_TIME:
		*ret = timed ? log_clock_realtime(env->log, block->time) : 0;
		return timed;
	case FILTER_AGE:
		*ret = timed ? age(env, block) : 0;
		return timed;
	case FILTER_SEQ:
		*ret = timed ? log_clock_seq(env->log, block->time) : 0;
		return timed;
	default:
		return false;
	}
}

/* A thread is given by LWP id or pthread_t: a number too large for an LWP id is a pthread_t. */
static bool thread_matches(const struct filter_env *env, const struct filter_cond *cond,
			   const struct block *block)
{
	struct log_thread_view thread = reader_thread(env->log, block->thread);
	bool equal = thread.lwp == cond->number || thread.thread_pointer == cond->number;
	bool wide = cond->number > UINT32_MAX;

	if (!block->time || block->preattach || !(wide ? thread.thread_pointer : thread.lwp))
		return cond->relop == FILTER_NE;
	if (cond->relop == FILTER_EQ || cond->relop == FILTER_NE)
		return equal == (cond->relop == FILTER_EQ);
	return filter_compares(wide ? thread.thread_pointer : thread.lwp, cond->relop, cond->number);
}

static bool stack_matches(const struct filter_env *env, const struct filter_cond *cond,
			  uint32_t stack, struct match_cache *cache)
{
	bool yes;

	if (stack == LOG_STACK_NONE)
		return false;
	if (cache && stack < cache->nr && cache->state[stack])
		return cache->state[stack] == CACHE_YES;
	yes = env->stack_matches(env->ctx, stack, cond->attr, cond->glob);
	if (cache && stack < cache->nr)
		cache->state[stack] = yes ? CACHE_YES : CACHE_NO;
	return yes;
}

static bool cond_matches(const struct filter_env *env, const struct filter_cond *cond,
			 const struct block *block, struct match_cache *cache)
{
	uint64_t number;

	switch (cond->attr) {
	case FILTER_FUNCTION:
	case FILTER_MODULE:
		return stack_matches(env, cond, block->stack, cache) == (cond->relop == FILTER_EQ);
	case FILTER_TYPE:
		return env->type_matches(env->types, block, cond->glob) ==
		       (cond->relop == FILTER_EQ);
	case FILTER_THREAD:
		return thread_matches(env, cond, block);
	default:
		break;
	}
	if (!value(env, block, cond->attr, &number))
		return cond->relop == FILTER_NE;
	if (cond->attr == FILTER_HEAP && number != cond->number &&
	    (number == LOG_HEAP_MMAP || number == LOG_HEAP_USER))
		return cond->relop == FILTER_NE;
	return filter_compares(number, cond->relop, cond->number);
}

/* Does it take the names of a stack, which all blocks of the stack share? */
static bool is_of_names(const struct filter_cond *cond)
{
	return cond->attr == FILTER_FUNCTION || cond->attr == FILTER_MODULE;
}

static bool conds_match(const struct filter *filter, const struct filter_env *env,
			const struct block *block, bool names)
{
	for (size_t i = 0; i < filter->conds.nr; i++) {
		const struct filter_cond *cond = &filter->conds.at[i];

		if (is_of_names(cond) == names && !cond_matches(env, cond, block, NULL))
			return false;
	}
	return true;
}

bool filter_matches_numbers(const struct filter *filter, const struct filter_env *env,
			    const struct block *block)
{
	return conds_match(filter, env, block, false);
}

bool filter_matches_names(const struct filter *filter, const struct filter_env *env,
			  uint32_t stack)
{
	const struct block block = { .stack = stack };

	return conds_match(filter, env, &block, true);
}

bool filter_is_timed(const struct filter *filter)
{
	const uint32_t timed = 1u << FILTER_THREAD | 1u << FILTER_TIME | 1u << FILTER_AGE |
			       1u << FILTER_SEQ;

	for (size_t i = 0; i < filter->conds.nr; i++)
		if (timed & 1u << filter->conds.at[i].attr)
			return true;
	return false;
}

bool filter_is_typed(const struct filter *filter)
{
	vec_each(cond, &filter->conds)
		if (cond->attr == FILTER_TYPE)
			return true;
	return false;
}

bool filter_is_by_stack(const struct filter *filter)
{
	vec_each(cond, &filter->conds)
		if (!is_of_names(cond))
			return false;
	return true;
}

bool filter_matches(const struct filter *filter, const struct filter_env *env,
		    const struct block *block)
{
	return conds_match(filter, env, block, false) && conds_match(filter, env, block, true);
}

void filter_free(struct filter *filter)
{
	for (size_t i = 0; i < filter->conds.nr; i++)
		free(filter->conds.at[i].glob);
	vec_free(&filter->conds);
}

/* Keep the blocks for which one condition holds. */
static struct err *apply_cond(const struct filter_cond *cond, const struct filter_env *env,
			      struct blocks *blocks)
{
	struct match_cache cache = { NULL, 0 };
	AUTO_FREE uint8_t *state = NULL;
	size_t kept = 0;

	if (is_of_names(cond)) {
		cache.nr = reader_stacks(env->log) + 1;
		cache.state = state = calloc(cache.nr, 1);
		if (!state)
			return err_nomem;
	}
	for (size_t i = 0; i < blocks->vec.nr; i++)
		if (cond_matches(env, cond, &blocks->vec.at[i], state ? &cache : NULL))
			blocks->vec.at[kept++] = blocks->vec.at[i];
	blocks->vec.nr = kept;
	return NULL;
}

bool filter_key(const struct filter_order *order, const struct filter_env *env,
		const struct block *block, uint64_t *ret)
{
	bool stamped = order->attr == FILTER_TIME || order->attr == FILTER_AGE ||
		       order->attr == FILTER_SEQ;
	uint64_t key;

	if (!value(env, block, order->attr, &key))
		return false;
	/* Compare time stamps: they have the same order as times, without rounding. */
	if (stamped)
		key = order->attr == FILTER_AGE ? ~block->time : block->time;
	*ret = order->dir == SORT_DOWN ? ~key : key;
	return true;
}

/*
 * Get the keys of the blocks: first those of all blocks that have one, *known_ret in number, then
 * the other blocks in their old order.
 */
static void keys(const struct filter_order *order, const struct filter_env *env,
		 const struct blocks *blocks, struct radix_item *item, size_t *known_ret)
{
	size_t nr = blocks->vec.nr, known = 0, unknown = nr;
	uint64_t key;

	for (size_t i = 0; i < nr; i++)
		if (filter_key(order, env, &blocks->vec.at[i], &key))
			item[known++] = (struct radix_item){ key, (uint32_t)i };
	for (size_t i = nr; i--; )
		if (!filter_key(order, env, &blocks->vec.at[i], &key))
			item[--unknown].index = (uint32_t)i;
	*known_ret = known;
}

static struct err *sort(const struct filter_order *order, const struct filter_env *env,
			struct blocks *blocks)
{
	AUTO_FREE struct radix_item *item = NULL;
	struct blocks sorted = BLOCKS_INIT;
	size_t nr = blocks->vec.nr, known;
	struct err *err;

	if (nr < 2)
		return NULL;
	if (nr > UINT32_MAX)
		return err_create(ERR_RANGE, "more than %u blocks", UINT32_MAX);
	item = malloc(nr * sizeof(*item));
	if (!item)
		return err_nomem;
	keys(order, env, blocks, item, &known);
	err = radix_sort(item, known);
	if (!err)
		err = vec_reserve(&sorted.vec, MIN(nr, order->limit));
	if (err)
		return err;
	while (sorted.vec.nr < nr && sorted.vec.nr < order->limit) {
		sorted.vec.at[sorted.vec.nr] = blocks->vec.at[item[sorted.vec.nr].index];
		sorted.vec.nr++;
	}
	vec_free(&blocks->vec);
	blocks->vec = sorted.vec;
	return NULL;
}

struct err *filter_apply(const struct filter *filter, const struct filter_order *order,
			 const struct filter_env *env, struct blocks *blocks)
{
	/* Conditions that need names come last, for as few blocks as possible. */
	for (unsigned names = 0; names < 2; names++) {
		for (size_t i = 0; i < filter->conds.nr; i++) {
			const struct filter_cond *cond = &filter->conds.at[i];
			struct err *err;

			if (is_of_names(cond) != names)
				continue;
			err = apply_cond(cond, env, blocks);
			if (err)
				return err;
		}
	}
	if (order->sorted) {
		struct err *err = sort(order, env, blocks);

		if (err)
			return err;
	}
	blocks->vec.nr = MIN(blocks->vec.nr, order->limit);
	return NULL;
}
