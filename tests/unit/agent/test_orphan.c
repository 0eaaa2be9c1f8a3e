/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A tracer is killed while it holds a thread that has run into a probe: the thread must go on. The
 * test process starts a tracer, the tracer starts and traces a target, is killed, and leaves the
 * target to the test process.
 *
 * The tracer looks at the stop with WNOWAIT. A wait that takes the stop away takes the signal as
 * well, whatever becomes of the tracer (wait_task_stopped clears exit_code): killed between that
 * and setting PC, it would leave the thread behind the int3 without a signal, in the middle of an
 * instruction.
 */

#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "agent_offsets.h"
#include "child.h"
#include "image.h"
#include "unit.h"

enum moment {
	AT_TRAP,	/* the tracer has seen the int3 and done nothing yet */
	MOVED,		/* it has set PC to the displaced prologue */
	STEPPING,	/* it had the thread single-step */
	NOBODY,		/* it had let go before the trap */
	MOMENTS,
};

static const char *const moments[MOMENTS] = { "at the trap", "moved", "stepping", "nobody" };

struct shared {
	atomic_int target;	/* its pid, when it is ready */
	atomic_int go;		/* the tracer is there: run into the trap */
	atomic_int no_ptrace;
	atomic_int right;	/* calls with the right result */
};

static struct shared *shared;

static void target(pid_t tracer, bool without_agent)
{
	if (!without_agent)
		image_install();
	atomic_store(&shared->target, getpid());
	while (!atomic_load(&shared->go))
		sched_yield();
	for (int i = 0; i < 100; i++)
		if (victim(i) == i + 1)
			atomic_fetch_add(&shared->right, 1);
	while (getppid() == tracer)
		sched_yield();
	for (int i = 0; i < 100; i++)
		if (victim(i) == i + 1)
			atomic_fetch_add(&shared->right, 1);
	_exit(0);
}

static void die(void)
{
	kill(getpid(), SIGKILL);
}

/* Hold the target at its first trap. */
static void hold_at_trap(pid_t pid, bool move)
{
	struct user_regs_struct regs;
	siginfo_t info;

	atomic_store(&shared->go, 1);
	if (waitid(P_PID, pid, &info, WSTOPPED | WNOWAIT) || info.si_code != CLD_TRAPPED ||
	    info.si_status != SIGTRAP)
		_exit(1);
	if (!move)
		return;
	if (ptrace(PTRACE_GETREGS, pid, NULL, &regs))
		_exit(1);
	regs.rip = image_displaced();
	if (ptrace(PTRACE_SETREGS, pid, NULL, &regs))
		_exit(1);
}

static void hold_stepping(pid_t pid)
{
	int status;

	if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) || waitpid(pid, &status, 0) != pid)
		_exit(1);
	atomic_store(&shared->go, 1);
	if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL))
		_exit(1);
}

static void tracer(enum moment moment, bool without_agent)
{
	pid_t self = getpid(), pid = fork();

	if (pid < 0)
		_exit(1);
	if (!pid)
		target(self, without_agent);
	while (!atomic_load(&shared->target))
		sched_yield();
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL)) {
		atomic_store(&shared->no_ptrace, errno);
		kill(pid, SIGKILL);
		_exit(0);
	}
	switch (moment) {
	case AT_TRAP:
	case MOVED:
		hold_at_trap(pid, moment == MOVED);
		break;
	case STEPPING:
		hold_stepping(pid);
		break;
	case NOBODY:
	case MOMENTS:
		atomic_store(&shared->go, 1);
		break;
	}
	die();
}

/* How the target ended, as waitpid says. */
static int run(enum moment moment, bool without_agent)
{
	int status = -1;
	pid_t pid;

	memset(shared, 0, sizeof(*shared));
	pid = fork();
	CU_ASSERT_FATAL(pid >= 0);
	if (!pid)
		tracer(moment, without_agent);
	CU_ASSERT_EQUAL(waitpid(pid, &status, 0), pid);
	if (atomic_load(&shared->no_ptrace)) {
		waitpid(shared->target, NULL, 0);
		return -1;
	}
	CU_ASSERT_EQUAL(WTERMSIG(status), SIGKILL);
	CU_ASSERT_EQUAL_FATAL(waitpid(shared->target, &status, 0), shared->target);
	return status;
}

TEST("a target outlives its killed tracer")
{
	for (unsigned moment = 0; moment < MOMENTS; moment++)
		for (unsigned trial = 0; trial < 20; trial++) {
			int status = run(moment, false);

			if (status == -1) {
				unit_skip("tracing is not allowed");
				return;
			}
			if (status || shared->right != 200)
				printf("%s: status %#x, %d calls ", moments[moment], status,
				       shared->right);
			CU_ASSERT_EQUAL(status, 0);
			CU_ASSERT_EQUAL(shared->right, 200);
		}
}

/* That the test above proves something: without the handler they die. */
TEST("without the handler it does not")
{
	int status = run(AT_TRAP, true);

	if (status == -1) {
		unit_skip("tracing is not allowed");
		return;
	}
	CU_ASSERT_EQUAL(WTERMSIG(status), SIGTRAP);
	CU_ASSERT_EQUAL(WTERMSIG(run(STEPPING, true)), SIGTRAP);
}

static int setup(void)
{
	shared = child_share(sizeof(*shared));
	return !shared || prctl(PR_SET_CHILD_SUBREAPER, 1) || image_load();
}

static int teardown(void)
{
	return munmap(shared, sizeof(*shared)) | prctl(PR_SET_CHILD_SUBREAPER, 0) | image_unload();
}

FIXTURE(setup, teardown);
