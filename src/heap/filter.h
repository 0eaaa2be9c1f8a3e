/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The FILTER of `malloc allocations` and similar commands: conditions ATTR RELOP VALUE joined by
 * `and`, over blocks.
 */
#pragma once

#include "heap/block.h"

enum filter_attr {
	FILTER_ADDRESS, FILTER_SIZE, FILTER_HEAP, FILTER_PID, FILTER_THREAD, FILTER_TIME,
		FILTER_AGE, FILTER_SEQ,
	FILTER_FUNCTION, FILTER_MODULE, FILTER_TYPE,
	FILTER_ATTRS,
};

#define FILTER_ALL	((1u << FILTER_ATTRS) - 1)	/* the mask of all attributes */

enum filter_relop { FILTER_EQ, FILTER_NE, FILTER_LT, FILTER_LE, FILTER_GT, FILTER_GE };

struct filter_cond {
	enum filter_attr attr;
	enum filter_relop relop;
	/* address, bytes, heap, pid, thread, ns since the epoch, age in ns, seq */
	uint64_t number;
	char *glob;		/* function, module, type */
};

struct filter {
	VEC(struct filter_cond) conds;
};

enum sort_dir { SORT_DOWN, SORT_UP };

/* How a list is ordered and cut: `sort ATTR ?up?`, `limit N`. */
struct filter_order {
	bool sorted;
	enum filter_attr attr;
	enum sort_dir dir;
	uint64_t limit;		/* UINT64_MAX: none */
};

/* Data that a filter needs besides the block itself. */
struct filter_env {
	const struct log *log;
	const pid_t *pids;	/* of LOG_PROCESSES processes, by number */
	uint64_t now_ns;	/* since the epoch */
	/* Does any frame of the stack match glob? attr is FILTER_FUNCTION or FILTER_MODULE. */
	bool (*stack_matches)(void *ctx, uint32_t stack, enum filter_attr attr, const char *glob);
	void *ctx;
	/* Does its type match glob? Any thread; needed only if filter_is_typed. */
	bool (*type_matches)(void *types, const struct block *block, const char *glob);
	void *types;
};

/*
 * Parse argv as `?FILTER? ?sort ATTR ?up?? ?limit N?` in that order, each at most once. allowed is
 * a mask of 1 << attr. Synonyms: addr, tid, pthread, clocktime, sequence; `=` for `==`; a condition
 * may be three words or one ("size>4K"). ERR_USAGE: a word does not fit; the message says which one
 * and what may be there, and the hint is the form of a condition, if it is in one. If used_ret is not NULL, *used_ret is the number of words that were
 * understood, and other words after a complete phrase are left to the caller; otherwise they are an
 * error. If order_ret is NULL, `sort` and `limit` are not parsed: the caller has its own.
 *
 * An attribute that a block does not have (time, age, seq and thread from before the attach; its
 * heap, where that is not known; function and module of a block without a stack) differs from every
 * value: only != holds. In a sort it comes last either way. A type that is not known is `?`. A block mapped on its own is in the
 * heap `mmap`, which is equal to itself and has no order among the others.
 */
struct err *filter_parse(int argc, const char *const *argv, uint32_t allowed, struct filter *ret,
			 struct filter_order *order_ret, int *used_ret) MUST_CHECK;
void filter_free(struct filter *filter);
/* Is text the name of an attribute, or a synonym? */
bool filter_parse_is_attr(const char *word);
/* Does `a RELOP b` hold? */
bool filter_compares(uint64_t a, enum filter_relop relop, uint64_t b);
/* Returns its name; attr must be less than FILTER_ATTRS. */
const char *filter_parse_attr_name(enum filter_attr attr);
/* Does it ask for something that only records have: thread, time, age, seq? */
bool filter_is_timed(const struct filter *filter);
/* Does it ask for the type? */
bool filter_is_typed(const struct filter *filter);
/* Does it ask only for function and module, so that either all blocks of a stack match, or none? */
bool filter_is_by_stack(const struct filter *filter);
bool filter_matches(const struct filter *filter, const struct filter_env *env,
		    const struct block *block);
/* Checks all conditions except those on function and module, which need names. */
bool filter_matches_numbers(const struct filter *filter, const struct filter_env *env,
			    const struct block *block);
/* Checks only those, of the blocks of a stack, which may be LOG_STACK_NONE. */
bool filter_matches_names(const struct filter *filter, const struct filter_env *env,
			  uint32_t stack);
/*
 * The key that blocks are sorted by, the smallest first; equal keys stay in order of address.
 * False: the block has no such attribute, and comes behind those that have it.
 */
bool filter_key(const struct filter_order *order, const struct filter_env *env,
		const struct block *block, uint64_t *ret);
/*
 * Keep the blocks that match, then sort and cut; in place. The sort is stable: equal keys stay in
 * order of address.
 */
struct err *filter_apply(const struct filter *filter, const struct filter_order *order,
			 const struct filter_env *env, struct blocks *blocks) MUST_CHECK;

/* Parse "4K", "1.5M", "0x1000", "17" as bytes. ERR_USAGE. */
struct err *parse_size(const char *text, uint64_t *ret) MUST_CHECK;
/* Parse "90s", "5m", "2h", "1d", "250ms", or plain seconds, as nanoseconds. ERR_USAGE. */
struct err *parse_duration(const char *text, uint64_t *ret) MUST_CHECK;
/*
 * Parse seconds since the epoch (fraction allowed) or "YYYY-MM-DD hh:mm:ss" in local time, seconds
 * optional, as ns since the epoch.
 */
struct err *parse_time(const char *text, uint64_t *ret) MUST_CHECK;
/* Parse hex with 0x, or decimal. */
struct err *parse_number(const char *text, uint64_t *ret) MUST_CHECK;
