/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The next event for the main thread, and its reaction to an end, an exec or a fork. */

#include "session/private.h"

void next_event_note_end(struct session *session)
{
	session->state = SESSION_ENDED;
	forked_copies_clean_orphans(session);
}

/* follow-exec: the thread is held at its PTRACE_EVENT_EXEC. */
static struct err *follow_exec_job(struct session *session, void *arg UNUSED)
{
	session->current->state = PROCESS_NONE;	/* so that it stays held */
	release_forget_last(session);
	return attach_from_exec(session, session->current->pid);
}

static void note_exec(struct session *session)
{
	struct err *err;

	forked_copies_clean_orphans(session);
	if (session->current->state != PROCESS_HELD)
		return;
	err = session_call(session, follow_exec_job, NULL);
	session->state = err ? SESSION_ENDED :
			 session->config.stop ? SESSION_STOPPED : SESSION_RUNNING;
	if (!err)
		err = session_symbols_sync(session);
	if (err)
		session_warn(session, err->msg);
}

static struct process *find(struct session *session, pid_t pid)
{
	for_each_process(process, session)
		if (process->pid == pid && process->state == PROCESS_LIVE)
			return process;
	return NULL;
}

/* follow-fork child: the child takes the place of its parent, which is released. */
static struct err *switch_job(struct session *session, void *pid)
{
	struct process *child = find(session, *(pid_t *)pid);
	struct err *err;

	if (!child || child == session->current)
		return NULL;
	err = release_parent(session);
	if (err)
		return err;
	process_take_place(child);
	err = untraced_begin(session);
	session_pause_end(session, session->state == SESSION_STOPPED);
	return err;
}

static void note_fork(struct session *session, pid_t child)
{
	struct err *err;

	if (session->config.follow_fork != SESSION_FOLLOW_CHILD || session->state == SESSION_NONE)
		return;
	err = session_call(session, switch_job, &child);
	if (err)
		session_warn(session, err->msg);
	/* The end of its parent may have been reported before. */
	if (session->current->pid == child && session->state == SESSION_ENDED)
		session->state = SESSION_RUNNING;
}

/* This is the end of a parent whose place a child has taken. */
static bool is_of_another(const struct session *session, const struct session_event *event)
{
	return (event->kind == SESSION_EVENT_EXIT || event->kind == SESSION_EVENT_EXEC) &&
		event->pid != session->current->pid;
}

/* It is one of several threads that died at once, or the process is held no more. */
static bool is_old_death(struct session *session, const struct session_event *event)
{
	struct session_event death;

	if (event->kind != SESSION_EVENT_DEATH || session_dying(session, &death))
		return event->kind == SESSION_EVENT_DEATH;
	session->death = *event;
	return !session_dying(session, &death);
}

bool session_next_event(struct session *session, struct session_event *ret)
{
	do
		if (!event_queue_pop(session, ret))
			return false;
	while (is_of_another(session, ret) || is_old_death(session, ret));
	if (ret->kind == SESSION_EVENT_EXIT)
		next_event_note_end(session);
	if (ret->kind == SESSION_EVENT_DEATH)
		session->state = SESSION_STOPPED;
	if (ret->kind == SESSION_EVENT_EXEC)
		note_exec(session);
	if (ret->kind == SESSION_EVENT_FORK)
		note_fork(session, ret->pid);
	return true;
}
