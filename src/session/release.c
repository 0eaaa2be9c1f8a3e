/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Releases a target (detach, handover, kill), and forgets it (arm_target.c has the order of the
 * steps).
 */

#include <errno.h>

#include "os/pidfd.h"
#include "os/tracer.h"
#include "session/private.h"
#include "session/replay/session_replay.h"
#include "symbol/symbol.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "type/types.h"

#define BETWEEN_NS	200000000ull	/* the target runs so long before the next stop */

void release_forget(struct session *session)
{
	peak_watch_stop(session);
	untraced_forget(session);
	processes_forget(session);
	user_functions_free(&session->users);
	region_free(session->region);
	session->region = NULL;
	session_refs_free(&session->refs);
	types_destroy(session->types);
	session->types = NULL;
	session_replay_free(session->replay);
	session->replay = NULL;
	symbols_destroy(session->symbols);
	v8_code_forget(&session->v8);
	session->symbols = NULL;
	session->known_generation = 0;
	map_free(&session->entry_names, free);
	session->entry_names = (struct map)MAP_INIT;
	session->allocators = (struct session_allocators){ .nr = 0 };
	session->runtimes = (struct session_runtimes){ .pid = 0 };
	vec_free(&session->old_text);
	vec_free(&session->old_maps);
	vec_free(&session->named);
	session_growth_free(&session->growth);
	free(session->core_path);
	session->core_path = NULL;
	session->floor = 0;
	session->uncaught = false;
	session->records = RECORDS_WHOLE;
	session->told = 0;
	session->blind = (struct blind){ .known = false };
	session->room = (struct room){ .log = 0 };
	log_budget_close(session);
	session_leaks_forget_end(session);
	session->death.pid = 0;
	session->held_death = false;
}

void release_target(struct session *session)
{
	seize_release(session->current->target);
	if (session->current->state == PROCESS_LIVE)
		session->current->state = PROCESS_LEFT;
}

void release_held(struct session *session)
{
	if (session->current->state != PROCESS_HELD)
		return;
	err_ignore(tracer_detach(session->current->pid, 0));	/* fails only if it was killed */
	session->current->state = PROCESS_EXECED;
}

void release_forget_last(struct session *session)
{
	struct err *err = processes_undo(session);

	if (err)
		session_warn(session, err->msg);
	release_held(session);
	untraced_end(session);
	release_forget(session);
	session->traces_exits = session->config.leaks_at_end;
	ptrace_trace_exits(session->tracer, session->traces_exits);
}

static struct err *forget_job(struct session *session, void *arg UNUSED)
{
	release_forget_last(session);
	return NULL;
}

struct err *release_call_forget(struct session *session)
{
	return session_call(session, forget_job, NULL);
}

struct err *release_give_up(struct session *session, struct err *err)
{
	return keeping(err, err_ignore(release_call_forget(session)));
}

struct err *release_stop(struct target *target)
{
	uint64_t end = tracer_now() + (target->region ? TARGET_TIMEOUT_NS : 0);
	struct err *err = target_stop(target, NULL);

	while (err && err->code == ERR_BUSY && tracer_now() < end) {
		stop_attend(target, BETWEEN_NS);
		err = target_stop(target, NULL);
	}
	return err;
}

/*
 * Take everything out of the current process, if it lives, and release it. If something cannot be
 * taken out, the error says so, and the process is released all the same only if `anyway`.
 */
static struct err *leave_current(struct session *session, bool anyway)
{
	struct err *err;
	bool left;

	if (session->current->state != PROCESS_LIVE)
		return NULL;
	forked_copies_clean_own(session);
	err = session_pause_sharers(session);
	if (!err)
		err = release_stop(session->current->target);
	if (err)
		return err;
	err = arm_target_undo(session, &left);
	if (err && (err->code == ERR_GONE || !anyway))
		return err;
	/* What stays in a process that is about to die stays for a moment. */
	if (left && !session->current->target->dying)
		session_warn_left(session, session->current);
	release_target(session);
	return err;
}

