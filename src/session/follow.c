/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forked children: cleaned and let go, or followed (theory in process.h). */

#include <stdio.h>

#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/region.h"
#include "tracee/remote.h"

static void child_fork(void *ctx UNUSED, pid_t child UNUSED)
{
}

static void child_route(void *ctx UNUSED, pid_t tid UNUSED, int status UNUSED)
{
}

/* The child is a target only while it is cleaned; it does not run meanwhile. */
static const struct target_ops child_ops = {
	.fork_child	= child_fork,
	.route		= child_route,
};

static struct err *clean_child(struct process *process, pid_t pid)
{
	struct target *parent = process->target, *child;
	struct err *err = target_create(parent->tracer, pid, NULL, &child_ops, NULL, &child);

	if (err)
		return err;
	/* The child's text is a copy of its parent's. */
	child->modules.map = parent->modules.map;
	child->gadgets = parent->gadgets;
	err = seize_adopt(child, pid);
	if (!err && process->probes)
		err = probes_disarm_child(process->probes, child);
	seize_release(child);
	target_destroy(child);
	return err;
}

/* A region of the least size for the child's own journal; the rest of it is never touched. */
static struct err *make_region(struct process *process)
{
	struct log_config config = { .region_size = LOG_REGION_MIN, .stack_depth = 1 };
	struct err *err = calling(process->target, NULL, remote,
				  region_create(process->target, remote, &config, NULL,
						&process->region));

	return err ? err : region_format(process->region, &config);
}

static struct err *follow_start(struct process *process, const struct process *parent, pid_t pid)
{
	struct session *session = process->session;
	uint8_t number = (uint8_t)(process - session->process);
	struct err *err = target_create(session->tracer, pid, session->cache_dir,
					parent->target->ops, process, &process->target);
	struct modules *modules;

	if (err)
		return err;
	process->target->end = TARGET_END_SEEN;	/* leaks-at-end is only for the current process */
	modules = &process->target->modules;
	modules->generation = (uint32_t)number << PROCESS_GENERATION_SHIFT;
	err = seize_adopt(process->target, pid);
	if (!err)
		err = modules_refresh(modules, pid, &process->target->mem.bring, NULL);
	if (!err)
		err = make_region(process);
	if (!err)
		err = probes_clone(parent->probes, process->target, number, &process->probes);
	if (err)
		return err;
	/* Now that it has its own journal, it does not need its parent's any more. */
	return calling(process->target, NULL, remote,
		       region_withdraw_forked_copy(parent->target->region, remote));
}

/*
 * Is the current process being stopped, so that a child that is made meanwhile must wait for
 * session_pause_end?
 */
static bool is_held(const struct session *session)
{
	return target_holds(session->current->target) && session->current->state == PROCESS_LIVE;
}

static void not_followed(struct process *process, pid_t pid, const struct err *err)
{
	session_warn_f(process->session, "child process %d is not followed: %.160s", pid, err->msg);
	if (process->region)
		err_ignore(process_withdraw(process));
	if (process->target)
		thread_forget(process->target);
	process_free(process);
}

/* False: it could not be followed, and must still be cleaned. */
static bool follow(const struct process *parent, pid_t pid)
{
	struct session *session = parent->session;
	struct process *process = &session->process[session->nr_processes],
		       none = { .session = session };
	struct err *err;

	if (session->nr_processes >= LOG_PROCESSES) {
		not_followed(&none, pid, err_create(ERR_RANGE, "%d processes are followed already",
						    LOG_PROCESSES - 1));
		return false;
	}
	*process = (struct process){ .session = session, .pid = pid, .state = PROCESS_LIVE };
	err = follow_start(process, parent, pid);
	if (err) {
		not_followed(process, pid, err);
		return false;
	}
	session->pids[session->nr_processes++] = pid;
	if (!is_held(session))
		target_resume(process->target);
	return true;
}

/*
 * With `child` the first child takes its parent's place; children that the parent forks before that
 * happens are released.
 */
static bool wanted(const struct process *parent)
{
	const struct session *session = parent->session;

	if (!parent->probes || !parent->probes->armed)
		return false;
	return session->config.follow_fork == SESSION_FOLLOW_BOTH ||
	       (session->config.follow_fork == SESSION_FOLLOW_CHILD &&
		!process_any_followed(session));
}

void follow_fork_child(void *ctx, pid_t pid)
{
	struct process *parent = ctx;
	struct session *session = parent->session;
	struct err *err = NULL;

	/*
	 * A child with the changes of two mdbgs is cleaned before those of the earlier one are
	 * forgotten (handover.c).
	 */
	if (session->old_maps.nr) {
		session->uncaught = true;
		err_ignore(tracer_detach(pid, 0));
	} else if (!wanted(parent) || !follow(parent, pid)) {
		err = clean_child(parent, pid);
	}
	if (err && err->code != ERR_GONE) {
		session_warn_f(session, "child process %d keeps probes of ours: %.160s", pid,
			       err->msg);
		err_ignore(tracer_detach(pid, 0));
	}
	session_push(session, .kind = SESSION_EVENT_FORK, .pid = pid);
}
