/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits of tasks that hold for another process. */

#include "os/task_limits.h"

#include <grp.h>
#include <sys/resource.h>

#include "child.h"
#include "unit.h"

#define USER	64321u	/* it has no other process */

struct life {
	rlim_t most;	/* of tasks of its user's */
	bool as_user;	/* it gives up root's rights */
};

static void live(void *arg)
{
	const struct life *life = arg;
	struct rlimit limit;

	getrlimit(RLIMIT_NPROC, &limit);
	limit.rlim_cur = life->most;

	if (setrlimit(RLIMIT_NPROC, &limit) ||
	    (life->as_user && !geteuid() && (setgroups(0, NULL) || setgid(USER) || setuid(USER))))
		_exit(1);
	child_ready(1);
	child_wait();
}

static bool user_is_close(rlim_t most, bool as_user)
{
	struct life life = { most, as_user };
	CLEANUP(child_end) struct child child;
	const char *why;
	uint64_t word;

	CU_ASSERT_TRUE_FATAL(child_start(&child, live, &life));
	CU_ASSERT_TRUE_FATAL(child_word(&child, &word));
	why = task_limits_close(child.pid, 16);
	return why && strstr(why, "RLIMIT_NPROC");
}

TEST("its user's")
{
	CU_ASSERT_TRUE(user_is_close(2, true));
	CU_ASSERT_TRUE(user_is_close(16, true));
	/* The user's own tasks count, not the machine's; and not at all for root. */
	if (!geteuid()) {
		CU_ASSERT_FALSE(user_is_close(17, true));
		CU_ASSERT_FALSE(user_is_close(2, false));
	}
}

TEST("no process")
{
	/* pid 0 is no process: it has no limit but the machine's. */
	CU_ASSERT_PTR_NULL(task_limits_close(0, 1));
	CU_ASSERT_PTR_NOT_NULL(task_limits_close(0, 1ull << 40));
}
