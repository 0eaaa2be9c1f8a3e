/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Starts a program under mdbg (theory in start.h). */

#include "tracee/start.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/environment.h"
#include "os/tracer.h"
#include "tracee/target.h"

/* A loader that takes longer is stopped, or waits for a file system. */
#define LOAD_NS		60000000000ull

static NORETURN void child(const struct start_spec *spec, char **env, int go, int report)
{
	sigset_t none;
	int errnum;
	char byte;

	if (spec->own_group)
		setpgid(0, 0);
	if (!spec->keep_stdin) {
		int null = open("/dev/null", O_RDONLY);

		if (null >= 0) {
			dup2(null, STDIN_FILENO);
			close(null);
		}
	}
	signal(SIGPIPE, SIG_DFL);
	signal(SIGTTIN, SIG_DFL);
	signal(SIGTTOU, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (read(go, &byte, 1) == 1) {
		execvpe(spec->argv[0], spec->argv, env);
		errnum = errno;
		if (write(report, &errnum, sizeof(errnum)) < 0)
			_exit(126);
	}
	_exit(127);
}

static struct err *cannot_run(const char *program, int errnum)
{
	struct err *err;

	errno = errnum;
	err = err_sys("run %s", program);
	switch (errnum) {
	case ENOENT:
		if (*program && !strchr(program, '/'))
			return err_hint(
				err, "it is in no folder of PATH; in this folder it would be ./%s",
				program);
		return err_hint(err,
				"mdbg [OPTION...] [--] PROGRAM [ARG...]; if the file is there, "
				"its interpreter or loader is not");
	case EACCES:
		return err_hint(err, "a program is a file that may be executed: chmod +x");
	default:
		return err;
	}
}

/* The old program is gone, and the new one cannot be loaded: execve(2), point of no return. */
static struct err *cannot_load(const char *program, int status)
{
	struct err *err;

	if (!WIFSIGNALED(status))
		return err_create(ERR_GONE, "run %s: ended before it was executed", program);
	err = err_create(ERR_GONE, "run %s: the kernel cannot load it, and ended it (SIG%s)",
			 program, sigabbrev_np(WTERMSIG(status)));
	return err_hint(err, "the file may be damaged or cut short: `readelf -lW` looks at it");
}

/* Run from the seize to PTRACE_EVENT_EXEC. */
static struct err *to_exec(pid_t pid, const struct start_spec *spec, int report)
{
	for (;;) {
		int status, errnum;
		struct err *err = tracer_wait_for(pid, tracer_now() + TARGET_TIMEOUT_NS, &status);

		if (err)
			return err_hint(err_wrap(err, "run %s", spec->argv[0]),
					"it, or its interpreter, cannot be opened: a file system, or "
					"a lease (/proc/locks), that somebody is to answer for");
		if (!WIFSTOPPED(status)) {
			if (read(report, &errnum, sizeof(errnum)) == sizeof(errnum))
				return cannot_run(spec->argv[0], errnum);
			return cannot_load(spec->argv[0], status);
		}
		if (status >> 16 == PTRACE_EVENT_EXEC)
			return NULL;
		err = tracer_cont(pid, status >> 16 ? 0 : WSTOPSIG(status));
		if (err)
			return err;
	}
}

/*
 * The program was not executed; without this it would run later, long after the error was reported.
 */
static void end_child(pid_t pid)
{
	siginfo_t info;
	int status;

	/* If the child has ended and was reaped, another process may have its id by now. */
	if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG | __WALL))
		return;
	kill(pid, SIGKILL);
	while (!tracer_wait_for(pid, tracer_now() + TARGET_TIMEOUT_NS, &status) &&
	       WIFSTOPPED(status))
		err_ignore(tracer_cont(pid, 0));
}

struct err *start_program(struct tracer *tracer, const struct start_spec *spec, pid_t *pid_ret)
{
	AUTO_FREE char **env = environment_for_programs();
	int go[2], report[2];
	struct err *err;
	pid_t pid;

	if (!env)
		return err_nomem;
	if (pipe2(go, O_CLOEXEC) < 0)
		return err_sys("pipe");
	if (pipe2(report, O_CLOEXEC) < 0) {
		err = err_sys("pipe");
		close(go[0]);
		close(go[1]);
		return err;
	}
	pid = fork();
	if (pid == 0)
		child(spec, env, go[0], report[1]);
	close(go[0]);
	close(report[1]);
	err = pid < 0 ? err_sys("fork") : ptrace_seize(tracer, pid);
	if (!err && write(go[1], "", 1) < 0)
		err = err_sys("start %s", spec->argv[0]);
	close(go[1]);		/* without its byte the child ends by itself */
	if (!err)
		err = to_exec(pid, spec, report[0]);
	close(report[0]);
	if (!err)
		*pid_ret = pid;
	else if (pid > 0)
		end_child(pid);
	return err;
}

/* The signal of a stop, which must still be delivered; 0: the stop was for none. */
static int signal_of(int status)
{
	return status >> 16 ? 0 : WSTOPSIG(status);
}

struct hook {
	uint64_t address;
	uint64_t state;		/* of r_debug.r_state; 0: do not look */
	/*
	 * glibc's loader: it says that it begins to add the program's libraries. The libraries of
	 * LD_AUDIT come before, in lists of their own, while this list stays consistent.
	 */
	bool says_add;
	uint8_t was;
};

