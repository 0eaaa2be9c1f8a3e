/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How it stands with a session and its processes. */

#include "session/private.h"
#include "tracee/target.h"
#include "unit.h"

#define PROCESSES	3
/* Ids that no process of the machine has; and one that none of these has either. */
#define ID(i)		(0x7f000000 + (i))
#define NOBODY		ID(PROCESSES)

static struct session session;
static struct target targets[PROCESSES];

/* The first of three is current; each has one thread. */
static void make(void)
{
	memset(&session, 0, sizeof(session));
	memset(targets, 0, sizeof(targets));
	session.current = session.process;
	session.nr_processes = PROCESSES;
	for (int i = 0; i < PROCESSES; i++) {
		targets[i].pid = ID(i);
		CU_ASSERT_PTR_NULL_FATAL(map_put(&targets[i].threads, (uint64_t)ID(i), &targets[i]));
		session.process[i] = (struct process){
			.session = &session, .target = &targets[i], .pid = ID(i),
			.state = PROCESS_LIVE,
		};
	}
}

static void end(void)
{
	for (int i = 0; i < PROCESSES; i++)
		map_free(&targets[i].threads, NULL);
}

EACH(make, end);

/* What the user is told, and whether a command may go to the target. */
TEST("the user is told the state of the process, and commands that need it are refused by that")
{
	static const struct {
		enum session_state user;
		enum process_state process;
		enum session_state told;
		bool may;
	} wanted[] = {
		{ SESSION_NONE, PROCESS_NONE, SESSION_NONE, false },
		{ SESSION_NONE, PROCESS_LEFT, SESSION_NONE, false },
		{ SESSION_NONE, PROCESS_KEPT, SESSION_NONE, false },
		{ SESSION_NONE, PROCESS_GONE, SESSION_NONE, false },
		{ SESSION_CORE, PROCESS_NONE, SESSION_CORE, false },
		{ SESSION_RUNNING, PROCESS_LIVE, SESSION_RUNNING, true },
		{ SESSION_STOPPED, PROCESS_LIVE, SESSION_STOPPED, true },
		/* The end is seen before its event is read. */
		{ SESSION_RUNNING, PROCESS_ENDED, SESSION_ENDED, false },
		{ SESSION_STOPPED, PROCESS_ENDED, SESSION_ENDED, false },
		{ SESSION_ENDED, PROCESS_ENDED, SESSION_ENDED, false },
		/* One that mdbg started runs on as another program, which is not the target. */
		{ SESSION_RUNNING, PROCESS_EXECED, SESSION_RUNNING, false },
		{ SESSION_RUNNING, PROCESS_HELD, SESSION_RUNNING, false },
		{ SESSION_RUNNING, PROCESS_GONE, SESSION_ENDED, false },
	};

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct err *err;

		session.state = wanted[i].user;
		session.current->state = wanted[i].process;
		CU_ASSERT_EQUAL(session_state(&session), wanted[i].told);
		err = session_need_target(&session);
		CU_ASSERT_EQUAL(!err, wanted[i].may);
		if (err)
			CU_ASSERT_EQUAL(err->code, ERR_STATE);
		err = session_need_view(&session);
		CU_ASSERT_EQUAL(!err, wanted[i].may || wanted[i].user == SESSION_CORE);
		err = session_need_none(&session);
		CU_ASSERT_EQUAL(!err, !wanted[i].may && wanted[i].user != SESSION_CORE);
	}
}

TEST("a thread is of the process that has it, and an unknown one of the current process")
{
	for (int i = 0; i < PROCESSES; i++)
		CU_ASSERT_PTR_EQUAL(process_owner(&session, ID(i)), &targets[i]);
	/* Nobody's: the current one is to look at it. */
	CU_ASSERT_PTR_EQUAL(process_owner(&session, NOBODY), &targets[0]);
	session.current = &session.process[1];
	CU_ASSERT_PTR_EQUAL(process_owner(&session, NOBODY), &targets[1]);
	CU_ASSERT_PTR_EQUAL(process_owner(&session, ID(0)), &targets[0]);
	/* A current one that runs another program has no threads that are mdbg's. */
	session.current->state = PROCESS_EXECED;
	CU_ASSERT_PTR_NULL(process_owner(&session, ID(1)));
	CU_ASSERT_PTR_NULL(process_owner(&session, NOBODY));
	CU_ASSERT_PTR_EQUAL(process_owner(&session, ID(2)), &targets[2]);
	/* The parent of one that took its place has been taken away. */
	session.process[0].target = NULL;
	CU_ASSERT_PTR_NULL(process_owner(&session, ID(0)));
	session.process[0].target = &targets[0];
}

TEST("who lives and is not current is followed")
{
	CU_ASSERT_TRUE(process_any_followed(&session));
	session.process[1].state = PROCESS_GONE;
	CU_ASSERT_TRUE(process_any_followed(&session));
	session.process[2].state = PROCESS_LEFT;
	CU_ASSERT_FALSE(process_any_followed(&session));
	/* All that are not current are. */
	session.current = &session.process[2];
	CU_ASSERT_TRUE(process_any_followed(&session));
}

TEST("a doubt in the records stays, and a smaller one adds nothing")
{
	CU_ASSERT_EQUAL(session.records, RECORDS_WHOLE);
	session_doubt(&session, RECORDS_LACK);
	CU_ASSERT_EQUAL(session.records, RECORDS_LACK);
	session_doubt(&session, RECORDS_STALE);
	session_doubt(&session, RECORDS_LACK);
	CU_ASSERT_EQUAL(session.records, RECORDS_STALE);
}
