/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All ptrace requests about a tracee. No other file calls ptrace. */

#include <elf.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <unistd.h>

#include "arch/arch.h"
#include "os/procfs.h"
#include "os/tracer_private.h"

#define OPTIONS	(PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK | PTRACE_O_TRACECLONE | \
		 PTRACE_O_TRACEEXEC | PTRACE_O_TRACESYSGOOD)

static uintptr_t options(const struct tracer *tracer)
{
	return OPTIONS | (tracer->exits ? PTRACE_O_TRACEEXIT : 0);
}

static struct err *request(enum __ptrace_request what, pid_t tid, uintptr_t addr, uintptr_t data,
			   const char *name)
{
	if (ptrace(what, tid, (void *)addr, (void *)data) < 0)
		return err_sys("ptrace %s %d", name, tid);
	return NULL;
}

static long seize(struct tracer *tracer, pid_t tid)
{
	long done;

	tracer->seizing = 1;
	done = ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)options(tracer));
	tracer->seizing = 0;
	return done;
}

/*
 * A thread that executes another program holds the lock that a seize needs (cred_guard_mutex) until
 * the other threads of its process are gone. A traced one of them is not gone before its tracer has
 * heard of its end. So this call would wait for ever, and the program with it (seen). A signal
 * alone does not help, as the kernel restarts the call.
 */
struct err *ptrace_seize(struct tracer *tracer, pid_t tid)
{
	struct proc_status status;

	if (!sigsetjmp(tracer->seize_end, 1))
		return seize(tracer, tid) < 0 ? err_sys("ptrace seize %d", tid) : NULL;
	/* The signal may have come after the seize was done. */
	if (!procfs_status(tid, &status) && status.tracer == gettid())
		return NULL;
	return err_hint(err_create(ERR_BUSY, "thread %d is about to execute another program", tid),
			"try again");
}

struct err *ptrace_set_options(struct tracer *tracer, pid_t tid, bool suspend_seccomp)
{
	return request(PTRACE_SETOPTIONS, tid, 0,
		       options(tracer) | (suspend_seccomp ? PTRACE_O_SUSPEND_SECCOMP : 0),
		       "set options");
}

void ptrace_trace_exits(struct tracer *tracer, bool trace)
{
	tracer->exits = trace;
}

struct err *ptrace_exit_kill(pid_t tid)
{
	return request(PTRACE_SETOPTIONS, tid, 0, PTRACE_O_EXITKILL, "exit kill");
}

/* Define a function that resumes the thread in one way, with a signal if it is not 0. */
#define GO_ON(function, what, name) \
	struct err *function(pid_t tid) { return request(what, tid, 0, 0, name); }
#define GO_ON_WITH(function, what, name) \
	struct err *function(pid_t tid, int signal) \
	{ return request(what, tid, 0, (uintptr_t)signal, name); }

GO_ON(tracer_interrupt, PTRACE_INTERRUPT, "interrupt")
GO_ON(tracer_listen, PTRACE_LISTEN, "listen")
GO_ON(tracer_syscall, PTRACE_SYSCALL, "syscall")
GO_ON(tracer_step, PTRACE_SINGLESTEP, "step")
GO_ON_WITH(tracer_cont, PTRACE_CONT, "cont")
GO_ON_WITH(tracer_detach, PTRACE_DETACH, "detach")

struct err *ptrace_event_message(pid_t tid, unsigned long *ret)
{
	return request(PTRACE_GETEVENTMSG, tid, 0, (uintptr_t)ret, "event message");
}

struct err *ptrace_get_regs(pid_t tid, struct regs *ret)
{
	struct iovec iov = { ret->word, sizeof(ret->word) };

	return request(PTRACE_GETREGSET, tid, NT_PRSTATUS, (uintptr_t)&iov, "get registers");
}

