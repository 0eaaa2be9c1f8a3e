/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recordings as the target of a session (theory in session_replay.h). */

#include "session/replay/session_replay.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/time_text.h"
#include "log/log_totals.h"
#include "record/figures.h"
#include "record/reader.h"
#include "session/private.h"
#include "session/replay/replay_adding.h"
#include "session/replay/replay_view.h"

#define LATE_NS		2000000000ull	/* a time that is written in seconds is not after the last sample */

void session_replay_free(struct replay *replay)
{
	if (!replay)
		return;
	vec_each(source, &replay->sources) {
		record_reader_close(source->reader);
		vec_free(&source->numbers.vec);
		free(source->folder);
	}
	vec_free(&replay->sources);
	replay_timeline_free(&replay->timeline);
	replay_stacks_free(&replay->stacks);
	free(replay);
}

bool session_replay_is(const struct session *session)
{
	return session->replay;
}

uint64_t session_replay_now(const struct session *session)
{
	return session->replay->now_ns;
}

const char *session_replay_now_text(const struct session *session)
{
	return session->replay->now_text;
}

static void set_now(struct session *session, uint64_t time_ns)
{
	struct replay *replay = session->replay;

	replay->now_ns = time_ns;
	time_text(replay->now_text, sizeof(replay->now_text), time_ns);
}

static struct err *outside(const char *what, uint64_t time_ns)
{
	char text[32];

	time_text(text, sizeof(text), time_ns);
	return err_create(ERR_RANGE, "the recording %s at %s", what, text);
}

static struct err *in_gap(const struct history_gap *gap)
{
	char from[32], to[32];

	time_text(from, sizeof(from), gap->begin_ns);
	time_text(to, sizeof(to), gap->end_ns);
	return err_hint(err_create(ERR_RANGE, "nothing was recorded between %s and %s", from, to),
			"the moments beside that are these two");
}

struct err *session_replay_check(struct session *session, uint64_t time_ns)
{
	const struct history *history = &session->history.history;
	const struct history_sample *first = history->samples.at;
	const struct history_sample *last = first + history->samples.nr - 1;

	if (time_ns + LATE_NS < first->time_ns)
		return outside("begins", first->time_ns);
	if (time_ns > last->time_ns + LATE_NS)
		return outside("ends", last->time_ns);
	vec_each(gap, &history->gaps)
		if (time_ns > gap->begin_ns + LATE_NS && time_ns + LATE_NS < gap->end_ns)
			return in_gap(gap);
	return NULL;
}

static const struct history_sample *sample_at(const struct session *session, uint64_t time_ns)
{
	const struct history *history = &session->history.history;
	const struct history_sample *sample = history_nearest(history, time_ns);

	return sample ? sample : history->samples.at;
}

struct err *session_replay_to(struct session *session, uint64_t time_ns)
{
	struct err *err = session_replay_check(session, time_ns);

	if (!err)
		set_now(session, sample_at(session, time_ns)->time_ns);
	return err;
}

/* Make the history and the marks of the view anew. */
static struct err *reload(struct session *session)
{
	struct replay *replay = session->replay;
	struct history history = HISTORY_INIT;
	struct marks marks = MARKS_INIT;
	struct err *err = replay_view_history(replay, &history);

	if (!err)
		err = replay_view_marks(replay, &marks);
	if (!err && !history.samples.nr)
		err = err_create(ERR_NOTFOUND, "nothing was recorded of a process %d", replay->only);
	if (err) {
		history_clear(&history);
		marks_free(&marks);
		return err;
	}
	history_clear(&session->history.history);
	marks_free(&session->history.marks);
	session->history.history = history;
	session->history.marks = marks;
	set_now(session, sample_at(session, replay->now_ns)->time_ns);
	return NULL;
}

struct err *session_replay_refresh(struct session *session, bool *more_ret)
{
	struct replay *replay = session->replay;
	struct err *err = NULL;
	bool more;

	*more_ret = false;
	for (size_t i = 0; !err && i < replay->sources.nr; i++) {
		err = record_reader_refresh(replay->sources.at[i].reader, &more);
		*more_ret |= more;
		if (!err && more)
			err = replay_timeline_add(&replay->timeline, replay->sources.at[i].reader, i);
	}
	if (err || !*more_ret)
		return err;
	err = reload(session);
	log_set_sampled(session_log(session), replay->timeline.sample,
			(uint32_t)MIN(replay->timeline.cost, (uint64_t)SAMPLE_COST_MOST));
	return err;
}

