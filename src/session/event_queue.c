/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The queue of events and warnings, which the main thread reads. */

#include <string.h>
#include <unistd.h>

#include "base/trace.h"
#include "session/private.h"

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

void event_queue_push(struct session *session, const struct session_event *event)
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

int session_event_queue_fd(const struct session *session)
{
	return session->event_fd;
}

bool event_queue_pop(struct session *session, struct session_event *ret)
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
