/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ends a snapshot (tracee/snapshot.h), whatever the target has done while the snapshot was
 * searched:
 *
 *	goes on		the child is killed while the target runs (to give back much memory takes
 *			seconds), and reaped in a stop. Where mdbg traces all the while, it is killed in
 *			that stop, as its end would be heard of at once
 *	has executed	another program: that is visited (session/brief_attach.c), as soon as it can make a
 *			call, that is, has mapped its libc; the child stays alive, or unheard of, until
 *			then
 *	has ended	its child is init's
 */

#include <stdio.h>

#include "os/tracer.h"
#include "session/private.h"
#include "tracee/snapshot.h"
#include "tracee/target.h"

/* how long to wait until a new program has mapped its libc */
#define VISITS_NS	2000000000ull
#define BETWEEN_NS	1000000

/* May the child be killed while the target runs? */
static struct err *look_job(struct session *session, void *arg)
{
	bool *ahead = arg;

	*ahead = session->current->state != PROCESS_LIVE ||
		 session->current->target->state == TARGET_UNTRACED;
	return NULL;
}

static struct err *reap_anew(struct target *target, void *snapshot)
{
	return snapshot_reap_anew(target, snapshot);
}

static bool has_ended(const struct session *session)
{
	const struct process *process = session->current;
	struct proc_stat stat;

	return procfs_stat(process->pid, &stat) || stat.start_time != process->target->start_time ||
	       stat.state == 'Z' || stat.state == 'X';
}

/* These errors may go away: the process executes once more, or its libc is not mapped yet. */
static bool is_passing(const struct err *err)
{
	return err->code == ERR_GONE || err->code == ERR_BUSY || err->code == ERR_UNSUPPORTED;
}

static struct err *brief_attach_until_done(struct session *session, struct snapshot *snapshot)
{
	static const struct timespec between = { .tv_nsec = BETWEEN_NS };
	uint64_t end = tracer_now() + VISITS_NS;
	struct err *err;

	/* The process is at its PTRACE_EVENT_EXEC, where it has no libc to make a call by. */
	if (session->current->state == PROCESS_HELD)
		return err_create(ERR_BUSY, "it is held for follow-exec");
	do {
		err = brief_attach(session, session->current->pid, reap_anew, snapshot);
		if (!err || !is_passing(err))
			return err;
		nanosleep(&between, NULL);
	} while (!has_ended(session) && tracer_now() < end);
	return err;
}

static struct err *end_in_new_program(struct session *session, struct snapshot *snapshot)
{
	struct err *err = NULL;

	if (!has_ended(session)) {
		err = brief_attach_until_done(session, snapshot);
		if (!err)
			return NULL;
	}
	snapshot_drop(session->tracer, snapshot);
	if (!err || has_ended(session))
		return NULL;
	return err_wrap(err,
			"process %d, which executed another program while a snapshot of it was "
			"searched, may have a child that it does not know",
			session->current->pid);
}

struct end {
	struct snapshot *snapshot;
	bool stopped;		/* the target could be stopped for it */
	uint64_t pause_ns;
};

static struct err *reap_held(struct session *session, bool stood UNUSED, void *arg)
{
	struct end *end = arg;

	end->stopped = true;
	return snapshot_reap(session->current->target, end->snapshot);
}

static struct err *end_job(struct session *session, void *arg)
{
	struct end *end = arg;
	struct err *err;

	if (session->current->state != PROCESS_LIVE)
		return end_in_new_program(session, end->snapshot);
	err = session_pause_run(session, reap_held, end, &end->pause_ns);
	if (!err || end->stopped)
		return err;
	if (err->code == ERR_GONE)
		return end_in_new_program(session, end->snapshot);
	snapshot_drop(session->tracer, end->snapshot);
	return err;
}

void session_snapshot_end(struct session *session, struct snapshot *snapshot, uint64_t *pause_ret)
{
	struct end end = { .snapshot = snapshot };
	bool ahead = false;
	struct err *err = session_call(session, look_job, &ahead);

	err_ignore(err);	/* the job has no error */
	if (ahead)
		snapshot_kill(snapshot);
	err = session_call(session, end_job, &end);
	if (err)
		session_warn(session, err->msg);
	*pause_ret = end.pause_ns;
}