bool session_replay_rebuilt(const struct session *session)
{
	return session->replay->stacks.rebuilt;
}

bool session_replay_is_written(const struct session *session)
{
	vec_each(source, &session->replay->sources)
		if (record_reader_is_written(source->reader))
			return true;
	return false;
}

uint64_t session_replay_left_out(const struct session *session)
{
	uint64_t ret = 0;

	vec_each(source, &session->replay->sources)
		ret += record_reader_targets_left_out(source->reader);
	return ret;
}

static size_t cursor_index(const struct session *session)
{
	return (size_t)(sample_at(session, session->replay->now_ns) -
			session->history.history.samples.at);
}

struct err *session_replay_step(struct session *session, int by)
{
	const struct history *history = &session->history.history;
	size_t at = cursor_index(session);
	struct err *err;
	bool more;

	if (by < 0 && !at)
		return outside("begins", history->samples.at->time_ns);
	if (by > 0 && at + 1 == history->samples.nr) {
		err = session_replay_refresh(session, &more);
		if (err)
			return err;
		at = cursor_index(session);
	}
	if (by > 0 && at + 1 == history->samples.nr)
		return outside("ends", history->samples.at[at].time_ns);
	set_now(session, history->samples.at[by > 0 ? at + 1 : at - 1].time_ns);
	return NULL;
}

/* Add what is in two columns, of which the second one has blocks. */
static struct err *add_columns(struct replay_adding *adding, struct replay_source *source,
			       const struct record_sample *sample, unsigned bytes, unsigned count)
{
	const struct record_table *sites = &sample->table[RECORD_SITES];
	struct err *err = NULL;

	adding->any |= sites->time_ns;
	for (size_t i = 0; !err && i < sites->nr && sites->columns > MAX(bytes, count); i++) {
		const uint64_t *row = &sites->values[i * sites->columns];
		uint32_t stack;

		if (sites->keys[i] > UINT32_MAX || !row[count])
			continue;
		err = replay_stacks_get(&adding->replay->stacks, source->reader, &source->numbers,
					(uint32_t)sites->keys[i], &stack);
		if (!err)
			err = replay_adding_sum(adding, stack, row[bytes], row[count]);
	}
	return err;
}

static struct err *add_sites(void *ctx, struct replay_source *source, const struct record_sample *sample)
{
	return add_columns(ctx, source, sample, RECORD_SITE_BYTES, RECORD_SITE_COUNT);
}

static struct err *add_all_time(void *ctx, struct replay_source *source, const struct record_sample *sample)
{
	struct replay_adding *adding = ctx;
	uint64_t begin_ns = record_table_figure(source->reader, &sample->table[RECORD_TOTALS],
						RECORD_TOTAL_SINCE);

	adding->begin_ns = MIN(adding->begin_ns, begin_ns);
	return add_columns(adding, source, sample, RECORD_SITE_TOTAL_BYTES, RECORD_SITE_TOTAL);
}

struct err *session_replay_had(struct session *session, uint64_t time_ns, struct moment *ret,
			       uint64_t *begin_ns_ret)
{
	struct replay_adding adding = { .replay = session->replay, .begin_ns = UINT64_MAX,
					.sums = MAP_INIT };
	struct err *err = replay_view_each(session->replay, time_ns,
					   1u << RECORD_TOTALS | 1u << RECORD_SITES, add_all_time,
					   &adding);

	err = replay_adding_end(&adding, time_ns, "what the sites have had", err, ret);
	if (!err)
		*begin_ns_ret = adding.begin_ns;
	return err;
}

struct err *session_replay_totals(struct session *session, uint64_t time_ns, struct log_totals *ret)
{
	CLEANUP(moment_free) struct moment sums = MOMENT_INIT;
	uint64_t begin_ns;
	struct err *err = session_replay_had(session, time_ns, &sums, &begin_ns);

	if (!err)
		err = log_totals_init(session_log(session), ret);
	if (err)
		return err;
	vec_each(sum, &sums.vec)
		log_totals_add(ret, sum->stack, sum->count, sum->bytes);
	log_totals_end(ret);
	ret->begin_ns = begin_ns;
	return NULL;
}

struct err *session_replay_moment(struct session *session, uint64_t time_ns, struct moment *ret)
{
	struct replay *replay = session->replay;
	struct replay_adding adding = { .replay = replay, .sums = MAP_INIT };
	struct err *err = replay_view_each(replay, time_ns, 1u << RECORD_SITES, add_sites, &adding);

