/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cleans forked children that nobody stopped when they were made, because the target was untraced
 * or an mdbg was killed. They run with their parent's jumps, which do nothing there, until they are
 * cleaned:
 *
 *	detach, malloc off	first, with the target traced but running, so that what it forks now
 *				is caught and what it has forked can be found; it stands still for none
 *				of this
 *	the target's end, exec	at once: a daemon's parent ends
 *	an attach that finds	before them, while their journal tells what the children have
 *	a previous session
 *
 * mdbg searches all of /proc until a search finds no new child: a child that is not cleaned yet may
 * fork. A process that cannot be traced is left as it is, with a warning. So is a process that has
 * the journal mapped but does not look like a forked copy (tracee/previous/forked_copies.h): it is examined
 * before it is stopped, and again when it is stopped. There is one warning for each.
 *
 * A function may have been probed at the fork, while its parent has no probe there any more (the
 * parent has unloaded the module). It is restored in the child as long as its entry in the journal
 * was not used again.
 */

#include <stdio.h>

#include "base/trace.h"
#include "session/private.h"
#include "tracee/previous/previous_session.h"
#include "tracee/region.h"
#include "tracee/target.h"

#define ROUNDS	16

static struct err *clean_stopped(struct target *target, void *origin)
{
	char left[256];
	struct err *err = previous_session_clean_copy(target, origin, left, sizeof(left));

	return err || !*left ? err : err_create(ERR_BUSY, "%s", left);
}

static bool is_among(const pid_t *pid, size_t nr, pid_t wanted)
{
	for (size_t i = 0; i < nr; i++)
		if (pid[i] == wanted)
			return true;
	return false;
}

/* Each process is named once, however often it is found. */
static bool is_first(struct session *session, pid_t pid)
{
	if (is_among(session->named.at, session->named.nr, pid))
		return false;
	if (vec_push(&session->named, pid))
		trace_line("no memory to note that process %d was named", pid);
	return true;
}

/* Nothing is done to a process, not even a stop, unless it looks like a copy from outside. */
static void clean(struct session *session, struct origin *origin, pid_t pid)
{
	struct err *err = forked_copy_check(pid, origin);

	if (!err)
		err = brief_attach(session, pid, clean_stopped, origin);
	if (!err || err->code == ERR_GONE || !is_first(session, pid))
		return;
	if (err->code == ERR_STATE)
		session_warn_f(session,
			       "process %d has the journal of process %d mapped, but is left as "
			       "it is: %.160s",
			       pid, origin->pid, err->msg);
	else
		session_warn_f(session,
			       "process %d, forked while it was not watched, keeps probes of ours, "
			       "which do nothing there: %.120s",
			       pid, err->msg);
}

/* The number of children that had not been seen before. */
static struct err *clean_round(struct session *session, struct origin *origin,
			       struct proc_tasks *known, size_t *nr_ret)
{
	struct proc_tasks found = { VEC_INIT };
	struct err *err = forked_copies_find(session->current->target, origin, &found);
	size_t nr = 0;

	for (size_t i = 0; i < found.vec.nr && !err; i++) {
		pid_t pid = found.vec.at[i];

		if (is_among(known->vec.at, known->vec.nr, pid))
			continue;
		nr++;
		err = vec_push(&known->vec, pid);
		/* It may share its memory with a process that was cleaned since. */
		if (!err && forked_copy_maps(pid, &origin->file))
			clean(session, origin, pid);
	}
	vec_free(&found.vec);
	*nr_ret = nr;
	return err;
}

void forked_copies_clean(struct session *session, struct origin *origin)
{
	struct proc_tasks known = { VEC_INIT };
	struct err *err = NULL;
	size_t nr = 1;

	for (unsigned i = 0; i < ROUNDS && nr && !err; i++)
		err = clean_round(session, origin, &known, &nr);
	if (err)
		session_warn(session, err->msg);
	vec_free(&known.vec);
}

void forked_copies_clean_own(struct session *session)
{
	struct process *process = session->current;
	struct region *region = process->target ? process->target->region : NULL;

	if (!region)
		return;
	if (process->state == PROCESS_LIVE &&
	    seize_retrace(process->target))	/* then it cannot be stopped either */
		return;
	forked_copies_clean(session, &region->origin);
}

static struct err *orphans_job(struct session *session, void *arg UNUSED)
{
	forked_copies_clean_own(session);
	return NULL;
}

void forked_copies_clean_orphans(struct session *session)
{
	err_ignore(session_call(session, orphans_job, NULL));	/* the job has no error */
}
