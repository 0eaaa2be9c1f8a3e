/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The history of one log: samples of its moments (moment.h), which are taken without being asked
 * for. A later moment can be compared with any of them.
 *
 * Contents
 *
 *	sample	a time, the totals at that time, and the packed moment. Each sample has the sums of
 *		all stacks, so that the difference of any two samples is exact.
 *	origin	the first sample, if the history begins together with the log: the log was empty
 *		then. An origin can be compared with if a user names that time, but it is no basis
 *		of growth: in the first seconds after an attach everything would be growth.
 *	gap	a time without samples. Either nothing was recorded (`malloc off`), or the target
 *		recorded without mdbg (`detach -keep`). Gaps have a list of their own, so that a
 *		difference can say for how long nothing was recorded.
 *
 * Which samples are dropped
 *
 * A sample is added every second or so for days, but the history is limited to HISTORY_BYTES and
 * HISTORY_SAMPLES. Users ask for "ten minutes ago" or "yesterday", and an error of a few percent of
 * that age does not matter to them. So if the history is over its limits, the sample i is dropped
 * for which
 *
 *	(time[i + 1] - time[i - 1]) / (now - time[i])
 *
 * is smallest: the hole that it leaves, in comparison with its age. The samples that remain are
 * spread evenly over the logarithm of the age: if there are n samples from 1 s to T s of age, the
 * distance of two neighbours is ln(T) / n of their age. With 250 samples (of 10,000 sites of six
 * bytes each) the nearest sample is within 5 % of any age up to a day. To find the sample takes one
 * pass over all samples, of which there are at most 4,096.
 *
 * Two samples are never dropped: the last one, and the peak, which is the sample with the most
 * bytes and may be asked for a long time afterwards. Others are dropped only if there is no other
 * choice, as after thousands of `malloc off`: the first sample, which says since when there is a
 * history, and the samples on both sides of a gap. So the limits hold, unless the last sample and
 * the peak alone exceed them, which takes more than a million sites.
 *
 * Rejected: to keep only the largest sites of each sample (differences would not be exact, and a
 * leak is small at first); to store a sample as changes since the one before (to drop one, two must
 * be merged, and to read one, all before it must be added up); three rings, of seconds, minutes and
 * hours (three rules instead of one, with holes where one ring ends).
 */
#pragma once

#include "heap/moment.h"

#define HISTORY_BYTES	(16u << 20)	/* of samples, with the overhead of malloc */
#define HISTORY_SAMPLES	4096u
#define HISTORY_GAPS	1024u		/* if there are more, the two nearest ones are merged */

/* The time over which growth is computed, if no moment is given: 10 s, at first less. */
#define GROWTH_NS	10000000000ull
#define GROWTH_LEAST_NS	2000000000ull	/* growth over a shorter time says little */

struct history_sample {
	uint64_t time_ns;		/* since the epoch, by the log's clock */
	uint64_t bytes, count;		/* sums over all stacks */
	uint64_t rss;			/* resident bytes of the process, without mdbg's; 0: not known */
	bool origin;
	struct packed_moment moment;
};

struct history_gap {
	uint64_t begin_ns, end_ns;	/* end: UINT64_MAX while it lasts */
	bool recorded;			/* the target recorded without mdbg */
};

struct history {
	VEC(struct history_sample) samples;	/* oldest first; no two have one time */
	VEC(struct history_gap) gaps;		/* oldest first; only the last one may be open */
	uint64_t bytes;				/* memory of the samples */
	uint64_t most_bytes;
	uint32_t most_samples;
};

#define HISTORY_INIT	{ VEC_INIT, VEC_INIT, 0, HISTORY_BYTES, HISTORY_SAMPLES }

/* Forget all samples and gaps. The limits stay as they are. */
void history_clear(struct history *history);
/* Add the origin to an empty history. time_ns is when the log began. */
struct err *history_begin(struct history *history, uint64_t time_ns, uint64_t rss) MUST_CHECK;
/* Add a sample. If it is not younger than the last sample, it is ignored. */
struct err *history_add(struct history *history, const struct moment *moment,
			uint64_t rss) MUST_CHECK;

/*
 * Add a sample whose moment is kept elsewhere, as that of a recording: the limits do not hold for
 * such a history. One with the time of the last sample replaces it.
 */
struct err *history_append(struct history *history,
			   const struct history_sample *sample) MUST_CHECK;

/* A gap begins. If there is an open gap already, this does nothing. */
struct err *history_gap_begin(struct history *history, uint64_t time_ns,
			      bool recorded) MUST_CHECK;
/* The open gap, if there is one, ends. */
void history_gap_end(struct history *history, uint64_t time_ns);
/*
 * Is there a gap between samples i - 1 and i? If i is the number of samples: is there a gap after
 * the last one?
 */
bool history_gap_before(const struct history *history, size_t i);
/* Returns for how long nothing was recorded between two times. */
uint64_t history_unrecorded(const struct history *history, uint64_t from_ns, uint64_t to_ns);

/* The functions below return NULL if there is no such sample. history_add invalidates it. */

/* The sample with the most bytes; the first of equal ones. */
const struct history_sample *history_peak(const struct history *history);
/* The sample that is nearest to a time. NULL: the history begins later. */
const struct history_sample *history_nearest(const struct history *history, uint64_t time_ns);
/*
 * The sample with which the growth at now_ns is computed: the latest one that is at least GROWTH_NS
 * old; if there is none, the oldest one that is at least GROWTH_LEAST_NS old. Samples before the
 * last gap that has begun by then and the origin are left out.
 */
const struct history_sample *history_growth(const struct history *history, uint64_t now_ns);
