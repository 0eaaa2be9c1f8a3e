/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The statuses that the tracer thread gets: the process that each belongs to, an exec, an end. */

#include <sys/wait.h>

#include "base/cleanup.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/deferred.h"
#include "session/private.h"
#include "tracee/target.h"

void session_ended(void *ctx, int status, bool known)
{
	struct process *process = ctx;
	struct session *session = process->session;

	process->status = status;
	process->status_known = known;
	process->state = process_has_execed(process->state) ? PROCESS_GONE : PROCESS_ENDED;
	if (process != session->current)
		return;
	deferred_end(session);
	processes_resume(session);	/* nobody could continue them any more */
	session_push(session, .kind = SESSION_EVENT_EXIT, .pid = process->pid, .status = status);
}

/* The memory, and with it all of ours, is gone. */
void session_execed(struct session *session, pid_t tid, enum process_state state)
{
	struct process *process = session->current;
	struct session_event event = { .kind = SESSION_EVENT_EXEC, .pid = process->pid };
	AUTO_FREE char *exe = NULL;

	err_ignore(procfs_link(tid, "exe", &exe));	/* the text stays empty */
	snprintf(event.text, sizeof(event.text), "%s", exe ? exe : "");
	process->state = state;
	deferred_end(session);
	target_forget(process->target);
	session_push_event(session, &event);
}

void session_route(struct session *session, pid_t tid, int status)
{
	struct process *current = session->current;
	struct target *target = process_owner(session, tid);

	if (target && target_dispatch(target, tid, status))
		return;
	/* Somebody who could not be let go earlier (a vfork parent), or whom we only wait for. */
	if (WIFSTOPPED(status))
		err_ignore(tracer_detach(tid, status >> 16 ? 0 : WSTOPSIG(status)));
	else if (process_has_execed(current->state) && tid == current->pid && current->started)
		session_ended(current, status, true);
}

/*
 * Where several threads have stopped the kernel reports the same one first each time: one that stops
 * again at once has all others wait (with eight threads, two were served and six stood still for
 * seconds). So now and then each is asked for.
 */
static void each_in_turn(struct session *session)
{
	struct process *process = session->current;
	unsigned threads = (unsigned)map_count(&process->target->threads);
	struct thread *thread;
	int status;

	if (threads < 3 || ++session->since_turns < MAX(threads, 16u))
		return;
	session->since_turns = 0;
	session->turns.nr = 0;
	/* Without memory it has its turn when the kernel gives it. */
	for_each_thread(thread, process->target)
		if (!thread_is_stopped(thread))
			err_ignore(vec_push(&session->turns, thread->tid));
	for (size_t i = 0; i < session->turns.nr && process->state == PROCESS_LIVE; i++)
		if (tracer_poll(session->turns.at[i], &status))
			session_route(session, session->turns.at[i], status);
}

void session_stopped(void *ctx, pid_t tid, int status)
{
	struct session *session = ctx;
	struct process *process = session->current;
	bool was;

	session_route(session, tid, status);
	/* To wait for the others, to look, and to let them end: the error says that it has. */
	if (process->target && process->target->end == TARGET_END_HELD)
		err_ignore(target_stop(process->target, NULL));
	if (process->target)
		each_in_turn(session);
	if (process->probes && probes_unsettled(process->probes) && !session_pause(session, &was))
		session_resume(session, was);
	processes_settle(session);
}
