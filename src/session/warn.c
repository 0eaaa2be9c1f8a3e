/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Warnings, which are events too. */

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"

bool session_warn_next(struct session *session, struct session_event *ret)
{
	while (event_queue_pop(session, ret))
		if (ret->kind == SESSION_EVENT_WARNING)
			return true;
	return false;
}

void session_warn(void *ctx, const char *text)
{
	session_warn_f(ctx, "%s", text);
}

void session_warn_hint(struct session *session, const char *hint, const char *fmt, ...)
{
	struct session_event event = { .kind = SESSION_EVENT_WARNING };
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(event.text, sizeof(event.text), fmt, ap);
	va_end(ap);
	snprintf(event.hint, sizeof(event.hint), "%s", hint);
	event_queue_push(session, &event);
}

void session_warn_left(struct session *session, const struct process *process)
{
	const struct target *target = process->target;
	uint64_t calls = process->probes ? process->probes->calls_left : 0;
	char hint[80] = "";

	if (calls) {
		session_warn_hint(session, "an mdbg that attaches when they have returned takes the "
				  "pages out", "calls of probed functions that have not returned "
				  "and are in no thread (suspended coroutines?): %" PRIu64 " in "
				  "process %d; the pages of the probes stay there for them, "
				  "harmless", calls, target->pid);
		return;
	}
	if (!stop_can_move(target, NULL, NULL))
		snprintf(hint, sizeof(hint),
			 "the process is stopped: kill -CONT %d before the detach lets the thread "
			 "leave",
			 target->pid);
	session_warn_hint(session, hint,
			  "a thread of process %d is still inside the code of a probe: its pages "
			  "stay in the process, harmless, until it ends",
			  target->pid);
}

void session_warn_gap(struct session *session)
{
	session_warn(session, "blocks that were freed while the probes were out are still listed: "
		     "`malloc reset` forgets all that was recorded");
}
