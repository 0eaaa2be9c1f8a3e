/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that sleep, compute, and end; in a child, since a test's own thread runs all the time. */

#include "growth/late_calls.h"

#include <signal.h>
#include <sys/wait.h>

#include "os/procfs.h"
#include "unit.h"

static volatile sig_atomic_t computes = 1;

static void stop_computing(int signal UNUSED)
{
	computes = 0;
}

/* A child that computes until it gets SIGUSR1, and then sleeps. */
static pid_t start(void)
{
	const struct sigaction action = { .sa_handler = stop_computing };
	pid_t pid;

	CU_ASSERT_FATAL(!sigaction(SIGUSR1, &action, NULL));
	pid = fork();
	while (!pid && computes)
		;
	while (!pid)
		pause();
	return pid;
}

TEST("late")
{
	CLEANUP(late_calls_free) struct late_calls late = LATE_CALLS_INIT;
	uint64_t before = 0, ran = 0;
	pid_t pid = start();
	int status;

	while (before < LATE_CALL_NS)	/* it is out of fork */
		CU_ASSERT_PTR_NULL_FATAL(procfs_ran(pid, &before));
	kill(pid, SIGSTOP);
	CU_ASSERT_FATAL(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	/* It does not run, and nobody knows what it was at. */
	late_calls_begin(&late, pid);
	CU_ASSERT(!late_calls_are_over(&late) && !late_calls_are_over(&late));
	kill(pid, SIGCONT);
	while (ran < before + 2 * LATE_CALL_NS)
		CU_ASSERT_PTR_NULL_FATAL(procfs_ran(pid, &ran));
	CU_ASSERT(late_calls_are_over(&late));
	/* Asleep in a call of another kind. */
	kill(pid, SIGUSR1);
	late_calls_begin(&late, pid);
	while (!late_calls_are_over(&late))
		;
	late_calls_begin(&late, pid);
	kill(pid, SIGKILL);
	CU_ASSERT_FATAL(waitpid(pid, &status, 0) == pid);
	CU_ASSERT(late_calls_are_over(&late));
	/* A process that is not there tells nothing. */
	late_calls_begin(&late, pid);
	CU_ASSERT(!late_calls_are_over(&late));
}
