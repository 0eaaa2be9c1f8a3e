/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ends of processes as a pidfd tells them. */

#include "os/pidfd.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "child.h"
#include "unit.h"

static void wait_only(void *arg UNUSED)
{
	child_ready(1);
	child_wait();
}

static bool await_end(int fd)
{
	struct pollfd wait = { .fd = fd, .events = POLLIN };

	return poll(&wait, 1, 10000) == 1;
}

static int start(struct child *child)
{
	uint64_t word;
	int fd = -1, status;
	bool known;

	CU_ASSERT_TRUE_FATAL(child_start(child, wait_only, NULL));
	CU_ASSERT_TRUE_FATAL(child_word(child, &word));
	CU_ASSERT_PTR_NULL_FATAL(pidfd_open_process(child->pid, &fd));
	CU_ASSERT_FALSE(pidfd_ended(fd, child->pid, &status, &known));
	return fd;
}

/* A zombie tells how it ended; a process that was reaped does if the kernel keeps it. */
TEST("killed")
{
	struct child child;
	int fd = start(&child), status = 0;
	bool known = false;

	CU_ASSERT_PTR_NULL(pidfd_kill(fd, SIGKILL));
	CU_ASSERT_TRUE(await_end(fd));
	CU_ASSERT_TRUE(pidfd_ended(fd, child.pid, &status, &known));
	CU_ASSERT_TRUE(known);
	CU_ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	child_end(&child);
	CU_ASSERT_PTR_NOT_NULL(pidfd_kill(fd, SIGKILL));
	status = 0;
	CU_ASSERT_TRUE(pidfd_ended(fd, child.pid, &status, &known));
	CU_ASSERT_TRUE(!known || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	close(fd);
}

TEST("exited")
{
	struct child child;
	int fd = start(&child), status = 1, seen;
	bool known = false;

	seen = child_end(&child);
	CU_ASSERT_TRUE(pidfd_ended(fd, child.pid, &status, &known));
	CU_ASSERT_TRUE(!known || status == seen);
	close(fd);
}

TEST("gone")
{
	struct child child;
	int fd = start(&child);
	struct err *err;

	close(fd);
	child_end(&child);
	err = pidfd_open_process(child.pid, &fd);
	CU_ASSERT_FATAL(err && err->code == ERR_GONE);
}
