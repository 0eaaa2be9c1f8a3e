/* SPDX-License-Identifier: GPL-3.0-or-later */
/* interrupt and cont: the target is stopped for as long as the user wants. */

#include <signal.h>

#include "session/private.h"
#include "tracee/target.h"

static struct err *interrupt_job(struct session *session, void *arg UNUSED)
{
	struct process *process = session->current;
	bool was;
	struct err *err = session_pause(session, &was);

	if (err)
		return err;
	err = processes_stop(session);
	/*
	 * Wait until no thread is inside, so that lists are complete while the target is stopped.
	 * If a thread stays inside, the target is stopped all the same.
	 */
	if (!err && process->state == PROCESS_LIVE)
		err = session_agent_quiet(session);
	if (err && err->code == ERR_TIMEOUT)
		err = NULL;
	if (err || process_has_ended(process->state))
		session_pause_end(session, was && !process_has_ended(process->state));
	return err;
}

struct err *session_interrupt(struct session *session)
{
	struct err *err = session_need_target(session);

	if (!err)
		err = session_call(session, interrupt_job, NULL);
	if (!err)
		session->state = SESSION_STOPPED;
	return err;
}

static struct err *cont_job(struct session *session, void *arg)
{
	const int *signal = arg;

	if (*signal && kill(session->current->pid, *signal) < 0)
		return err_sys("send signal %d", *signal);
	death_let_die(session->current->target);
	session_pause_end(session, false);
	return NULL;
}

struct err *session_cont(struct session *session, int signal)
{
	struct err *err = session_need_target(session);

	if (!err)
		err = session_call(session, cont_job, &signal);
	if (!err) {
		session->state = SESSION_RUNNING;
		session->death.pid = 0;
	}
	return err;
}
