/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attach and run (arm_target.c has the order of the steps). */

#include <elf.h>
#include <sys/wait.h>

#include "base/trace.h"
#include "os/oom_score.h"
#include "os/procfs.h"
#include "os/tracer.h"
#include "session/private.h"
#include "tracee/previous/previous_session.h"
#include "tracee/refuse.h"
#include "tracee/region.h"
#include "tracee/sharers.h"
#include "tracee/start.h"
#include "tracee/target.h"

/*
 * A process that a shell has just begun is a copy of the shell, and then a program whose libraries
 * are not mapped yet. An attach that fails because of that is tried again, for so long in all.
 */
#define BEGINS_NS 1000000000
#define FIRST_NAP_NS 2000000

/* The attach has failed: take everything out again. */
static void take_back(struct session *session)
{
	struct err *err;
	bool left;

	if (session->current->state == PROCESS_LIVE && !release_stop(session->current->target)) {
		handover_take_text(session);
		err = arm_target_undo(session, &left);
		if (err)
			trace_line("back out: %s", err->msg);
		release_target(session);
	}
}

/* The target is seized: from here on an error must undo that. */
static struct err *attach_seized(struct session *session)
{
	const struct session_config *config = &session->config;
	struct err *err = NULL;

	if (previous_session_exists(session->current->target)) {
		err = sharers_hold(session->current->target);
		if (!err)
			err = handover_take_over(session);
	}
	/* The plan also says which heaps can be walked. */
	if (!err)
		err = arm_target_plan(session);
	/* No allocator: all that needs none still works. */
	if (err && err->code == ERR_NOTFOUND && !config->arm)
		err = NULL;
	if (!err && config->arm)
		err = arm_target_prepare(session);
	if (!err && !config->arm && !session->region) {
		session->records = RECORDS_LACK;
		err = region_create_empty(NULL, &session->region);
	}
	if (!err && config->arm)
		err = sharers_hold(session->current->target);
	if (!err)
		err = target_stop(session->current->target, NULL);
	if (!err && config->arm)
		err = arm_target_put_in(session);
	if (err) {
		err = keeping(err, take_back(session));
		/* That is the reason of whatever has failed. */
		return !process_has_execed(session->current->state) ? err :
			err_hint(err_create(ERR_GONE, "it has begun to run another program"),
				 "try again");
	}
	if (!config->stop)
		session_pause_end(session, false);
	if (config->arm)
		blind_begin(session);
	if (session->region)
		log_clock_update(&session->region->log);
	return NULL;
}

static struct err *seize(struct session *session)
{
	struct process *process = session->current;
	struct err *err = target_create(session->tracer, process->pid, session->cache_dir,
					&watch_ops, process, &process->target);

	if (err)
		return err;
	if (session->config.started && session->config.started != process->target->start_time)
		return err_create(ERR_GONE, "process %d has ended, and another one has its id",
				  process->pid);
	/* Nothing was done to the target so far. */
	process->target->modules.cancellable = true;
	err = target_refresh(process->target, NULL);
	process->target->modules.cancellable = false;
	if (!err)
		err = untraced_begin(session);
	return err ? err : seize_all(process->target);
}

static struct err *attach_job(struct session *session, void *arg UNUSED)
{
	struct process *process = session->current;
	struct err *err;

	process->state = PROCESS_LIVE;
	session->pids[0] = process->pid;
	err = seize(session);
	if (err)
		return err->code == ERR_PERM ? refuse_explain(process->pid, err->errnum) : err;
	sharers_begin(process->target);
	return attach_seized(session);
}

static struct err *attach_once(struct session *session, pid_t pid)
{
	struct err *err = refuse_check(pid);

	if (!err)
		err = release_call_forget(session);
	if (err)
		return err;
	session->current->pid = pid;
	session->current->started = false;
	session->state = SESSION_NONE;
	err = session_call(session, attach_job, NULL);
	if (err) {
		err = release_give_up(session, err);
		session->current->pid = 0;
	}
	return err;
}

/* Is this an error that a process gives in its first moments? */
static bool may_have_begun(const struct err *err, pid_t pid)
{
	uint64_t loader = 0;

	if (err->code == ERR_NOTFOUND || err->code == ERR_UNSUPPORTED)
		err_ignore(procfs_auxv(pid, AT_BASE, &loader));	/* without a loader, all is there */
	return loader || err->code == ERR_GONE;
}

struct err *session_attach(struct session *session, pid_t pid)
{
	struct err *err = session_need_none(session);
	struct timespec nap = { .tv_nsec = FIRST_NAP_NS };
	uint64_t end = tracer_now() + BEGINS_NS;

	if (err)
		return err;
	oom_score_offer();
	err = attach_once(session, pid);
	while (err && may_have_begun(err, pid) && tracer_now() + nap.tv_nsec < end) {
		nanosleep(&nap, NULL);
		nap.tv_nsec *= 2;
		err = attach_once(session, pid);
	}
	if (err) {
		return err->code == ERR_ATTACH ? err :
			err_recode(err_wrap(err, "cannot attach to process %d", pid), ERR_ATTACH);
	}
	session->state = session->config.stop ? SESSION_STOPPED : SESSION_RUNNING;
	peak_watch_start(session);
	return session_symbols_sync(session);
}

/* The program could not be watched: release it, whether it is stopped or runs. */
static void let_go_of(struct session *session, pid_t pid)
{
	int status;

	if (session->current->target)
		thread_forget(session->current->target);
	if (!tracer_detach(pid, 0) || tracer_interrupt(pid) ||
	    tracer_wait_for(pid, tracer_now() + TARGET_TIMEOUT_NS, &status) || !WIFSTOPPED(status))
		return;
	/* fails only if it was killed */
	err_ignore(tracer_detach(pid, status >> 16 ? 0 : WSTOPSIG(status)));
}

struct err *attach_from_exec(struct session *session, pid_t pid)
{
	struct err *err;
	int status;

	oom_score_offer();	/* the program has its own already */
	session->current->state = PROCESS_LIVE;
	err = target_create(session->tracer, pid, session->cache_dir, &watch_ops,
			    session->current,
			    &session->current->target);
	if (!err)
		err = seize_adopt(session->current->target, pid);
	if (!err)
		err = start_to_loaded(session->current->target, &status);
	if (!err)
		err = target_refresh(session->current->target, NULL);
	if (!err)
		err = untraced_begin(session);
	if (err) {
		err = keeping(err, let_go_of(session, pid));
		if (session->current->state == PROCESS_LIVE)
			session->current->state = PROCESS_LEFT;
		return err;
	}
	return attach_seized(session);
}

static struct err *run_job(struct session *session, void *spec)
{
	struct err *err = start_program(session->tracer, spec, &session->current->pid);

	/* Events may come before the main thread gets the result of this call. */
	session->current->started = true;
	session->pids[0] = session->current->pid;
	return err ? err : attach_from_exec(session, session->current->pid);
}

struct err *session_attach_program(struct session *session, char *const *argv, bool keep_stdin,
				   bool own_group)
{
	struct start_spec spec = { .argv = argv, .keep_stdin = keep_stdin, .own_group = own_group };
	struct err *err = session_need_none(session);

	if (!err)
		err = refuse_check_proc();
	if (!err)
		err = release_call_forget(session);
	if (!err)
		err = session_call(session, run_job, &spec);
	if (err)
		return err;
	session->state = session->config.stop ? SESSION_STOPPED : SESSION_RUNNING;
	peak_watch_start(session);
	return session_symbols_sync(session);
}