/* A daemon starts in this way: its parent may be gone already. */
struct err *release_parent(struct session *session)
{
	struct err *err;

	release_held(session);
	err = leave_current(session, false);
	if (!err || err->code != ERR_GONE)
		return err;
	release_target(session);
	return NULL;
}

/* Followed children come last: until the current process is released it may fork more of them. */
static struct err *detach_job(struct session *session, void *arg UNUSED)
{
	struct err *err = leave_current(session, true);

	release_held(session);
	if (!err || err->code == ERR_GONE)
		return processes_undo(session);
	return keeping(err, err_ignore(processes_undo(session)));
}

static struct err *keep_job(struct session *session, void *arg UNUSED)
{
	bool again = region_opens_again(session->current->target);
	struct err *err = handover_leave(session);

	if (!err && !again)
		session_warn_hint(session, "root's mdbg can, or one with that capability",
				  "an mdbg of this user cannot go on with the log: to open it takes "
				  "CAP_CHECKPOINT_RESTORE; it will begin a new one, and what was recorded "
				  "will be lost");
	return err;
}

struct err *session_keep(struct session *session)
{
	struct err *err = session_need_target(session);

	if (err)
		return err;
	err_ignore(session_symbols_sync(session));	/* names of modules that were loaded last */
	err = session_call(session, keep_job, NULL);
	if (err)
		return err;
	peak_watch_stop(session);
	session_history_pause(session, true);
	session->state = SESSION_NONE;
	return NULL;
}

struct err *session_detach(struct session *session)
{
	struct err *err = NULL;

	/* There is nothing to take out of a file. */
	if (session->state == SESSION_CORE || session->state == SESSION_REPLAY) {
		session->state = SESSION_NONE;
		session->current->pid = 0;
		return release_call_forget(session);
	}
	/*
	 * After an exec only followed children, if there are any, have something of ours in them.
	 */
	if (!process_has_execed(session->current->state) && !process_any_followed(session))
		err = session_need_target(session);
	if (err)
		return err;
	if (!process_has_execed(session->current->state))
		/* names of modules that were loaded last */
		err_ignore(session_symbols_sync(session));
	err = session_call(session, detach_job, NULL);
	/*
	 * If another tracer holds the process, nothing has changed, and everything can be taken out
	 * when that tracer has left.
	 */
	if (!err || err->code != ERR_ATTACH)
		session->state = session->current->state == PROCESS_ENDED ? SESSION_ENDED :
									    SESSION_NONE;
	return err ? err_wrap(err, "detach process %d", session->current->pid) : NULL;
}

/*
 * While nobody traces the process its id may go to another one. The descriptor lives as long as the
 * session has its target, and this thread decides how long that is.
 */
static struct err *send_kill(const struct session *session)
{
	struct err *err;

	if (session->pidfd < 0)
		return kill(session->current->pid, SIGKILL) < 0 && errno != ESRCH ?
			err_sys("kill process %d", session->current->pid) : NULL;
	err = pidfd_kill(session->pidfd, SIGKILL);
	if (!err || err->code == ERR_GONE)
		return NULL;
	return err_wrap(err, "kill process %d", session->current->pid);
}

/* SIGKILL needs no stop; the end is then noticed as any other end. */
struct err *session_kill(struct session *session)
{
	struct err *err = session_need_target(session);
	uint64_t deadline = tracer_now() + TARGET_TIMEOUT_NS;

	if (err)
		return err;
	err = send_kill(session);
	if (err)
		return err;
	while (!process_has_ended(session->current->state)) {
		struct timespec nap = { .tv_nsec = 1000000 };

		if (tracer_now() > deadline)
			return err_create(ERR_TIMEOUT, "process %d does not end",
					  session->current->pid);
		nanosleep(&nap, NULL);
	}
	return NULL;
}
