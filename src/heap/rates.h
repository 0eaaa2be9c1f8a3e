/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Rates: what each stack holds, allocates and frees from one reading of the log to the next.
 *
 *	struct rates rates = RATES_INIT;
 *
 *	while it is to be watched
 *		session_agent_totals(session, &totals)	before the reading: see log/log_totals.h
 *		rates_read(&rates, log, &in_hand, &totals, now_ns)
 *		rates_top(&rates, sort, limit, &top)
 *	rates_free(&rates)
 *
 * A reading has all stacks, so the difference of two readings is exact: a stack that is among the
 * largest now may have been far down at the reading before. All-time counts never decrease,
 * whatever a scan of a running target misses: all-time is held and freed together, and a block that
 * was counted as freed stays so.
 */
#pragma once

#include "base/vec.h"
#include "heap/block.h"
#include "log/log_totals.h"

#define RATES_PAST	16u	/* the number of readings that are remembered */
/* A program has far fewer stacks; a damaged log can have any number of them, of 120 bytes each. */
#define RATES_STACKS	(1u << 20)

struct rate {
	uint64_t bytes, count;		/* held: what the blocks stand for, as in struct site */
	uint64_t allocs, frees;		/* all-time counts; their difference is count */
	/* These three are since the reading before; they are 0 if rates.over_ns is 0. */
	int64_t growth;			/* of bytes */
	uint64_t new_allocs, new_frees;
	/* bytes at the last readings; reading number n is at n % RATES_PAST */
	float past[RATES_PAST];
};

struct rates {
	VEC(struct rate) vec;		/* by stack id */
	struct rate all;		/* of all stacks together */
	/* up to the last reading; what of it is new since the reading before (0: there was none) */
	struct log_older older, new_older;
	uint64_t time_ns;		/* of the last reading, since the epoch */
	uint64_t over_ns;		/* since the reading before; 0: there was none */
	uint64_t nr;			/* how many readings there were */
	uint64_t start;			/* when their log was begun or reset (log_start) */
};

#define RATES_INIT	{ .vec = VEC_INIT }

enum rates_sort { RATES_BYTES, RATES_GROWTH, RATES_ALLOCS, RATES_FREES, RATES_SORTS };

/*
 * Read the log once more. The totals are those of before the call; now_ns is by the log's clock
 * (log_clock_realtime). If the log was reset since the last reading, this is a first one. After an
 * error the rates are as they were. ERR_RANGE: the log has more than RATES_STACKS stacks.
 */
struct err *rates_read(struct rates *rates, const struct log *log, const struct in_hand *in_hand,
		       const struct log_totals *totals, uint64_t now_ns) MUST_CHECK;
/*
 * The `limit` stacks with the largest figure; of two that are equal, the one that holds more comes
 * first. Stacks that hold nothing are among them if they have allocated or freed since the reading
 * before.
 */
struct rates_top {
	VEC(uint32_t) vec;
};

struct err *rates_top(const struct rates *rates, enum rates_sort sort, size_t limit,
		      struct rates_top *ret) MUST_CHECK;
/* Bytes of the last readings, oldest first; returns how many there are. */
size_t rates_past(const struct rates *rates, const struct rate *rate, float ret[RATES_PAST]);
/* Of a stack; NULL: there was none with this id at the last reading. */
const struct rate *rates_of(const struct rates *rates, uint32_t stack);
void rates_free(struct rates *rates);
