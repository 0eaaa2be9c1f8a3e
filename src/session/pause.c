/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stops the target, and lets it go on (theory in untraced.c). */

#include "os/tracer.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/sharers.h"
#include "tracee/target.h"

#define NEED_TRACER	(1u << SESSION_EVENT_THREAD | 1u << SESSION_EVENT_SIGNAL | \
			 1u << SESSION_EVENT_FORK | 1u << SESSION_EVENT_EXEC)

bool session_pause_at_death(const struct session *session)
{
	return session->config.hold_at_death || session->wanted >> SESSION_EVENT_DEATH & 1;
}

bool session_needs_tracer(const struct session *session)
{
	struct process *process = session->current;
	const struct session_config *config = &session->config;

	return session->pidfd < 0 || process->started || session->wanted & NEED_TRACER ||
	       config->follow_fork != SESSION_FOLLOW_PARENT || config->follow_exec ||
	       config->leaks_at_end || session_pause_at_death(session) || process_any_followed(session) ||
	       (process->probes && breakpoints_need_tracer(process->probes));
}

struct err *session_pause_sharers(struct session *session)
{
	struct target *target = session->current->target;
	struct err *err = sharers_hold(target);
	bool was;

	if (!err)
		return NULL;
	/* It may have been untraced before. */
	return keeping(err, if (!target_stop(target, &was)) session_pause_end(session, was));
}

/* Probes that are unsettled are put in or taken out before the target goes on. */
struct err *session_pause(struct session *session, bool *was_ret)
{
	struct process *process = session->current;
	struct err *err = NULL;

	if (process->probes && breakpoints_unsettled(process->probes))
		err = sharers_hold(process->target);
	return err ? err : target_stop(process->target, was_ret);
}

void session_pause_end(struct session *session, bool was)
{
	struct process *process = session->current;

	if (was)
		return;
	if (process->state == PROCESS_LIVE && !process->target->dying) {
		process_settle(process);
		if (session_needs_tracer(session))
			target_resume(process->target);
		else
			seize_untrace(process->target);
	}
	processes_resume(session);	/* children that were forked meanwhile */
}

struct err *session_pause_run(struct session *session,
			      struct err *(*fn)(struct session *session, bool stood, void *arg), void *arg,
			      uint64_t *pause_ret)
{
	struct target *target = session->current->target;
	uint64_t ran = target->ran_ns, begun, length;
	bool stood;
	struct err *err = session_pause(session, &stood);

	if (err)
		return err;
	begun = stood ? tracer_now() : target->stop_begun_ns;
	err = fn(session, stood, arg);
	ran = target->ran_ns - ran;
	session_pause_end(session, stood);
	length = tracer_now() - begun;
	length -= MIN(ran, length);
	if (pause_ret)
		*pause_ret = length;
	if (!stood)
		session->stood_ns = MAX(session->stood_ns, length);
	return err;
}

struct err *session_pause_change(struct session *session,
				 struct err *(*fn)(struct session *session, bool stood, void *arg),
				 void *arg)
{
	struct err *err = session_pause_sharers(session);

	return err ? err : session_pause_run(session, fn, arg, NULL);
}

struct held_request {
	struct err *(*fn)(struct session *session, bool stood, void *arg);
	void *arg;
	uint64_t *pause_ret;
};

static struct err *held_job(struct session *session, void *arg)
{
	const struct held_request *request = arg;

	return session_pause_run(session, request->fn, request->arg, request->pause_ret);
}

struct err *session_pause_call(struct session *session,
			       struct err *(*fn)(struct session *session, bool stood, void *arg),
			       void *arg, uint64_t *pause_ret)
{
	struct held_request request = { fn, arg, pause_ret };

	return session_call(session, held_job, &request);
}
