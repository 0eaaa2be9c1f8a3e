/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes samples of the log and sets marks (theory in history.h). */

#include "session/history.h"

#include <fcntl.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/trace.h"
#include "inspect/memory_owners.h"
#include "os/page_runs.h"
#include "log/log_totals.h"
#include "os/procfs.h"
#include "session/private.h"
#include "session/replay/session_replay.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define COST_TIMES	120u	/* an interval is at least so many times the cost of a sample */
#define SPARING_TIMES	1000u
#define SPARING_BYTES	(4u << 20)	/* of samples */
#define IDLE_NS		1000000000ull	/* the longest time between two calls of the poll */
#define ORIGIN_NS	10000000000ull	/* a log that is younger has an origin */

static uint64_t monotonic(void)
{
	return procfs_clock(CLOCK_MONOTONIC);
}

/* The time now, by the clock of the records. */
static uint64_t now_by_log(struct log *log)
{
	log_clock_update(log);
	return log_clock_realtime(log, log_now());
}

uint64_t session_history_now(struct session *session)
{
	return session->replay ? session_replay_now(session) : now_by_log(session_log(session));
}

static struct log *log_of(const struct session *session)
{
	return session_recorded(session) ? &session->region->log : NULL;
}

/* An error means that one sample is missing; the next one is tried as usual. */
static void note(struct err *err)
{
	if (err)
		trace_line("history: %s", err->msg);
}

/* The journal is whole at any moment, as mdbg may be killed at any. */
struct session_own session_history_own(const struct session *session)
{
	const struct target *target = session->current->target;
	AUTO_CLOSE int pagemap = target ? procfs_open(target->mem.tid, "pagemap", O_RDONLY) : -1;
	struct memory_owners owners = { .vec = VEC_INIT };
	struct page_runs pages = { VEC_INIT };
	struct session_own own = { 0, 0 };
	struct err *err = pagemap < 0 ? NULL : memory_owners_own(session->region, &owners);

	vec_each_while(owner, &owners.vec, !err) {
		own.mapped += owner->end - owner->start;
		page_runs_free(&pages);
		err = page_runs_add(pagemap, owner->start, owner->end, &pages);
		vec_each(run, &pages.vec)
			own.resident += run->swapped ? 0 : run->end - run->start;
	}
	page_runs_free(&pages);
	vec_free(&owners.vec);
	note(err);
	return own;
}

/*
 * The resident bytes of the process, without mdbg's; 0: not known. Its first thread may have ended
 * before it.
 */
static uint64_t resident(const struct session *session)
{
	pid_t pid = session->current->pid;
	struct proc_tasks tasks = { VEC_INIT };
	uint64_t rss = 0;

	if (procfs_rss(pid, &rss))
		return 0;
	if (!rss && procfs_tasks(pid, &tasks))
		return 0;
	for (size_t i = tasks.vec.nr; i-- > 0 && !rss;)
		if (procfs_rss(tasks.vec.at[i], &rss))
			rss = 0;
	vec_free(&tasks.vec);
	return rss ? rss - MIN(rss, session_history_own(session).resident) : 0;
}

static void bound(struct session *session)
{
	session->history.history.most_bytes = session->config.sparing ? SPARING_BYTES : HISTORY_BYTES;
}

/* Begin the history of a log that is new to this session. */
static void begin(struct session *session, struct log *log)
{
	struct log_history *is = &session->history;
	uint64_t now = now_by_log(log), start = log_clock_realtime(log, log_clock_begin(log));

	history_clear(&is->history);
	marks_free(&is->marks);
	*is = (struct log_history)LOG_HISTORY_INIT;
	bound(session);
	is->log_start = log_clock_begin(log);
	/* The target may have written any time stamp into the log. */
	if (start > now || now - start >= ORIGIN_NS)
		return;
	note(history_begin(&is->history, start, resident(session)));
	is->sampled_ns = monotonic() - (now - start);
}

/* Returns the history of this log. */
static struct log_history *current(struct session *session, struct log *log)
{
	if (session->history.log_start != log_clock_begin(log))
		begin(session, log);
	else if (session_armed(session))
		history_gap_end(&session->history.history, now_by_log(log));
	return &session->history;
}

const struct log_history *session_history(struct session *session)
{
	struct log *log = log_of(session);

	return log ? current(session, log) : NULL;
}

uint64_t session_history_interval(const struct session *session)
{
	uint64_t set = session->config.history_seconds * 1000000000ull;
	unsigned times = session->config.sparing ? SPARING_TIMES : COST_TIMES;

	return set ? MAX(set, times * session->history.cost_ns) : 0;
}

struct err *session_history_add(struct session *session, const struct moment *moment)
{
	struct log *log = log_of(session);
	struct log_history *is;

