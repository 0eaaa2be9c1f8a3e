/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a ptrace stop costs at least here: a child executes int3 in a loop, the tracer only waits and continues.
 *
 *	bare_stop [STOPS]	prints `bare FREE PINNED`: us a stop, both processes free, and both on one processor
 */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void pin(pid_t pid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(pid, sizeof(set), &set);
}

static double now_us(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e6 + (double)now.tv_nsec / 1e3;
}

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Wait for the child's next stop. */
static void wait_stop(pid_t child)
{
	int status;

	if (waitpid(child, &status, __WALL) != child || !WIFSTOPPED(status))
		fail("wait for a stop");
}

/* Mean time of a stop and its continuation, in us. */
static double measure(int stops, int pinned)
{
	pid_t child = fork();
	double start, took;
	int i;

	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		for (;;)
			__asm__ volatile("int3");
	}
	if (child < 0)
		fail("fork");
	if (pinned) {
		pin(child);
		pin(0);
	}
	wait_stop(child);
	start = now_us();
	for (i = 0; i < stops; i++) {
		if (ptrace(PTRACE_CONT, child, 0, 0) != 0)
			fail("continue");
		wait_stop(child);
	}
	took = now_us() - start;
	kill(child, SIGKILL);
	waitpid(child, NULL, __WALL);
	return took / stops;
}

int main(int argc, char **argv)
{
	int stops = argc > 1 ? atoi(argv[1]) : 20000;
	double unpinned = measure(stops, 0);

	printf("bare %.2f %.2f\n", unpinned, measure(stops, 1));
	return 0;
}
