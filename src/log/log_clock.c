/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The log's clock; see log_clock.h. Numbers in the region are believed for what they say, never for
 * an index or a divisor.
 */

#include "log/log_clock.h"

#include <time.h>

#include "log/log_layout.h"

#define RATE_SHIFT	48
#define TRIES		8
#define MERGE_NS	1000000000ull
#define FIRST_NS	1000000ull	/* baseline of the first rate */
#define STEP_NS		1000000ull
#define STEP_SHARE	1667		/* 600 parts in 10^6 */

/* Both clocks at once. */
static void read_both(uint64_t *stamp, uint64_t *ns)
{
	uint64_t narrowest = UINT64_MAX;

	for (unsigned i = 0; i < TRIES; i++) {
		uint64_t before = log_now(), after;
		struct timespec now;

		clock_gettime(CLOCK_REALTIME, &now);
		after = log_now();
		if (after - before < narrowest) {
			narrowest = after - before;
			*stamp = before + narrowest / 2;
			*ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
		}
	}
}

static uint32_t anchors(const struct log *log)
{
	return MIN(__atomic_load_n(&log->header->anchors, __ATOMIC_RELAXED), (uint32_t)LOG_ANCHORS);
}

static uint64_t scale(uint64_t ticks, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)ticks * rate >> RATE_SHIFT);
}

static uint64_t rate_of(uint64_t ns, uint64_t ticks)
{
	return ticks ? (uint64_t)(((unsigned __int128)ns << RATE_SHIFT) / ticks) : 0;
}

/* The time that follows from the last anchor and the rate. */
static uint64_t extrapolate(const struct log *log, uint32_t nr, uint64_t stamp)
{
	const struct log_anchor *last = &log->header->anchor[nr - 1];

	return last->start + scale(stamp - last->stamp, log->header->rate);
}

/*
 * How far anchor i is from the line between its neighbours. An anchor at which the clock was set
 * counts as infinitely far.
 */
static uint64_t bend(const struct log_anchor *anchor, uint32_t i)
{
	const struct log_anchor *a = &anchor[i - 1], *b = &anchor[i], *c = &anchor[i + 1];
	uint64_t line;

	if (b->start != b->end)
		return UINT64_MAX;
	line = a->start + scale(b->stamp - a->stamp,
				rate_of(c->end - a->start, c->stamp - a->stamp));
	return line > b->end ? line - b->end : b->end - line;
}

static uint32_t drop_one(struct log_header *header)
{
	uint32_t best = 1;

	for (uint32_t i = 2; i < LOG_ANCHORS - 1; i++)
		if (bend(header->anchor, i) < bend(header->anchor, best))
			best = i;
	for (uint32_t i = best; i < LOG_ANCHORS - 1; i++)
		header->anchor[i] = header->anchor[i + 1];
	return LOG_ANCHORS - 1;
}

/* A reading that agrees with the rate: add an anchor, or replace the last one. */
static uint32_t anchor_add(struct log_header *header, uint32_t nr, uint64_t stamp, uint64_t ns)
{
	struct log_anchor *last = &header->anchor[nr - 1];

	if (nr > 1 && last->start == last->end && ns - last[-1].start < MERGE_NS)
		nr--;
	else if (nr == LOG_ANCHORS)
		nr = drop_one(header);
	header->anchor[nr] = (struct log_anchor){ stamp, ns, ns };
	return nr + 1;
}

/*
 * The clock was set forward by `by` ns. The time by which the log is ahead of it is used up first.
 */
static uint32_t step_forward(struct log_header *header, uint32_t nr, uint64_t stamp,
			     uint64_t expect, uint64_t by)
{
	uint64_t caught_up = MIN(by, header->ahead), jump = by - caught_up;

	header->ahead -= caught_up;
	nr = anchor_add(header, nr, stamp, expect);
	header->anchor[nr - 1].start += jump;
	header->rate_ns += jump;
	return nr;
}

void log_clock_note(struct log *log, uint64_t stamp, uint64_t ns)
{
	struct log_header *header = log->header;
	uint32_t nr = anchors(log);
	uint64_t expect, slack;

	if (!nr || stamp <= header->anchor[nr - 1].stamp)
		return;
	ns += header->ahead;
	expect = extrapolate(log, nr, stamp);
	slack = STEP_NS + (expect - header->anchor[nr - 1].start) / STEP_SHARE;
	if (ns > expect + slack) {
		header->anchors = step_forward(header, nr, stamp, expect, ns - expect);
	} else if (ns + slack < expect) {
		header->ahead += expect - ns;
		header->anchors = anchor_add(header, nr, stamp, expect);
	} else if (ns > header->anchor[nr - 1].start) {
		header->anchors = anchor_add(header, nr, stamp, ns);
		header->rate = rate_of(ns - header->rate_ns, stamp - header->rate_stamp);
	}
}

double log_clock_tick(const struct log *log)
{
	return (double)log->header->rate / (double)(1ull << RATE_SHIFT);
}

void log_clock_start(struct log *log)
{
	struct log_header *header = log->header;
	uint64_t stamp, ns;

	read_both(&stamp, &ns);
	header->anchor[0] = (struct log_anchor){ stamp, ns, ns };
	header->anchors = 1;
	header->rate_stamp = stamp;
	header->rate_ns = ns;
	header->rate = 0;
}

void log_clock_update(struct log *log)
{
	struct log_header *header = log->header;
	uint64_t stamp, ns, from = __atomic_load_n(&header->rate_ns, __ATOMIC_RELAXED);

	read_both(&stamp, &ns);
	if (!header->rate) {
		/* Use the number that was read once: the target could change it meanwhile. */
		while (ns - from < FIRST_NS)
			read_both(&stamp, &ns);
		header->rate = rate_of(ns - from, stamp - header->rate_stamp);
	}
	log_clock_note(log, stamp, ns);
}

uint64_t log_clock_realtime(const struct log *log, uint64_t time)
{
	const struct log_anchor *anchor = log->header->anchor;
	uint32_t low = 0, high = anchors(log);

	if (!high)
		return 0;
	if (time <= anchor->stamp) {
		uint64_t before = scale(anchor->stamp - time, log->header->rate);

		return anchor->start > before ? anchor->start - before : 0;
	}
	if (time >= anchor[high - 1].stamp)
		return extrapolate(log, high, time);
	/* anchor[low].stamp <= time < anchor[high].stamp */
	high = LOWER_BOUND(i, low + 1, high - 1, anchor[i].stamp <= time);
	low = high - 1;
	return anchor[low].start +
	       scale(time - anchor[low].stamp,
		     rate_of(anchor[high].end - anchor[low].start,
			     anchor[high].stamp - anchor[low].stamp));
}

uint64_t log_clock_seq(const struct log *log, uint64_t time)
{
	uint64_t origin = log->header->origin;

	return time > origin ? time - origin + 1 : 1;
}

uint64_t log_clock_begin(const struct log *log)
{
	return log->header->start;
}
