/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue of events and warnings, which the main thread reads. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/trace.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"

#define EVENTS_MAX	65536

static bool wanted(const struct session *session, enum session_event_kind kind)
{
	if (kind == SESSION_EVENT_FORK && session->config.follow_fork != SESSION_FOLLOW_PARENT)
		return true;
	return kind == SESSION_EVENT_EXIT || kind == SESSION_EVENT_EXEC ||
		kind == SESSION_EVENT_WARNING || kind == SESSION_EVENT_DEATH || session->wanted >> kind & 1;
}

/*
 * The space is taken back when half of all events were read, so that each event is moved at most
 * once.
 */
static void drop_taken(struct session *session)
{
	size_t left = session->events.nr - session->first_event;

	if (!session->first_event || session->first_event < left)
		return;
	memmove(session->events.at, session->events.at + session->first_event,
		left * sizeof(*session->events.at));
	session->events.nr = left;
	session->first_event = 0;
}

void session_push_event(struct session *session, const struct session_event *event)
{
	uint64_t one = 1;
	bool pushed = false;

	if (!wanted(session, event->kind))
		return;
	pthread_mutex_lock(&session->lock);
	/*
	 * There may be too many events that are only watched; an event of an end must not be lost
	 * because of them.
	 */
	drop_taken(session);
	if (session->events.nr - session->first_event < EVENTS_MAX ||
	    event->kind == SESSION_EVENT_EXIT || event->kind == SESSION_EVENT_EXEC ||
	    event->kind == SESSION_EVENT_DEATH)
		pushed = !vec_push(&session->events, *event);
	pthread_mutex_unlock(&session->lock);
	if (!pushed)
		trace_line("event %d lost", event->kind);
	if (write(session->event_fd, &one, sizeof(one)) < 0)
		trace_line("event fd");
}

int session_event_fd(const struct session *session)
{
	return session->event_fd;
}

bool session_pop_event(struct session *session, struct session_event *ret)
{
	uint64_t count;
	bool have;

	pthread_mutex_lock(&session->lock);
	have = session->first_event < session->events.nr;
	if (have)
		*ret = session->events.at[session->first_event++];
	/* The descriptor stays readable as long as there are more events. */
	while (session->first_event == session->events.nr &&
	       read(session->event_fd, &count, sizeof(count)) > 0)
		continue;
	pthread_mutex_unlock(&session->lock);
	return have;
}

bool session_next_warning(struct session *session, struct session_event *ret)
{
	while (session_pop_event(session, ret))
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
	session_push_event(session, &event);
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
