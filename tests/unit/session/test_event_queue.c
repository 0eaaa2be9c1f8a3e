/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events and warnings, as the main thread reads them. */

#include <poll.h>
#include <sys/eventfd.h>

#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"
#include "unit.h"

#define ROOM	65536u	/* events that wait */

static struct session session;

static void begin(void)
{
	memset(&session, 0, sizeof(session));
	session.current = session.process;
	session.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	CU_ASSERT_FATAL(session.event_fd >= 0);
	CU_ASSERT_FATAL(!pthread_mutex_init(&session.lock, NULL));
}

static void end(void)
{
	vec_free(&session.events);
	close(session.event_fd);
	pthread_mutex_destroy(&session.lock);
}

EACH(begin, end);

static bool is_readable(void)
{
	struct pollfd fd = { .fd = session_event_queue_fd(&session), .events = POLLIN };

	return poll(&fd, 1, 0) == 1;
}

TEST("events are read in their order")
{
	struct session_event event;

	for (int i = 0; i < 100; i++)
		session_push(&session, .kind = SESSION_EVENT_EXIT, .status = i);
	for (int i = 0; i < 100; i++) {
		CU_ASSERT_TRUE_FATAL(event_queue_pop(&session, &event));
		CU_ASSERT_EQUAL(event.status, i);
	}
	CU_ASSERT_FALSE(event_queue_pop(&session, &event));
}

TEST("the descriptor is readable as long as events wait")
{
	struct session_event event;

	CU_ASSERT_FALSE(is_readable());
	session_warn(&session, "one");
	session_warn(&session, "two");
	CU_ASSERT_TRUE(is_readable() && event_queue_pop(&session, &event));
	CU_ASSERT_TRUE(is_readable() && event_queue_pop(&session, &event));
	CU_ASSERT_FALSE(is_readable());
}

TEST("an end, an exec, a death and a warning come unasked, and other events only if they are wanted")
{
	static const struct {
		enum session_event_kind kind;
		bool always;
	} events[] = {
		{ SESSION_EVENT_EXIT, true }, { SESSION_EVENT_EXEC, true },
		{ SESSION_EVENT_DEATH, true }, { SESSION_EVENT_WARNING, true },
		{ SESSION_EVENT_FORK, false }, { SESSION_EVENT_SIGNAL, false },
		{ SESSION_EVENT_THREAD, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		struct session_event event;

		session.wanted = 0;
		session_push(&session, .kind = events[i].kind);
		CU_ASSERT_EQUAL(event_queue_pop(&session, &event), events[i].always);
		session.wanted = 1u << events[i].kind;
		session_push(&session, .kind = events[i].kind);
		CU_ASSERT_TRUE(event_queue_pop(&session, &event));
	}
}

TEST("a fork is told where a child may be followed")
{
	struct session_event event;

	session.config.follow_fork = SESSION_FOLLOW_CHILD;
	session_push(&session, .kind = SESSION_EVENT_FORK, .pid = 7);
	CU_ASSERT_TRUE(event_queue_pop(&session, &event) && event.pid == 7);
}

TEST("where too many wait what is only watched is lost, and an end is not")
{
	struct session_event event;
	size_t nr = 0;

	session.wanted = 1u << SESSION_EVENT_THREAD;
	for (size_t i = 0; i < ROOM + 10; i++)
		session_push(&session, .kind = SESSION_EVENT_THREAD);
	session_push(&session, .kind = SESSION_EVENT_EXIT);
	while (event_queue_pop(&session, &event))
		nr++;
	CU_ASSERT_EQUAL(nr, ROOM + 1);
	CU_ASSERT_EQUAL(event.kind, SESSION_EVENT_EXIT);
}

TEST("after the last target warnings are read and other events dropped")
{
	struct session_event event;

	session_push(&session, .kind = SESSION_EVENT_EXIT);
	session_warn_hint(&session, "a way out", "%d pages", 3);
	session_push(&session, .kind = SESSION_EVENT_EXEC);
	CU_ASSERT_TRUE_FATAL(session_warn_next(&session, &event));
	CU_ASSERT_STRING_EQUAL(event.text, "3 pages");
	CU_ASSERT_STRING_EQUAL(event.hint, "a way out");
	CU_ASSERT_FALSE(session_warn_next(&session, &event));
}

TEST("what stays in a process is told with its reason: a thread, or calls that nobody is in")
{
	struct target target = { .pid = 7 };
	struct probes probes = { .calls_left = 2 };
	struct process process = { .target = &target, .probes = &probes };
	struct session_event event;

	session_warn_left(&session, &process);
	CU_ASSERT_TRUE_FATAL(event_queue_pop(&session, &event));
	CU_ASSERT_PTR_NOT_NULL(strstr(event.text, "suspended coroutines?): 2 in process 7"));
	probes.calls_left = 0;
	session_warn_left(&session, &process);
	CU_ASSERT_TRUE_FATAL(event_queue_pop(&session, &event));
	CU_ASSERT_PTR_NOT_NULL(strstr(event.text, "a thread of process 7 is still inside"));
}