/* Find the place where the program stops when its libraries are mapped. */
static struct err *find_hook(struct target *target, struct hook *hook)
{
	uint64_t base, size, debug;
	struct module *loader;
	struct err *err;

	memset(hook, 0, sizeof(*hook));
	if (!procfs_auxv(target->pid, AT_BASE, &base) && base) {
		loader = modules_find(&target->modules, base);
		if (!loader)	/* its first segment is not executable */
			for (size_t i = 0; i < target->modules.all.nr; i++)
				if (target->modules.all.at[i]->start == base)
					loader = target->modules.all.at[i];
		if (loader && loader->elf &&
		    !module_symbol(loader, "_dl_debug_state", &hook->address, &size)) {
			if (!module_symbol(loader, "_r_debug", &debug, &size))
				hook->state = debug + offsetof(struct r_debug, r_state);
			hook->says_add = hook->state &&
				!module_symbol(loader, "_rtld_global", &debug, &size);
			return NULL;
		}
	}
	err = procfs_auxv(target->pid, AT_ENTRY, &hook->address);
	return err ? err_wrap(err, "entry of process %d", target->pid) : NULL;
}

/* Is the loader done? Called at the trap. */
static bool is_loaded(struct target *target, struct hook *hook)
{
	uint32_t state;

	if (!hook->state || memory_read(&target->mem.bring, hook->state, &state, sizeof(state)))
		return true;
	if (state == RT_ADD)
		hook->says_add = false;
	return state == RT_CONSISTENT && !hook->says_add;
}

/*
 * Run to the next stop that is not a mere signal, which is the trap. *signal is delivered first.
 */
static struct err *run_to_trap(struct thread *thread, const struct hook *hook, uint64_t deadline,
			       int *signal, int *status_ret)
{
	const struct arch *arch = thread->target->arch;

	for (;;) {
		struct err *err;
		int status;

		if (tracer_now() > deadline)	/* signals and traps may come without end */
			return err_create(ERR_TIMEOUT, "the program does not load its libraries");
		err = tracer_cont(thread->tid, *signal);

		if (!err)
			err = tracer_wait_for(thread->tid, deadline, &status);
		if (err)
			return err;
		if (!WIFSTOPPED(status)) {
			*status_ret = status;
			return err_create(ERR_GONE,
					  "the program ended before its libraries were loaded");
		}
		err = ptrace_get_regs(thread->tid, &thread->regs);
		if (err)
			return err;
		*signal = signal_of(status);
		if (*signal == SIGTRAP &&
		    regs_get(&thread->regs, arch->pc) == hook->address + arch->trap_pc_bias) {
			*signal = 0;
			return NULL;
		}
	}
}

/*
 * Run the hook's own instruction, and put the trap back; there is only one thread. If *signal has
 * come instead, the instruction was not executed yet and is a trap again.
 */
static struct err *step_over(struct thread *thread, const struct hook *hook, int *signal)
{
	struct target *target = thread->target;
	struct err *err = tracer_step(thread->tid);
	int status;

	if (!err)
		err = tracer_wait_for(thread->tid, tracer_now() + TARGET_TIMEOUT_NS, &status);
	if (!err && !WIFSTOPPED(status))
		err = err_create(ERR_GONE, "the program ended before its libraries were loaded");
	if (err)
		return err;
	*signal = signal_of(status) == SIGTRAP ? 0 : signal_of(status);
	return procmem_write(&target->mem, hook->address, target->arch->trap, 1);
}

static struct err *to_event_stop(struct thread *thread)
{
	struct err *err = NULL;
	int status = 0, signal = 0;

	while (!err && status >> 16 != PTRACE_EVENT_STOP) {
		err = tracer_interrupt(thread->tid);	/* anew each time: see go_on in thread.c */
		if (!err)
			err = tracer_cont(thread->tid, signal);
		if (!err)
			err = tracer_wait_for(thread->tid, tracer_now() + TARGET_TIMEOUT_NS,
					      &status);
		if (!err && !WIFSTOPPED(status))
			err = err_create(ERR_GONE, "the program has ended");
		signal = err ? 0 : signal_of(status);
	}
	return err ? err : ptrace_get_regs(thread->tid, &thread->regs);
}

struct err *start_to_loaded(struct target *target, int *status_ret)
{
	const struct arch *arch = target->arch;
	struct thread *thread = thread_find(target, target->pid);
	uint64_t deadline = tracer_now() + LOAD_NS;
	struct hook hook = { 0 };
	struct err *err;
	int signal = 0;

	err = modules_refresh(&target->modules, target->pid, &target->mem.bring, NULL);
	if (!err)
		err = find_hook(target, &hook);
	if (!err)
		err = memory_read(&target->mem.bring, hook.address, &hook.was, 1);
	/* This does not go through the journal, which does not exist yet: see start.h. */
	if (!err)
		err = procmem_write(&target->mem, hook.address, arch->trap, 1);
	while (!err) {
		err = run_to_trap(thread, &hook, deadline, &signal, status_ret);
		if (err)
			break;
		err = procmem_write(&target->mem, hook.address, &hook.was, 1);
		if (!err)
			err = ptrace_set_reg(thread->tid, arch->pc, hook.address);
		if (err || is_loaded(target, &hook))
			break;
		err = step_over(thread, &hook, &signal);
	}
	if (err && hook.was)	/* the trap would end the program if nobody handled it */
		err_ignore(procmem_write(&target->mem, hook.address, &hook.was, 1));
	return err ? err : to_event_stop(thread);
}
