/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The history of a log (theory in history.h). */

#include "heap/history.h"

#define MALLOC_BYTES	16u	/* what malloc adds to each block, at most */

static uint64_t sample_bytes(const struct history_sample *sample)
{
	return sizeof(*sample) + sample->moment.len + (sample->moment.len ? MALLOC_BYTES : 0);
}

void history_clear(struct history *history)
{
	vec_each(sample, &history->samples)
		moment_free_packed(&sample->moment);
	vec_free(&history->samples);
	vec_free(&history->gaps);
	history->bytes = 0;
}

/* --- gaps --- */

static bool is_open(const struct history *history)
{
	return history->gaps.nr && history->gaps.at[history->gaps.nr - 1].end_ns == UINT64_MAX;
}

/* Merge the two gaps with the least time between them; that time then counts as part of the gap. */
static void merge_gaps(struct history *history)
{
	struct history_gap *gap = history->gaps.at;
	size_t at = 1;

	for (size_t i = 2; i < history->gaps.nr; i++)
		if (gap[i].begin_ns - gap[i - 1].end_ns < gap[at].begin_ns - gap[at - 1].end_ns)
			at = i;
	gap[at - 1].end_ns = gap[at].end_ns;
	gap[at - 1].recorded &= gap[at].recorded;
	vec_remove(&history->gaps, at);
}

struct err *history_gap_begin(struct history *history, uint64_t time_ns, bool recorded)
{
	struct history_gap gap = { time_ns, UINT64_MAX, recorded };

	if (is_open(history))
		return NULL;
	if (history->gaps.nr == HISTORY_GAPS)
		merge_gaps(history);
	return vec_push(&history->gaps, gap);
}

void history_gap_end(struct history *history, uint64_t time_ns)
{
	if (is_open(history))
		history->gaps.at[history->gaps.nr - 1].end_ns = time_ns;
}

static bool gap_between(const struct history *history, uint64_t from_ns, uint64_t to_ns)
{
	size_t i = LOWER_BOUND(j, 0, history->gaps.nr, history->gaps.at[j].end_ns <= from_ns);

	return i < history->gaps.nr && history->gaps.at[i].begin_ns < to_ns;
}

bool history_gap_before(const struct history *history, size_t i)
{
	uint64_t from = i ? history->samples.at[i - 1].time_ns : 0;
	uint64_t to = i < history->samples.nr ? history->samples.at[i].time_ns : UINT64_MAX;

	return gap_between(history, from, to);
}

uint64_t history_unrecorded(const struct history *history, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	vec_each(gap, &history->gaps) {
		uint64_t from = MAX(gap->begin_ns, from_ns), to = MIN(gap->end_ns, to_ns);

		if (!gap->recorded && from < to)
			sum += to - from;
	}
	return sum;
}

/* --- samples --- */

const struct history_sample *history_peak(const struct history *history)
{
	const struct history_sample *peak = NULL;

	vec_each(sample, &history->samples)
		if (!peak || sample->bytes > peak->bytes)
			peak = sample;
	return peak;
}

static void drop(struct history *history, size_t i)
{
	struct history_sample *sample = &history->samples.at[i];

	history->bytes -= sample_bytes(sample);
	moment_free_packed(&sample->moment);
	vec_remove(&history->samples, i);
}

/* The hole that sample i would leave, in comparison with its age (history.h). */
static double width(const struct history *history, size_t i)
{
	const struct history_sample *sample = history->samples.at;
	uint64_t now = sample[history->samples.nr - 1].time_ns;
	uint64_t before = sample[i ? i - 1 : i].time_ns;

	return (double)(sample[i + 1].time_ns - before) / (double)(now - sample[i].time_ns);
}

static bool is_edge(const struct history *history, size_t i)
{
	return !i || history_gap_before(history, i) || history_gap_before(history, i + 1);
}

/*
 * The sample with the narrowest hole, but not the last one nor the peak. edges: the first sample
 * and those beside gaps count, too. Returns the number of samples if there is none.
 */
static size_t narrowest(const struct history *history, bool edges)
{
	const struct history_sample *peak = history_peak(history);
	size_t nr = history->samples.nr, at = nr;
	double least = 0;

	for (size_t i = 0; i + 1 < nr; i++) {
		double wide;

		if (&history->samples.at[i] == peak)
			continue;
		wide = width(history, i);
		if (at != nr && wide >= least)
			continue;
		if (!edges && is_edge(history, i))
			continue;
		at = i;
		least = wide;
	}
	return at;
}

static void keep_budget(struct history *history)
{
	while (history->bytes > history->most_bytes ||
	       history->samples.nr > history->most_samples) {
		size_t i = narrowest(history, false);

		if (i == history->samples.nr)
			i = narrowest(history, true);
		if (i == history->samples.nr)
			return;
		drop(history, i);
	}
}

static struct err *push(struct history *history, const struct history_sample *sample)
{
	struct err *err = vec_push(&history->samples, *sample);

	if (err)
		return err;
	history->bytes += sample_bytes(sample);
	keep_budget(history);
	return NULL;
}

struct err *history_begin(struct history *history, uint64_t time_ns, uint64_t rss)
{
	return push(history, &(const struct history_sample){ .time_ns = time_ns, .rss = rss,
							     .moment.older.known = true,
							     .origin = true });
}

struct err *history_add(struct history *history, const struct moment *moment, uint64_t rss)
{
	struct sample_share total = moment_total(moment);
	struct history_sample sample = { .time_ns = moment->time_ns, .bytes = total.bytes,
					 .count = total.blocks, .rss = rss };
	struct err *err;

	if (history->samples.nr &&
	    history->samples.at[history->samples.nr - 1].time_ns >= sample.time_ns)
		return NULL;
	err = moment_pack(moment, &sample.moment);
	if (!err)
		err = push(history, &sample);
	if (err)
		moment_free_packed(&sample.moment);
	return err;
}

struct err *history_append(struct history *history, const struct history_sample *sample)
{
	struct history_sample *last = history->samples.nr ?
		&history->samples.at[history->samples.nr - 1] : NULL;

	if (!last || last->time_ns < sample->time_ns)
		return vec_push(&history->samples, *sample);
	if (last->time_ns == sample->time_ns)
		*last = *sample;
	return NULL;
}

const struct history_sample *history_nearest(const struct history *history, uint64_t time_ns)
{
	const struct history_sample *sample = history->samples.at;
	size_t nr = history->samples.nr, i;

	if (!nr || sample->time_ns > time_ns)
		return NULL;
	i = LOWER_BOUND(j, 0, nr, sample[j].time_ns < time_ns);
	if (i == nr)
		return &sample[nr - 1];
	if (i && time_ns - sample[i - 1].time_ns <= sample[i].time_ns - time_ns)
		i--;
	return &sample[i];
}

const struct history_sample *history_growth(const struct history *history, uint64_t now_ns)
{
	const struct history_sample *sample = history->samples.at, *found = NULL;
	size_t gaps = LOWER_BOUND(j, 0, history->gaps.nr, history->gaps.at[j].begin_ns < now_ns);
	uint64_t since = gaps ? history->gaps.at[gaps - 1].end_ns : 0;

	for (size_t i = history->samples.nr; i-- > 0 && sample[i].time_ns >= since;) {
		uint64_t age = now_ns > sample[i].time_ns ? now_ns - sample[i].time_ns : 0;

		if (sample[i].origin)
			break;
		if (age >= GROWTH_LEAST_NS)
			found = &sample[i];
		if (age >= GROWTH_NS)
			break;
	}
	return found;
}