struct err *ptrace_set_regs(pid_t tid, const struct regs *regs)
{
	struct iovec iov = { (void *)regs->word, arch_host()->regs_words * sizeof(uint64_t) };

	return request(PTRACE_SETREGSET, tid, NT_PRSTATUS, (uintptr_t)&iov, "set registers");
}

struct err *ptrace_set_reg(pid_t tid, unsigned word, uint64_t value)
{
	/* The registers come first in struct user, in the order of NT_PRSTATUS. */
	return request(PTRACE_POKEUSER, tid, word * sizeof(uint64_t), value, "set register");
}

struct err *ptrace_get_xstate(pid_t tid, void *buf, size_t room, size_t *len_ret)
{
	struct iovec iov = { buf, room };
	struct err *err = request(PTRACE_GETREGSET, tid, arch_host()->note_extended,
				  (uintptr_t)&iov, "get extended state");

	if (!err)
		*len_ret = iov.iov_len;
	return err;
}

struct err *ptrace_set_xstate(pid_t tid, const void *buf, size_t len)
{
	struct iovec iov = { (void *)(uintptr_t)buf, len };

	return request(PTRACE_SETREGSET, tid, arch_host()->note_extended, (uintptr_t)&iov,
		       "set extended state");
}

struct err *ptrace_get_sigmask(pid_t tid, uint64_t *ret)
{
	return request(PTRACE_GETSIGMASK, tid, sizeof(*ret), (uintptr_t)ret, "get signal mask");
}

struct err *ptrace_set_sigmask(pid_t tid, uint64_t mask)
{
	return request(PTRACE_SETSIGMASK, tid, sizeof(mask), (uintptr_t)&mask, "set signal mask");
}

struct err *ptrace_siginfo(pid_t tid, siginfo_t *ret)
{
	return request(PTRACE_GETSIGINFO, tid, 0, (uintptr_t)ret, "get signal");
}

struct err *ptrace_trap_pending(pid_t tid, bool *ret)
{
	struct __ptrace_peeksiginfo_args args = { .nr = 32 };
	siginfo_t info[32];
	long nr = ptrace(PTRACE_PEEKSIGINFO, tid, &args, info);

	if (nr < 0)
		return err_sys("ptrace peek signals %d", tid);
	*ret = false;
	for (long i = 0; i < nr; i++)
		if (info[i].si_signo == SIGTRAP && info[i].si_code > 0)
			*ret = true;
	return NULL;
}

struct err *ptrace_child_pending(pid_t tid, pid_t child, bool *ret)
{
	struct __ptrace_peeksiginfo_args args = { .nr = 1, .flags = PTRACE_PEEKSIGINFO_SHARED };
	siginfo_t info;
	long nr;

	*ret = false;
	do {
		nr = ptrace(PTRACE_PEEKSIGINFO, tid, &args, &info);
		if (nr < 0)
			return err_sys("ptrace peek signals %d", tid);
		*ret = nr && info.si_signo == SIGCHLD && info.si_pid == child;
		args.off++;
	} while (nr && !*ret);
	return NULL;
}

/* It came with Linux 6.4; <sys/ptrace.h> may be older. */
#define GET_SYSCALL_USER_DISPATCH	0x4211

struct dispatch {
	uint64_t mode, selector, offset, len;	/* mode 0: off */
};

bool ptrace_dispatches(pid_t tid, uint64_t pc, uint64_t *selector_ret)
{
	struct dispatch dispatch = { .mode = 0 };

	if (ptrace(GET_SYSCALL_USER_DISPATCH, tid, sizeof(dispatch), &dispatch) < 0 ||
	    !dispatch.mode || pc - dispatch.offset < dispatch.len)
		return false;
	*selector_ret = dispatch.selector;
	return true;
}

uint64_t ptrace_rseq(pid_t tid)
{
	struct __ptrace_rseq_configuration config;

	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof(config), &config) < 0)
		return 0;
	return config.rseq_abi_pointer;
}
