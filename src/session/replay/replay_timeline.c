/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The targets of a view and its history (theory in replay_timeline.h). */

#include "session/replay/replay_timeline.h"

#include <stdlib.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "base/compiler.h"
#include "record/figures.h"

/* What a target held from a time on. */
struct point {
	uint64_t time_ns;
	size_t target;
	bool ended, unknown;	/* it holds nothing, or what it holds is not known */
	uint64_t bytes, count, rss;
	struct log_older older;
};

/* Times without a gap. */
struct span {
	uint64_t begin_ns, end_ns;
};

struct points {
	pid_t only;
	VEC(struct point) vec;
	VEC(struct span) spans;
	VEC(size_t) open;	/* by target: 1 + the index of the span that it is in; 0: none yet */
};

COMPARE_BY(compare_points, struct point, x, x->time_ns)
COMPARE_BY(compare_spans, struct span, x, x->begin_ns)

static void points_free(struct points *points)
{
	vec_free(&points->vec);
	vec_free(&points->spans);
	vec_free(&points->open);
}

static uint64_t key_of(size_t source, uint32_t number)
{
	return (uint64_t)source << 32 | number;
}

/* The index of a target; SIZE_MAX: it is none of them. */
static size_t find_target(const struct replay_timeline *timeline, size_t source, uint32_t number)
{
	return (size_t)(uintptr_t)map_get(&timeline->numbers, key_of(source, number)) - 1;
}

static struct err *add_target(struct replay_timeline *timeline, struct record_reader *reader,
			      size_t source, uint32_t number)
{
	struct err *err;

	if (find_target(timeline, source, number) != SIZE_MAX)
		return NULL;
	err = vec_push(&timeline->targets, ((struct replay_target){
		.source = source, .number = number,
		.pid = record_reader_target(reader, number)->pid }));

	return err ? err : map_put(&timeline->numbers, key_of(source, number),
				   (void *)(uintptr_t)timeline->targets.nr);
}

struct err *replay_timeline_add(struct replay_timeline *timeline, struct record_reader *reader,
				size_t source)
{
	struct record_target_list list = { VEC_INIT };
	struct err *err = record_reader_targets(reader, &list);

	vec_each_while(number, &list.vec, !err)
		err = add_target(timeline, reader, source, *number);
	vec_free(&list.vec);
	return err;
}

static uint64_t figure(const struct record_reader *reader, const struct record_sample *sample,
		       const char *name)
{
	return record_table_figure(reader, &sample->table[RECORD_TOTALS], name);
}

static uint64_t or_zero(uint64_t figure)
{
	return figure == RECORD_UNKNOWN ? 0 : figure;
}

/* The spans of a target: a new one begins with its first sample, and behind each gap. */
static struct err *add_span(struct points *points, size_t target,
			    const struct record_sample *sample)
{
	size_t *open = vec_slot(&points->open, target);

	if (!open)
		return err_nomem;
	if (*open && !sample->gap) {
		struct span *span = &points->spans.at[*open - 1];

		span->end_ns = MAX(span->end_ns, sample->time_ns);
		return NULL;
	}
	*open = points->spans.nr + 1;
	return vec_push(&points->spans, ((struct span){ sample->time_ns, sample->time_ns }));
}

static struct err *add_sample(struct replay_timeline *timeline, const struct record_reader *reader,
			      size_t at, const struct record_sample *sample, struct points *points)
{
	struct replay_target *target = &timeline->targets.at[at];
	uint64_t older = figure(reader, sample, RECORD_TOTAL_OLDER);
	struct point point = {
		.time_ns = sample->time_ns, .target = at,
		.bytes = or_zero(figure(reader, sample, RECORD_TOTAL_BYTES)),
		.count = or_zero(figure(reader, sample, RECORD_TOTAL_COUNT)),
		.rss = or_zero(figure(reader, sample, RECORD_TOTAL_RSS)),
		.older = { .known = older != RECORD_UNKNOWN, .bytes = or_zero(older),
			   .unsized = or_zero(figure(reader, sample, "unsized")) },
	};
	struct err *err;

	target->from_ns = MIN(target->from_ns, sample->time_ns);
	target->to_ns = MAX(target->to_ns, sample->time_ns);
	target->samples++;
	timeline->sample = MAX(timeline->sample, or_zero(figure(reader, sample, RECORD_TOTAL_SAMPLE)));
	timeline->cost = MAX(timeline->cost,
			     or_zero(figure(reader, sample, RECORD_TOTAL_COST_MOST)));
	if (!replay_timeline_shows(target, points->only))
		return NULL;
	err = vec_push(&points->vec, point);
	return err ? err : add_span(points, at, sample);
}

static struct err *add_samples(struct replay_timeline *timeline, struct record_reader *reader,
			       size_t source, struct points *points)
{
	const struct record_sample *sample;
	struct record_cursor *cursor;
	struct err *err = record_cursor_open(reader, 0, 1u << RECORD_TOTALS, 0,
					     UINT64_MAX, &cursor);

	if (err)
		return err;
	while (!(err = record_cursor_next(cursor, &sample)) && sample) {
		size_t at = find_target(timeline, source, sample->target);

		if (at != SIZE_MAX)
			err = add_sample(timeline, reader, at, sample, points);
		if (!err)
			err = cancel_check();
		if (err)
			break;
	}
	record_cursor_close(cursor);
	return err;
}

static bool is_end(enum record_event_kind kind)
{
	return kind == RECORD_EVENT_EXIT || kind == RECORD_EVENT_EXEC;
}

