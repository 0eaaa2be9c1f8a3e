/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forked children that keep probes: cleaned (theory in children.h). */

#include "session/children.h"

#include <stdio.h>

#include "os/procfs.h"
#include "os/tracer.h"
#include "session/private.h"
#include "target/inherited.h"
#include "target/leftover.h"
#include "target/region.h"
#include "target/target.h"

#define ROUNDS	16

/* A child lives as a target only while it is cleaned. */
struct child {
	struct session *session;
	struct target *target;
	bool gone;
};

static bool on_trap(void *ctx UNUSED, struct thread *thread UNUSED)
{
	return false;
}

static bool on_is_trap(void *ctx UNUSED, uint64_t pc UNUSED)
{
	return false;
}

static void on_thread(void *ctx UNUSED, struct thread *thread UNUSED)
{
}

static void on_signal(void *ctx UNUSED, struct thread *thread UNUSED, int signal UNUSED)
{
}

/* The next round finds it. */
static void on_fork_child(void *ctx UNUSED, pid_t pid)
{
	err_ignore(tracer_detach(pid, 0));	/* fails only if it was killed */
}

static void on_exec(void *ctx, struct thread *thread)
{
	struct child *child = ctx;

	child->gone = true;
	err_ignore(tracer_detach(thread->tid, 0));
	target_forget(child->target);
}

static void on_ended(void *ctx, int status UNUSED, bool known UNUSED)
{
	struct child *child = ctx;

	child->gone = true;
}

static bool is_of(const struct target *target, pid_t tid)
{
	struct proc_status status;

	if (target_thread(target, tid) || target_expects(target, tid))
		return true;
	return !procfs_status(tid, &status) &&
	       (status.tgid == target->pid || status.ppid == target->pid);
}

static void on_route(void *ctx, pid_t tid, int status)
{
	struct child *child = ctx;

	if (!is_of(child->target, tid) || !target_dispatch(child->target, tid, status))
		session_route(child->session, tid, status);
}

static const struct target_ops child_ops = {
	.trap		= on_trap,
	.is_trap	= on_is_trap,
	.thread_new	= on_thread,
	.thread_gone	= on_thread,
	.fork_child	= on_fork_child,
	.route		= on_route,
	.exec		= on_exec,
	.signal		= on_signal,
	.ended		= on_ended,
};

/* Seized by nobody yet. */
static struct err *clean_target(struct child *child)
{
	struct target *target = child->target;
	struct err *err = target_refresh(target, NULL);
	char left[256];
	bool found;

	if (!err)
		err = target_seize_all(target);
	if (!err)
		err = target_stop(target, NULL);
	if (err)
		return err;
	err = leftover_clean(target, &found, left, sizeof(left));
	if (!err && *left)
		err = err_create(ERR_STATE, "%s", left);
	target_release(target);
	return child->gone ? NULL : err;
}

static void clean(struct session *session, pid_t pid)
{
	struct child child = { .session = session };
	struct err *err = target_create(session->tracer, pid, session->cache_dir, &child_ops,
					&child, &child.target);
	char text[256];

	if (!err)
		err = clean_target(&child);
	if (err && err->code != ERR_GONE) {
		snprintf(text, sizeof(text), "process %d, forked while it was not watched, keeps "
			 "probes of ours, which do nothing there: %.120s", pid, err->msg);
		session_warn(session, text);
	}
	if (child.target)
		target_destroy(child.target);
}

static bool is_known(const struct inherited *known, pid_t pid)
{
	for (size_t i = 0; i < known->vec.nr; i++)
		if (known->vec.at[i] == pid)
			return true;
	return false;
}

/* How many were found that had not been seen before. */
static struct err *clean_round(struct session *session, uint64_t file, struct inherited *known,
			       size_t *nr_ret)
{
	struct inherited found = { VEC_INIT };
	struct err *err = inherited_find(session->target, file, &found);
	size_t nr = 0;

	for (size_t i = 0; i < found.vec.nr && !err; i++) {
		pid_t pid = found.vec.at[i];

		if (is_known(known, pid))
			continue;
		nr++;
		err = vec_push(&known->vec, pid);
		/* It may have shared its memory with one that was cleaned since. */
		if (!err && inherited_by(pid, file))
			clean(session, pid);
	}
	vec_free(&found.vec);
	*nr_ret = nr;
	return err;
}

void children_clean(struct session *session, uint64_t file)
{
	struct inherited known = { VEC_INIT };
	struct err *err = NULL;
	size_t nr = file ? 1 : 0;

	for (unsigned i = 0; i < ROUNDS && nr && !err; i++)
		err = clean_round(session, file, &known, &nr);
	if (err)
		session_warn(session, err->msg);
	vec_free(&known.vec);
}

void children_clean_own(struct session *session)
{
	const struct region *region = session->target ? session->target->region : NULL;

	if (!region)
		return;
	if (!session->ended && !session->execed &&
	    target_hands_on(session->target))	/* then it can be stopped neither */
		return;
	children_clean(session, inherited_file(region));
}

static struct err *orphans_job(void *session)
{
	children_clean_own(session);
	return NULL;
}

void children_clean_orphans(struct session *session)
{
	err_ignore(session_call(session, orphans_job, session));	/* the job has no error */
}
