/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stopping the target, and letting it go on (theory in hands.h). */

#include "probe/probe.h"
#include "session/private.h"
#include "session/process.h"
#include "target/target.h"

#define NEED_TRACER	(1u << SESSION_EVENT_THREAD | 1u << SESSION_EVENT_SIGNAL | \
			 1u << SESSION_EVENT_FORK | 1u << SESSION_EVENT_EXEC)

bool session_needs_tracer(const struct session *session)
{
	const struct session_config *config = &session->config;

	return session->pidfd < 0 || session->started || session->wanted & NEED_TRACER ||
	       config->follow_fork != SESSION_FOLLOW_PARENT || config->follow_exec ||
	       config->leaks_at_end || process_any_followed(session) ||
	       (session->probes && probes_need_tracer(session->probes));
}

struct err *session_hold(struct session *session, bool *was_ret)
{
	return target_stop(session->target, was_ret);
}

void session_let_go(struct session *session, bool was)
{
	if (was)
		return;
	if (session->life == PROCESS_LIVE) {
		process_settle(session, session->probes);
		if (session_needs_tracer(session))
			target_resume(session->target);
		else
			target_hands_off(session->target);
	}
	processes_resume(session);	/* those that were forked meanwhile */
}
