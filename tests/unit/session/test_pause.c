/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a target stays traced between commands. */

#include "probe/probe.h"
#include "session/private.h"
#include "unit.h"

static struct session session;

/* Attached, by jumps, with a pidfd: nothing needs mdbg as the tracer. */
static void begin(void)
{
	memset(&session, 0, sizeof(session));
	session.current = session.process;
	session.nr_processes = 1;
	session.process[0].session = session.process[1].session = &session;
	session.current->state = PROCESS_LIVE;
	session.config.follow_fork = SESSION_FOLLOW_PARENT;
}

EACH(begin, NULL);

TEST("a target that nobody asks anything of is not traced")
{
	CU_ASSERT_FALSE(session_needs_tracer(&session));
}

TEST("a target whose end could not be seen otherwise is traced")
{
	session.pidfd = -1;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
	session.pidfd = 0;
	session.current->started = true;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
}

TEST("events that only a tracer sees have the target traced, and others do not")
{
	static const struct {
		enum session_event_kind kind;
		bool traced;
	} events[] = {
		{ SESSION_EVENT_THREAD, true }, { SESSION_EVENT_SIGNAL, true },
		{ SESSION_EVENT_FORK, true }, { SESSION_EVENT_EXEC, true },
		{ SESSION_EVENT_DEATH, true }, { SESSION_EVENT_EXIT, false },
		{ SESSION_EVENT_WARNING, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		session.wanted = 1u << events[i].kind;
		CU_ASSERT_EQUAL(session_needs_tracer(&session), events[i].traced);
	}
}

TEST("settings that need a tracer have the target traced")
{
	struct session_config *config = &session.config;

	config->follow_fork = SESSION_FOLLOW_BOTH;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
	config->follow_fork = SESSION_FOLLOW_PARENT;
	config->follow_exec = true;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
	config->follow_exec = false;
	config->leaks_at_end = true;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
	config->leaks_at_end = false;
	config->hold_at_death = true;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
}

TEST("a breakpoint has the target traced, and a jump does not")
{
	struct probe probe = { .state = PROBE_ACTIVE, .engine = PROBE_JUMP };
	struct probes probes = { .all = VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(vec_push(&probes.all, &probe));
	session.current->probes = &probes;
	CU_ASSERT_FALSE(session_needs_tracer(&session));
	probe.engine = PROBE_BREAKPOINT;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
	vec_free(&probes.all);
}

TEST("a followed child has its parent traced")
{
	session.nr_processes = 2;
	session.process[1].state = PROCESS_LIVE;
	CU_ASSERT_TRUE(session_needs_tracer(&session));
}

TEST("a process is held before its death if that is set, or if somebody waits for the event")
{
	CU_ASSERT_FALSE(session_pause_at_death(&session));
	session.config.hold_at_death = true;
	CU_ASSERT_TRUE(session_pause_at_death(&session));
	session.config.hold_at_death = false;
	session.wanted = 1u << SESSION_EVENT_DEATH;
	CU_ASSERT_TRUE(session_pause_at_death(&session));
}