	err = replay_adding_end(&adding, time_ns, "what the sites held", err, ret);
	if (!err)
		ret->older = sample_at(session, time_ns)->moment.older;
	return err;
}

struct err *session_replay_moment_of(struct session *session, size_t process, uint64_t time_ns,
				     struct moment *ret)
{
	struct replay *replay = session->replay;
	struct replay_adding adding = { .replay = replay, .any = true, .sums = MAP_INIT };
	struct err *err = replay_view_at(replay, &replay->timeline.targets.at[process], time_ns,
					 1u << RECORD_SITES, add_sites, &adding);

	return replay_adding_end(&adding, time_ns, "", err, ret);
}

static struct err *add_totals(void *ctx, struct replay_source *source, const struct record_sample *sample)
{
	const struct record_table *totals = &sample->table[RECORD_TOTALS];
	struct session_replay_process *process = ctx;

	process->time_ns = sample->time_ns;
	process->bytes = record_table_figure(source->reader, totals, RECORD_TOTAL_BYTES);
	process->count = record_table_figure(source->reader, totals, RECORD_TOTAL_COUNT);
	process->rss = record_table_figure(source->reader, totals, RECORD_TOTAL_RSS);
	return NULL;
}

static struct session_replay_process describe(const struct replay *replay,
					      const struct replay_target *target)
{
	const struct replay_source *source = &replay->sources.at[target->source];
	const struct record_target *is = record_reader_target(source->reader, target->number);
	const char *why = record_reader_string(source->reader, target->why);

	return (struct session_replay_process){
		.folder = source->folder,
		.name = { record_reader_string(source->reader, is->name) },
		.command = { record_reader_string(source->reader, is->command) },
		.pid = target->pid, .from_ns = target->samples ? target->from_ns : 0,
		.to_ns = target->to_ns, .end_ns = target->end_ns, .exited = target->exited,
		.why = { why }, .oom = why && !strcmp(why, RECORD_END_OOM),
		.samples = target->samples,
	};
}

bool session_replay_process(const struct session *session, struct session_replay_process *ret)
{
	const struct replay *replay = session->replay;
	size_t nr = 0;

	vec_each(target, &replay->timeline.targets) {
		if (!target->samples || !replay_timeline_shows(target, replay->only))
			continue;
		*ret = describe(replay, target);
		nr++;
	}
	return nr == 1;
}

struct err *session_replay_processes(struct session *session, uint64_t time_ns,
				     struct session_replay_processes *ret)
{
	struct replay *replay = session->replay;
	struct err *err = NULL;

	vec_each_while(target, &replay->timeline.targets, !err) {
		struct session_replay_process process = describe(replay, target);

		err = replay_view_at(replay, target, time_ns, 1u << RECORD_TOTALS, add_totals, &process);
		if (!err)
			err = vec_push(&ret->vec, process);
	}
	return err;
}

static struct err *add_event(const struct replay_source *source, const struct record_event *event,
			     struct session_replay_events *ret)
{
	const struct record_target *target =
		event->target ? record_reader_target(source->reader, event->target) : NULL;

	return vec_push(&ret->vec, ((struct session_replay_event){
		.time_ns = event->time_ns, .kind = event->kind,
		.pid = target ? target->pid : 0,
		.name = { target ? record_reader_string(source->reader, target->name) : NULL },
		.text = { record_reader_string(source->reader, event->text) },
		.number = event->number, .also = event->also }));
}

COMPARE_BY(by_time, struct session_replay_event, x, x->time_ns)

struct err *session_replay_events(struct session *session, uint64_t from_ns, uint64_t to_ns,
				  struct session_replay_events *ret)
{
	struct replay *replay = session->replay;
	struct record_events events = { VEC_INIT };
	struct err *err = NULL;

	vec_each_while(source, &replay->sources, !err) {
		err = record_reader_events(source->reader, 0, from_ns, to_ns, &events);
		vec_each_while(event, &events.vec, !err)
			err = add_event(source, event, ret);
		vec_free(&events.vec);
	}
	vec_sort(&ret->vec, by_time);
	return err;
}

struct err *session_replay_only(struct session *session, pid_t pid)
{
	pid_t before = session->replay->only;
	struct err *err;

	session->replay->only = pid;
	err = reload(session);
	if (err)
		session->replay->only = before;
	return err;
}
