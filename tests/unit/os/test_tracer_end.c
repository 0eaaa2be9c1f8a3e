/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tracer: ends that are kept for who asks, and signals that wait. */

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#include "os/procfs.h"
#include "os/tracer.h"
#include "unit.h"

#define LIMIT_NS	20000000000ull
#define MOMENT_NS	20000000ull

static void stopped(void *ctx, pid_t tid, int status)
{
	(void)ctx, (void)tid, (void)status;
}

static bool comes_to(pid_t pid, char state)
{
	const struct timespec nap = { .tv_nsec = 1000000 };
	uint64_t end = tracer_now() + LIMIT_NS;
	struct proc_stat stat = { .state = 0 };

	while (!procfs_stat(pid, &stat) && stat.state != state && tracer_now() < end)
		nanosleep(&nap, NULL);
	return stat.state == state;
}

static void in_tracer(struct err *(*fn)(void *tracer))
{
	struct tracer *tracer;

	CU_ASSERT_PTR_NULL_FATAL(tracer_create(stopped, NULL, &tracer));
	CU_ASSERT_PTR_NULL(tracer_call(tracer, fn, tracer));
	tracer_destroy(tracer);
}

static struct err *keep_end(void *tracer)
{
	pid_t pid = fork(), tid = 0;
	int status = 0;
	struct err *err;

	if (!pid)
		for (;;)
			pause();
	CU_ASSERT_PTR_NULL(ptrace_seize(tracer, pid));
	tracer_keep_end(tracer, pid);
	kill(pid, SIGKILL);
	CU_ASSERT(comes_to(pid, 'Z'));
	err = tracer_wait(tracer, tracer_now() + MOMENT_NS, &tid, &status);
	CU_ASSERT(err && err->code == ERR_TIMEOUT);
	CU_ASSERT_PTR_NULL(tracer_wait_for(pid, tracer_now() + LIMIT_NS, &status));
	CU_ASSERT(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	tracer_keep_end(tracer, 0);
	return NULL;
}

TEST("an end that is kept")
{
	in_tracer(keep_end);
}

static void have_child_and_wait(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_BLOCK, &set, NULL);
	if (!fork())
		_exit(0);
	for (;;)
		pause();
}

static pid_t child_of(pid_t pid)
{
	uint64_t end = tracer_now() + LIMIT_NS;
	pid_t child = 0;

	while (!child && tracer_now() < end) {
		struct proc_tasks children = { VEC_INIT };

		if (!procfs_children(pid, &children) && children.vec.nr)
			child = children.vec.at[0];
		vec_free(&children.vec);
	}
	return child;
}

static struct err *child_pending(void *tracer)
{
	pid_t pid = fork(), child;
	bool pending;
	int status;

	if (!pid)
		have_child_and_wait();
	child = child_of(pid);
	CU_ASSERT(child && comes_to(child, 'Z'));
	CU_ASSERT_PTR_NULL(ptrace_seize(tracer, pid));
	CU_ASSERT_PTR_NULL(tracer_interrupt(pid));
	CU_ASSERT_PTR_NULL(tracer_wait_for(pid, tracer_now() + LIMIT_NS, &status));
	CU_ASSERT(!ptrace_child_pending(pid, child, &pending) && pending);
	CU_ASSERT(!ptrace_child_pending(pid, child + 1, &pending) && !pending);
	kill(pid, SIGKILL);
	CU_ASSERT_PTR_NULL(tracer_wait_for(pid, tracer_now() + LIMIT_NS, &status));
	return NULL;
}

TEST("a SIGCHLD that waits")
{
	in_tracer(child_pending);
}