	if (!log || !session_armed(session))
		return NULL;
	is = current(session, log);
	is->sampled_ns = monotonic();
	return history_add(&is->history, moment, resident(session));
}

struct err *session_history_moment(struct session *session, struct moment *ret)
{
	struct log *log = log_of(session);
	struct in_hand in_hand = { VEC_INIT };
	struct err *err;

	if (session->replay)
		return session_replay_moment(session, session_replay_now(session), ret);
	session_deferred_fix(session);
	err = session_agent_in_hand(session, &in_hand);
	if (!err)
		err = moment_from_log(log, &in_hand, now_by_log(log), ret);
	session_deferred_release(session);
	vec_free(&in_hand.vec);
	if (session->config.sparing)
		region_release_pages(session->region);
	if (err)
		return err;
	err = session_history_add(session, ret);
	if (err)
		moment_free(ret);
	return err;
}

struct err *session_history_totals(struct session *session, struct moment *ret)
{
	struct log_totals totals;
	struct err *err;

	session_deferred_fix(session);
	err = session_agent_totals(session, &totals);
	session_deferred_release(session);
	if (err)
		return err;
	err = moment_take(&(struct live_counts){ .at = totals.at, .nr = totals.nr },
			  now_by_log(log_of(session)), ret);
	log_totals_free(&totals);
	return err;
}

struct err *session_history_unpack(struct session *session, const struct history_sample *sample,
				   struct moment *ret)
{
	return session->replay ? session_replay_moment(session, sample->time_ns, ret) :
				 moment_unpack(&sample->moment, sample->time_ns, ret);
}

static void sample(struct session *session)
{
	uint64_t before = procfs_clock(CLOCK_THREAD_CPUTIME_ID);
	struct moment moment = MOMENT_INIT;
	struct err *err = session_history_moment(session, &moment);

	note(err);
	session->history.sampled_ns = monotonic();
	session->history.cost_ns = MAX(procfs_clock(CLOCK_THREAD_CPUTIME_ID) - before, 1ull);
	if (!err)
		moment_free(&moment);
}

uint64_t session_history_poll(struct session *session)
{
	struct log *log = log_of(session);
	uint64_t interval = session_history_interval(session), spent;

	if (!log || !session_armed(session))
		peak_watch_stop(session);
	else
		peak_watch_start(session);
	if (!log || !session_armed(session) || !interval)
		return IDLE_NS;
	spent = monotonic() - current(session, log)->sampled_ns;
	if (spent >= interval) {
		sample(session);
		interval = session_history_interval(session);
		spent = 0;
	}
	/* Meanwhile the log may be reset, or the interval may be changed. */
	return MIN(interval - spent, IDLE_NS);
}

void session_history_spare(struct session *session, bool sparing)
{
	session->config.sparing = sparing;
	bound(session);
	/* Its thread has how it looks from its start. */
	peak_watch_stop(session);
	peak_watch_start(session);
}

const struct history_sample *session_history_growth(struct session *session, uint64_t now_ns)
{
	bool goes_on = session_armed(session) || session->replay;
	const struct log_history *is = goes_on ? session_history(session) : NULL;

	return is ? history_growth(&is->history, now_ns) : NULL;
}

struct err *session_history_mark(struct session *session, const char *name, const struct mark **ret)
{
	struct log_history *is = current(session, log_of(session));
	CLEANUP(moment_free) struct moment moment = MOMENT_INIT, totals = MOMENT_INIT;
	char made[MARK_NAME_MAX + 1];
	struct err *err;

	if (!name)
		marks_make_name(&is->marks, made);
	err = marks_check(&is->marks, name ? name : made);
	if (!err)
		err = session_history_totals(session, &totals);
	if (!err)
		err = session_history_moment(session, &moment);
	return err ? err : marks_add(&is->marks, name ? name : made, &moment, &totals, ret);
}

struct err *session_history_unmark(struct session *session, const char *name)
{
	return marks_remove(&current(session, log_of(session))->marks, name);
}

void session_history_pause(struct session *session, bool recorded)
{
	struct log *log = log_of(session);

	if (log)
		note(history_gap_begin(&current(session, log)->history, now_by_log(log), recorded));
}

void session_history_resume(struct session *session)
{
	struct log *log = log_of(session);

	if (log)
		(void)current(session, log);
}

void session_history_reset(struct session *session)
{
	struct log *log = log_of(session);
	struct marks marks = session->history.marks;

	session->history.marks = (struct marks)MARKS_INIT;
	marks_reset(&marks);
	if (log)
		begin(session, log);
	session->history.marks = marks;
	if (!session_armed(session))
		session_history_pause(session, false);
}

void session_history_free(struct session *session)
{
	history_clear(&session->history.history);
	marks_free(&session->history.marks);
}