/* Nothing is known of a target behind this time; that it has ended is known, or not. */
static struct err *end_target(struct replay_timeline *timeline, size_t at,
			      const struct record_event *event, struct points *points)
{
	struct replay_target *target = &timeline->targets.at[at];

	if (!target->samples || event->time_ns < target->to_ns || target->end_ns != UINT64_MAX)
		return NULL;
	target->end_ns = MAX(event->time_ns, target->to_ns + 1);
	target->exited = is_end(event->kind);
	target->why = event->kind == RECORD_EVENT_EXIT ? event->text : 0;
	if (!replay_timeline_shows(target, points->only))
		return NULL;
	/* Its recorder goes on, and sees that it is gone. */
	if (target->exited)
		points->spans.at[points->open.at[at] - 1].end_ns = UINT64_MAX;
	return vec_push(&points->vec, ((struct point){
		.time_ns = target->end_ns, .target = at, .ended = target->exited,
		.unknown = !target->exited }));
}

/* A recorder begins or ends: what its targets do from then on is not known, nor when they came back. */
static struct err *end_all(struct replay_timeline *timeline, size_t source,
			   const struct record_event *event, struct points *points)
{
	struct err *err = NULL;

	for (size_t i = 0; !err && i < timeline->targets.nr; i++) {
		const struct replay_target *target = &timeline->targets.at[i];
		size_t open = i < points->open.nr ? points->open.at[i] : 0;

		if (target->source != source)
			continue;
		if (target->exited && target->end_ns <= event->time_ns && open)
			points->spans.at[open - 1].end_ns =
				MIN(points->spans.at[open - 1].end_ns, event->time_ns);
		else
			err = end_target(timeline, i, event, points);
	}
	return err;
}

static struct err *add_event(struct replay_timeline *timeline, size_t source,
			     const struct record_event *event, struct points *points)
{
	size_t at;

	if (!event->target)
		return event->kind == RECORD_EVENT_BEGIN || event->kind == RECORD_EVENT_CLOSE ?
			end_all(timeline, source, event, points) : NULL;
	if (!is_end(event->kind) && event->kind != RECORD_EVENT_DETACH)
		return NULL;
	at = find_target(timeline, source, event->target);
	return at == SIZE_MAX ? NULL : end_target(timeline, at, event, points);
}

static struct err *add_source(struct replay_timeline *timeline, struct record_reader *reader,
			      size_t source, struct points *points)
{
	struct record_events events = { VEC_INIT };
	struct err *err = add_samples(timeline, reader, source, points);

	if (!err)
		err = record_reader_events(reader, 0, 0, UINT64_MAX, &events);
	vec_each_while(event, &events.vec, !err)
		err = add_event(timeline, source, event, points);
	vec_free(&events.vec);
	return err;
}

/* The sums over all targets, with what each held last. */
struct sums {
	VEC(struct point) last;
	struct point all;
	size_t live;		/* targets that have begun and not ended */
};

static void sums_change(struct sums *sums, const struct point *point, bool add)
{
	uint64_t sign = add ? 1 : UINT64_MAX;

	sums->live += add ? 1 : SIZE_MAX;
	sums->all.bytes += sign * point->bytes;
	sums->all.count += sign * point->count;
	sums->all.rss += sign * point->rss;
	sums->all.older.bytes += sign * point->older.bytes;
	sums->all.older.unsized += sign * point->older.unsized;
}

static struct err *sums_take(struct sums *sums, const struct point *point)
{
	struct point *last = vec_slot(&sums->last, point->target);

	if (!last)
		return err_nomem;
	if (last->time_ns)
		sums_change(sums, last, false);
	*last = (struct point){ 0 };
	if (point->ended || point->unknown)
		return NULL;
	*last = *point;
	sums->all.older.known = point->older.known;
	sums_change(sums, point, true);
	return NULL;
}

static struct err *make_samples(const struct points *points, struct history *ret)
{
	struct sums sums = { .last = VEC_INIT };
	struct err *err = NULL;

	vec_each_while(point, &points->vec, !err) {
		err = sums_take(&sums, point);
		/* Behind the end of the last target the last sample is what was before it. */
		if (!err && sums.live && !point->unknown)
			err = history_append(ret, &(const struct history_sample){
				.time_ns = point->time_ns, .bytes = sums.all.bytes,
				.count = sums.all.count, .rss = sums.all.rss,
				.moment.older = sums.all.older });
	}
	vec_free(&sums.last);
	return err;
}

/* What lies between the spans of all targets is a gap. */
static struct err *make_gaps(const struct points *points, struct history *ret)
{
	uint64_t end = points->spans.nr ? points->spans.at->end_ns : 0;
	struct err *err = NULL;

	vec_each_while(span, &points->spans, !err) {
		if (span->begin_ns > end) {
			err = history_gap_begin(ret, end, false);
			history_gap_end(ret, span->begin_ns);
		}
		end = MAX(end, span->end_ns);
	}
	return err;
}

struct err *replay_timeline_history(struct replay_timeline *timeline,
				    struct record_reader *const *readers, size_t nr, pid_t only,
				    struct history *ret)
{
	CLEANUP(points_free) struct points points = { only, VEC_INIT, VEC_INIT, VEC_INIT };
	struct err *err = NULL;

	vec_each(target, &timeline->targets)
		*target = (struct replay_target){
			.source = target->source, .number = target->number, .pid = target->pid,
			.from_ns = UINT64_MAX, .end_ns = UINT64_MAX };
	for (size_t i = 0; i < nr && !err; i++)
		err = add_source(timeline, readers[i], i, &points);
	if (err)
		return err;
	vec_sort(&points.vec, compare_points);
	vec_sort(&points.spans, compare_spans);
	err = make_samples(&points, ret);
	return err ? err : make_gaps(&points, ret);
}

void replay_timeline_free(struct replay_timeline *timeline)
{
	vec_free(&timeline->targets);
	map_free(&timeline->numbers, NULL);
}
