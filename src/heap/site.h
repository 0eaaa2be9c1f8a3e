/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sites: blocks added up by stack, function, line, module, thread, size, heap or process. */
#pragma once

#include "heap/block_list.h"
#include "heap/filter.h"
#include "heap/moment.h"
#include "log/log_totals.h"

enum site_by {
	SITE_STACK, SITE_FUNCTION, SITE_LINE, SITE_MODULE, SITE_THREAD, SITE_SIZE, SITE_HEAP,
	SITE_PROCESS,
};

enum site_sort { SITE_SORT_BYTES, SITE_SORT_COUNT, SITE_SORT_AGE, SITE_SORT_GROWTH,
		SITE_SORT_RATE,
		/* by all-time figures: */
		SITE_SORT_TOTAL, SITE_SORT_CALLS, SITE_SORT_CALLRATE, SITE_SORT_TEMPORARY };

static inline bool site_sort_is_all_time(enum site_sort sort)
{
	return sort >= SITE_SORT_TOTAL;
}

struct site {
	/*
	 * stack id; function, line or module: number given by key_of; thread: registry index; size;
	 * heap, process as in struct block
	 */
	uint64_t key;
	/* a stack of this site (the one with most bytes), LOG_STACK_NONE if none */
	uint32_t stack;
	/*
	 * live blocks: the sums that they stand for, if the log samples (block_share); the next
	 * three are sums like these
	 */
	uint64_t bytes, count;
	/*
	 * All-time, of all its stacks, whatever a filter keeps; 0 where it is not known (by thread,
	 * size and heap). log/log_totals.h says what these are while the target runs.
	 */
	uint64_t total, total_bytes;
	uint64_t freed, freed_bytes;	/* of total and total_bytes; the rest is live */
	double call_rate;		/* of total, a second since the log began */
	/*
	 * Ages in ns of the live blocks whose time is known; 0 if there are none. The median of an
	 * even number is the mean of the two in the middle.
	 */
	uint64_t oldest, median;
	/*
	 * Change of live bytes since the earlier moment, over all stacks of the site (filters do
	 * not apply); rate is the same per second. Both are 0 if sites.growth_ns is 0.
	 */
	int64_t growth;
	double rate;
};

struct sites {
	VEC(struct site) vec;
	uint64_t bytes, count;	/* sums over all sites, before the limit */
	/* Of them blocks that are in no record: those from before the attach. Only by size and heap. */
	uint64_t early_bytes, early_count;
	uint64_t older_bytes;		/* that are held besides: shares are of both */
	uint64_t growth_ns;	/* the time over which growth is counted; 0: growth is not known */
	bool past;		/* of a moment: of the figures of sites only bytes, count and growth are known, */
	bool all_time;		/* ... and those of all time with this */
	/* With site_spec.idle: the sums of the all-time figures of all sites, before the limit. */
	bool idle;
	uint64_t total, total_bytes;
};

#define SITES_INIT	{ .vec = VEC_INIT }

struct site_spec {
	enum site_by by;
	enum site_sort sort;
	uint64_t limit;			/* UINT64_MAX: none */
	/*
	 * For SITE_FUNCTION, SITE_LINE and SITE_MODULE: a number for the key of a stack (equal
	 * numbers: same site).
	 */
	uint64_t (*key_of)(void *ctx, uint32_t stack, enum site_by by);
	void *ctx;
	/*
	 * All-time counts, read before the blocks were; NULL: those in the log's table. Of a moment
	 * those by then; NULL: not known.
	 */
	const struct log_totals *totals;
	const struct moment *since;	/* growth is since then; NULL: it is not known */
	struct moment *taken;		/* gets the moment of now_ns, of all blocks; may be NULL */
	/*
	 * Sites that hold nothing now are listed, too (of sites_from_log, not by thread or size; of a
	 * moment, if there are totals). The
	 * stack of a site is then the one with most bytes of all time. What was freed has no attributes
	 * but its stack: with other conditions in the filter none is listed.
	 */
	bool idle;
};

/*
 * The sites of blocks that are in memory, and filtered: largest first, ties by key. now_ns is
 * log_clock_realtime(log, log_now()).
 */
struct err *sites_build(const struct log *log, const struct blocks *blocks,
			const struct site_spec *spec, uint64_t now_ns,
			struct sites *ret) MUST_CHECK;
/*
 * The sites of the blocks of the log and of those in hand that the filter keeps, without a stop; no
 * block is kept in memory.
 */
struct err *sites_from_log(const struct filter_env *env, const struct filter *filter,
			   const struct in_hand *in_hand, const struct site_spec *spec,
			   struct sites *ret) MUST_CHECK;
/*
 * The sites of the blocks of a list (heap/block_list.h), which may have some that are in no record,
 * by thread, size or heap. now_ns is as for sites_build.
 */
struct err *sites_from_list(const struct log *log, struct list *list, const struct site_spec *spec,
			    uint64_t now_ns, struct sites *ret) MUST_CHECK;
/*
 * The sites of a moment, by stack, function or module. The filter must have conditions on function
 * and module only, because a moment has no other attributes of blocks.
 */
struct err *sites_from_moment(const struct filter_env *env, const struct filter *filter,
			      const struct moment *moment, const struct site_spec *spec,
			      struct sites *ret) MUST_CHECK;
void sites_free(struct sites *sites);
