/* SPDX-License-Identifier: GPL-3.0-or-later */
/* When a thread counts as stalled. */

#include "os/stall_watch.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "unit.h"

TEST("one wait")
{
	struct stall stall = { 0 };

	for (unsigned i = 1; i < STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_look(&stall, 'D', 7));
	CU_ASSERT_TRUE(stall_look(&stall, 'D', 7));
}

/* It had a processor in between, though it was in such a wait at each look. */
TEST("other waits")
{
	struct stall stall = { 0 };

	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_look(&stall, 'D', i));
	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_look(&stall, 'D', i / (STALL_LOOKS - 1)));
}

/* What can be left by a signal, or is short of a processor, is waited for. */
TEST("other states")
{
	struct stall stall = { 0 };

	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_look(&stall, "SR"[i % 2], 7));
	for (unsigned i = 0; i < 10 * STALL_LOOKS; i++)
		CU_ASSERT_FALSE(stall_look(&stall, i % STALL_LOOKS ? 'D' : 'R', 7));
}

static atomic_int waits;

/* Who calls vfork waits in the kernel for the child, which only SIGKILL ends. */
static void *wait_for_child(void *arg)
{
	atomic_store(&waits, gettid());
	if (!vfork()) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return arg;
}

static void be_watched(unsigned tracees)
{
	struct stall_watch watch;
	pthread_t thread;

	if (pthread_create(&thread, NULL, wait_for_child, NULL))
		_exit(2);
	while (!atomic_load(&waits))
		;
	if (stall_watch_begin(&watch, atomic_load(&waits), &tracees))
		_exit(3);
	sleep(2 * STALL_LOOKS);
	kill(getpid(), SIGTERM);
}

/* By which signal a process ends whose thread waits so; it is alone with its standard error. */
static int ends_by(unsigned tracees, char *said, size_t room)
{
	int ends[2], status = 0;
	ssize_t got = 0, nr;
	pid_t pid;

	CU_ASSERT_EQUAL_FATAL(pipe(ends), 0);
	pid = fork();
	if (!pid) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		be_watched(tracees);
		_exit(4);
	}
	close(ends[1]);
	while ((nr = read(ends[0], said + got, room - 1 - (size_t)got)) > 0)
		got += nr;
	said[got] = 0;
	close(ends[0]);
	waitpid(pid, &status, 0);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST("ends mdbg if something is traced")
{
	char said[1024];

	CU_ASSERT_EQUAL(ends_by(1, said, sizeof(said)), SIGKILL);
	CU_ASSERT_PTR_NOT_NULL(strstr(said, "mdbg ends by SIGKILL"));
}

TEST("waits if nothing is")
{
	char said[1024];
	const char *first;

	CU_ASSERT_EQUAL(ends_by(0, said, sizeof(said)), SIGTERM);
	first = strstr(said, "mdbg waits; the process goes on");
	CU_ASSERT_PTR_NOT_NULL_FATAL(first);
	CU_ASSERT_PTR_NULL(strstr(first + 1, "mdbg waits"));
}

/* Nothing happens to who waits in another way; the watch ends when it is told to. */
TEST("begins and ends")
{
	static const unsigned tracees = 1;
	struct stall_watch watch;

	CU_ASSERT_PTR_NULL_FATAL(stall_watch_begin(&watch, gettid(), &tracees));
	stall_watch_end(&watch);
}

