/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What has changed since `memory` and `memory maps` were last asked. */

#include "session/private.h"
#include "tracee/target.h"
#include "unit.h"

#define MAPS_MOST	4u

static struct session session;
static struct target target;
static struct proc_map map[MAPS_MOST];
static struct memory_use now;

static void begin(void)
{
	memset(&session, 0, sizeof(session));
	target.start_time = 100;
	session.current = session.process;
	session.current->pid = 7;
	session.current->target = &target;
}

static void end(void)
{
	session_memory_forget(&session);
	vec_free(&now.vec);
}

EACH(begin, end);

/* Maps of the inode 5. */
static void add(uint64_t start, uint64_t stop, uint64_t resident)
{
	size_t i = now.vec.nr;
	struct memory_map is = { .map = &map[i], .sum = memory_sum_unknown };

	CU_ASSERT_FATAL(i < MAPS_MOST);
	map[i] = (struct proc_map){ .start = start, .end = stop, .inode = 5 };
	is.sum.at[MEMORY_RSIZE] = resident;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&now.vec, is));
}

/* And they are those of before from then on. */
static void check(bool known, int64_t first, int64_t second)
{
	struct memory_changes changes;

	CU_ASSERT_PTR_NULL_FATAL(session_memory_changes(&session, &now, &changes));
	CU_ASSERT_EQUAL(changes.known, known);
	CU_ASSERT_EQUAL(changes.vec.nr, now.vec.nr);
	if (known && now.vec.nr)
		CU_ASSERT_EQUAL(changes.vec.at[0], first);
	if (known && now.vec.nr > 1)
		CU_ASSERT_EQUAL(changes.vec.at[1], second);
	vec_free(&changes.vec);
	vec_clear(&now.vec);
}

TEST("what was not asked before has no changes")
{
	add(0x1000, 0x3000, 10);
	check(false, 0, 0);
	add(0x1000, 0x3000, 16);
	check(true, 6, 0);
}

TEST("a mapping that has grown at either end is the same")
{
	add(0x4000, 0x6000, 10);
	check(false, 0, 0);
	add(0x2000, 0x8000, 30);
	check(true, 20, 0);
}

TEST("an old mapping counts for one new one, so that the sum of changes is right")
{
	add(0x1000, 0x5000, 10);
	check(false, 0, 0);
	add(0x1000, 0x2000, 4);
	add(0x3000, 0x5000, 9);
	check(true, -6, 9);
	/* And several for one. */
	add(0x1000, 0x5000, 14);
	check(true, 1, 0);
}

TEST("a mapping of another file is a new one")
{
	add(0x1000, 0x3000, 10);
	check(false, 0, 0);
	add(0x1000, 0x3000, 4);
	map[0].inode = 6;
	check(true, 4, 0);
}

TEST("a change from or to what is not known is none")
{
	add(0x1000, 0x3000, MEMORY_UNKNOWN);
	check(false, 0, 0);
	add(0x1000, 0x3000, 4);
	check(true, 0, 0);
	add(0x1000, 0x3000, MEMORY_UNKNOWN);
	check(true, 0, 0);
}

TEST("what was shown of another process is no basis")
{
	struct memory_look look = { .time_ns = 1 };

	CU_ASSERT_PTR_NULL(session_memory_last(&session));
	session_memory_keep(&session, &look);
	add(0x1000, 0x3000, 10);
	check(false, 0, 0);
	CU_ASSERT_PTR_NOT_NULL(session_memory_last(&session));
	/* Its id was given to another one. */
	target.start_time = 200;
	CU_ASSERT_PTR_NULL(session_memory_last(&session));
	add(0x1000, 0x3000, 10);
	check(false, 0, 0);
}

TEST("a core file has nothing that grows")
{
	struct memory_look look = { .time_ns = 1 };
	struct memory_verdict verdict;

	session.state = SESSION_CORE;
	session_memory_verdict(&session, NULL, &look, &verdict);
	CU_ASSERT_EQUAL(verdict.kind, MEMORY_NOTHING_GROWS);
}
