/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens recordings as the target of a session (theory in session_replay.h). */

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "session/private.h"
#include "session/replay/replay_view.h"
#include "session/replay/session_replay.h"
#include "symbol/symbol.h"
#include "tracee/region.h"

#define LOG_BYTES	(1ull << 30)	/* of addresses; what stacks take of it is memory */

static void replay_cleanup(struct replay **replay)
{
	session_replay_free(*replay);
}

static struct err *add_source(struct replay *replay, const char *folder)
{
	struct replay_source source = { .folder = strdup(folder) };
	struct err *err = source.folder ? vec_reserve(&replay->sources, 1) : err_nomem;

	if (!err)
		err = record_reader_open(folder, &source.reader);
	if (err) {
		free(source.folder);
		return err;
	}
	replay->sources.at[replay->sources.nr++] = source;
	return replay_timeline_add(&replay->timeline, source.reader, replay->sources.nr - 1);
}

struct opening {
	struct replay *replay;
	struct history history;
	struct marks marks;
};

/*
 * The last target's log still answers, so it is forgotten only when all of the recording is open.
 * Tracer thread.
 */
static struct err *publish_job(struct session *session, void *arg)
{
	struct opening *opening = arg;
	const struct replay_timeline *timeline = &opening->replay->timeline;
	const struct log_config config = {
		.region_size = LOG_BYTES, .stack_depth = LOG_DEPTH_MAX, .sample = timeline->sample,
		.cost = (uint32_t)MIN(timeline->cost, (uint64_t)SAMPLE_COST_MOST),
	};
	struct symbols *symbols = NULL;
	struct region *region;
	struct err *err = region_create_empty(&config, &region);

	if (err)
		return err;
	err = symbols_create(0, &symbols);
	if (err) {
		region_free(region);
		return err;
	}
	release_forget_last(session);
	session_history_free(session);
	region->empty = false;
	session->region = region;
	session->symbols = symbols;
	session->replay = take(opening->replay);
	session->replay->stacks.log = &region->log;
	session->replay->stacks.symbols = symbols;
	session->replay->stacks.entries = &session->entry_names;
	session->history.history = opening->history;
	session->history.log_start = log_clock_begin(&region->log);
	session->history.marks = opening->marks;
	opening->history = (struct history)HISTORY_INIT;
	opening->marks = (struct marks)MARKS_INIT;
	session->current->target = NULL;
	session->current->started = false;
	session->current->pid = session->pids[0] = 0;
	return NULL;
}

static struct err *open_all(const char *const *folders, size_t nr, struct opening *opening)
{
	struct replay *replay = opening->replay;
	struct err *err = NULL;

	for (size_t i = 0; i < nr && !err; i++)
		err = add_source(replay, folders[i]);
	if (!err)
		err = replay_view_history(replay, &opening->history);
	if (!err)
		err = replay_view_marks(replay, &opening->marks);
	if (!err && !opening->history.samples.nr)
		err = err_create(ERR_NOTFOUND, "%s: nothing was recorded", folders[0]);
	return err;
}

/* The cursor must not be set before all else stands, as its errors are told with the history. */
static struct err *place_cursor(struct session *session, uint64_t time_ns)
{
	const struct history *history = &session->history.history;

	return session_replay_to(session, time_ns ? time_ns :
				 history->samples.at[history->samples.nr - 1].time_ns);
}

struct err *session_replay_open(struct session *session, const char *const *folders, size_t nr,
				uint64_t time_ns)
{
	CLEANUP(replay_cleanup) struct replay *replay = calloc(1, sizeof(*replay));
	struct opening opening = { replay, HISTORY_INIT, MARKS_INIT };
	struct err *err = session_need_none(session);

	if (!err && !replay)
		err = err_nomem;
	if (err)
		return err;
	err = open_all(folders, nr, &opening);
	if (!err)
		err = session_call(session, publish_job, &opening);
	replay = opening.replay;
	history_clear(&opening.history);
	marks_free(&opening.marks);
	if (err)
		return err;
	session->state = SESSION_REPLAY;
	err = place_cursor(session, time_ns);
	return err ? keeping(err, err_ignore(session_detach(session))) : NULL;
}
