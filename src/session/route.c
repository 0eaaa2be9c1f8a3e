/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Handles the wait statuses of the tracer thread: finds the process that each belongs to, and
 * reports an exec or an end.
 */

#include <sys/wait.h>

#include "base/cleanup.h"
#include "growth/faults.h"
#include "os/tracer.h"
#include "probe/probe.h"
#include "session/deferred.h"
#include "session/private.h"
#include "tracee/target.h"

/* It was to be held, and was not. */
static void warn_of_death(struct session *session, int status)
{
	if (session_pause_at_death(session) && !session->held_death && WIFSIGNALED(status) &&
	    death_is_by(WTERMSIG(status)))
		session_warn_f(session, "process %d was not held before its death: the kernel has "
			       "reported that to no tracer (seccomp, or no room for the frame of a "
			       "handler), or it could not be held", session->current->pid);
}

void route_ended(void *ctx, int status, bool known)
{
	struct process *process = ctx;
	struct session *session = process->session;

	process->status = status;
	process->status_known = known;
	process->state = process_has_execed(process->state) ? PROCESS_GONE : PROCESS_ENDED;
	if (process != session->current)
		return;
	deferred_end(session);
	if (known)
		warn_of_death(session, status);
	processes_resume(session);	/* nobody else would let them run */
	session_push(session, .kind = SESSION_EVENT_EXIT, .pid = process->pid, .status = status);
}

/* The memory is gone, and with it everything of ours. */
void route_execed(struct session *session, pid_t tid, enum process_state state)
{
	struct process *process = session->current;
	struct session_event event = { .kind = SESSION_EVENT_EXEC, .pid = process->pid };
	AUTO_FREE char *exe = NULL;

	err_ignore(procfs_link(tid, "exe", &exe));	/* on failure the text stays empty */
	snprintf(event.text, sizeof(event.text), "%s", exe ? exe : "");
	process->state = state;
	deferred_end(session);
	if (session->faults)
		faults_end(session->faults);
	thread_forget(process->target);
	event_queue_push(session, &event);
}

void route_status(struct session *session, pid_t tid, int status)
{
	struct process *current = session->current;
	struct target *target = process_owner(session, tid);

	if (target && thread_dispatch(target, tid, status))
		return;
	/*
	 * A thread that could not be released earlier (a vfork parent), or whose end we only wait
	 * for.
	 */
	if (WIFSTOPPED(status))
		err_ignore(tracer_detach(tid, status >> 16 ? 0 : WSTOPSIG(status)));
	else if (process_has_execed(current->state) && tid == current->pid && current->started)
		route_ended(current, status, true);
}

/*
 * If several threads have stopped, the kernel always reports the same one first. A thread that
 * stops again at once then makes all others wait (with eight threads, two were served and six stood
 * still for seconds; with two of them, where the first has a real-time priority, the second stood
 * still until the detach). So now and then each thread is asked for by its id.
 */
static void each_in_turn(struct session *session)
{
	struct process *process = session->current;
	unsigned threads = (unsigned)map_count(&process->target->threads);
	struct thread *thread;
	int status;

	if (threads < 2 || ++session->since_turns < MAX(threads, 16u))
		return;
	session->since_turns = 0;
	session->turns.nr = 0;
	/* Without memory for the list, a thread is served when the kernel reports it. */
	for_each_thread(thread, process->target)
		if (!thread_is_stopped(thread))
			err_ignore(vec_push(&session->turns, thread->tid));
	for (size_t i = 0; i < session->turns.nr && process->state == PROCESS_LIVE; i++)
		if (tracer_poll(session->turns.at[i], &status))
			route_status(session, session->turns.at[i], status);
}

void route_stopped(void *ctx, pid_t tid, int status)
{
	struct session *session = ctx;
	struct process *process = session->current;
	bool was;

	route_status(session, tid, status);
	/*
	 * This waits for the other threads, looks, and lets all of them end; its error only says
	 * that the target has ended.
	 */
	if (process->target && process->target->end == TARGET_END_HELD)
		err_ignore(target_stop(process->target, NULL));
	/* If this fails, the threads that are held before the death stay so, and others run on. */
	if (process->state == PROCESS_LIVE && process->target->dying)
		err_ignore(target_stop(process->target, NULL));
	if (process->target)
		each_in_turn(session);
	if (process->probes && breakpoints_unsettled(process->probes) &&
	    !session_pause(session, &was))
		session_pause_end(session, was);
	processes_settle(session);
}
