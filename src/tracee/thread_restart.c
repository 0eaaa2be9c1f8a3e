/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps system calls from returning EINTR because of a mere stop.
 *
 * Most calls come back from a stop by themselves: the kernel restarts them (ERESTARTSYS and its
 * kin) when no handler runs. Some return a plain EINTR (signal(7)). Those are repeated with the
 * same arguments: only calls that did nothing when they return EINTR are in the list (close, for
 * one, is not). A relative time limit starts anew: such a call may end later, never earlier.
 */

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>

#include "tracee/target.h"

static const long repeatable[] = {
	SYS_read, SYS_readv, SYS_pread64, SYS_write, SYS_writev,
	SYS_recvfrom, SYS_recvmsg, SYS_recvmmsg, SYS_sendto, SYS_sendmsg, SYS_sendmmsg,
	SYS_accept, SYS_accept4, SYS_connect,
	SYS_epoll_wait, SYS_epoll_pwait, SYS_epoll_pwait2,
	SYS_semop, SYS_semtimedop, SYS_msgrcv, SYS_msgsnd, SYS_mq_timedreceive, SYS_mq_timedsend,
	SYS_rt_sigtimedwait, SYS_io_getevents, SYS_io_pgetevents, SYS_io_uring_enter,
};

/* Signals whose default is to do nothing. */
#define IGNORED_BY_DEFAULT                                                                         \
	(1ull << (SIGCHLD - 1) | 1ull << (SIGURG - 1) | 1ull << (SIGWINCH - 1) |                   \
	 1ull << (SIGCONT - 1))

static bool is_repeatable(long nr)
{
	for (size_t i = 0; i < ARRAY_SIZE(repeatable); i++)
		if (repeatable[i] == nr)
			return true;
	return false;
}

/*
 * Will the thread run a handler, or end, because of a signal that is pending or about to be
 * delivered?
 */
static bool takes_signal(const struct thread *thread, int signal)
{
	struct proc_status status;
	struct err *err = procfs_status(thread->tid, &status);
	uint64_t waiting;

	if (err)
		return true;
	waiting = (status.sig_pending | status.shared_pending) & ~status.sig_blocked;
	if (signal)
		waiting |= 1ull << (signal - 1);
	/* While a thread is traced, the kernel queues even signals that are ignored. */
	waiting &= ~status.sig_ignored;
	waiting &= ~(IGNORED_BY_DEFAULT & ~status.sig_caught);
	return waiting;
}

void thread_restart_syscall(struct thread *thread, int signal)
{
	const struct arch *arch = thread->target->arch;
	struct regs *regs = &thread->regs;
	int64_t nr = (int64_t)regs_get(regs, arch->orig_syscall);

	if (nr < 0 || (int64_t)regs_get(regs, arch->syscall_ret) != -EINTR)
		return;
	if (!is_repeatable(nr) || takes_signal(thread, signal))
		return;
	regs_set(regs, arch->syscall_nr, (uint64_t)nr);
	regs_set(regs, arch->pc, regs_get(regs, arch->pc) - arch->syscall_insn_len);
	regs_set(regs, arch->orig_syscall, UINT64_MAX);
	thread->regs_changed = true;
}
