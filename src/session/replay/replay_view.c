/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recordings that a session has open. */

#include "session/replay/replay_view.h"

#include <stdlib.h>

#include "base/cleanup.h"

struct err *replay_view_history(struct replay *replay, struct history *ret)
{
	AUTO_FREE struct record_reader **readers = calloc(replay->sources.nr, sizeof(*readers));

	if (!readers)
		return err_nomem;
	for (size_t i = 0; i < replay->sources.nr; i++)
		readers[i] = replay->sources.at[i].reader;
	return replay_timeline_history(&replay->timeline, readers, replay->sources.nr,
				       replay->only, ret);
}

/* Names of a recording are text from outside: one that no mark could have is left out. */
static struct err *add_mark(const struct replay_source *source, const struct record_event *event,
			    struct marks *ret)
{
	const char *name = record_reader_string(source->reader, event->text);
	const struct moment none = { .time_ns = event->time_ns };
	const struct mark *mark;
	struct err *err = marks_check(ret, name ? name : "");

	if (err) {
		err_ignore(err);
		return NULL;
	}
	return marks_add(ret, name, &none, &none, &mark);
}

struct err *replay_view_marks(struct replay *replay, struct marks *ret)
{
	struct record_events events = { VEC_INIT };
	struct err *err = NULL;

	vec_each_while(source, &replay->sources, !err) {
		err = record_reader_events(source->reader, 0, 0, UINT64_MAX, &events);
		vec_each_while(event, &events.vec, !err)
			if (event->kind == RECORD_EVENT_MARK)
				err = add_mark(source, event, ret);
		vec_free(&events.vec);
	}
	return err;
}

struct err *replay_view_at(struct replay *replay, const struct replay_target *target,
			   uint64_t time_ns, unsigned tables, replay_view_fn *fn, void *ctx)
{
	struct replay_source *source = &replay->sources.at[target->source];
	const struct record_sample *sample;
	struct record_cursor *cursor;
	struct err *err;

	if (!target->samples || target->from_ns > time_ns || target->end_ns <= time_ns)
		return NULL;
	err = record_cursor_at(source->reader, target->number, tables, time_ns, &cursor, &sample);
	if (err)
		return err;
	if (sample)
		err = fn(ctx, source, sample);
	record_cursor_close(cursor);
	return err;
}

struct err *replay_view_each(struct replay *replay, uint64_t time_ns, unsigned tables,
			     replay_view_fn *fn, void *ctx)
{
	struct err *err = NULL;

	vec_each_while(target, &replay->timeline.targets, !err)
		if (replay_timeline_shows(target, replay->only))
			err = replay_view_at(replay, target, time_ns, tables, fn, ctx);
	return err;
}
