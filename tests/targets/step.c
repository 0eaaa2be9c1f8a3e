/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Not a target, but who brings one to a standstill at any instruction. Commands:
 *
 *	step PID TID N	the thread makes N steps, instruction by instruction, and its process is in a group stop (SIGSTOP)
 *			from then on, or is still: `ok PC`
 *	quit
 *
 * Between two commands it traces nobody.
 */
#include "target.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#ifndef PTRACE_EVENT_STOP
#define PTRACE_EVENT_STOP	128
#endif

static bool wait_for(pid_t tid, int *status)
{
	return waitpid(tid, status, __WALL) == tid && WIFSTOPPED(*status);
}

static bool is_step(int status)
{
	return status >> 16 == 0 && WSTOPSIG(status) == SIGTRAP;
}

/* Signals are passed on; a stop for them, or for the group, is no step. */
static bool make_steps(pid_t tid, long nr)
{
	int status = SIGTRAP << 8;

	while (nr > 0) {
		long signal = status >> 16 || is_step(status) ? 0 : WSTOPSIG(status);

		if (ptrace(PTRACE_SINGLESTEP, tid, NULL, signal) || !wait_for(tid, &status))
			return false;
		nr -= is_step(status);
	}
	return true;
}

/* No instruction runs in between: the signal waits when the thread goes on. */
static bool stop_group(pid_t pid, pid_t tid)
{
	int status;

	if (syscall(SYS_tgkill, pid, tid, SIGSTOP) || ptrace(PTRACE_CONT, tid, NULL, 0))
		return false;
	do {
		if (!wait_for(tid, &status))
			return false;
		if (status >> 16 == PTRACE_EVENT_STOP && WSTOPSIG(status) == SIGSTOP)
			return true;
	} while (!ptrace(PTRACE_CONT, tid, NULL, status >> 16 ? 0 : (long)WSTOPSIG(status)));
	return false;
}

static bool step(pid_t pid, pid_t tid, long nr, uint64_t *pc_ret)
{
	struct user_regs_struct regs;
	bool stopped, done;
	int status;

	if (ptrace(PTRACE_SEIZE, tid, NULL, 0))
		return false;
	done = !ptrace(PTRACE_INTERRUPT, tid, NULL, 0) && wait_for(tid, &status);
	stopped = done && WSTOPSIG(status) == SIGSTOP;
	done = done && make_steps(tid, nr) && !ptrace(PTRACE_GETREGS, tid, NULL, &regs) &&
	       (stopped || stop_group(pid, tid));
	if (done)
		*pc_ret = regs.rip;
	return !ptrace(PTRACE_DETACH, tid, NULL, 0) && done;
}

int main(void)
{
	char *line;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit") != 0) {
		int pid, tid;
		uint64_t pc;
		long nr;

		if (sscanf(line, "step %d %d %ld", &pid, &tid, &nr) == 3 && step(pid, tid, nr, &pc))
			say("ok 0x%lx", (unsigned long)pc);
		else
			say("bad %s: %s", line, strerror(errno));
	}
	return 0;
}
