/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a task is (task.h). */

#include "os/task.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/kcmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The kernel compares the two ids (do_send_specific), and sends nothing for signal 0. Without the
 * right to send one (EPERM) they were found equal before that.
 */
bool task_is_of(pid_t tid, pid_t process)
{
	return !syscall(SYS_tgkill, process, tid, 0) || errno == EPERM;
}

/* PF_IO_WORKER from Linux 5.12 on (PF_VCPU before that), and PF_USER_WORKER from 6.4 on. */
#define IO_WORKER	0x00000010u
#define USER_WORKER	0x00004000u
/* All of the first 31 signals but SIGKILL and SIGSTOP. */
#define ALL_BLOCKED	(0x7fffffffu & ~(1u << (SIGKILL - 1) | 1u << (SIGSTOP - 1)))

/*
 * A worker blocks all signals from its first moment (copy_process), and has no robust list, which a
 * thread sets for itself.
 */
bool task_is_kernels(pid_t tid, const struct proc_stat *stat)
{
	struct robust_list_head *head = NULL;
	size_t len;

	if (stat->flags & PROC_KERNEL_THREAD)
		return true;
	if (!(stat->flags & (IO_WORKER | USER_WORKER)) || stat->blocked != ALL_BLOCKED)
		return false;
	return syscall(SYS_get_robust_list, tid, &head, &len) || !head;
}

static long compare_memory(pid_t a, pid_t b)
{
	return syscall(SYS_kcmp, a, b, KCMP_VM, 0, 0);
}

bool task_may_share(pid_t a, pid_t b)
{
	long order = compare_memory(a, b);

	return order == 0 || (order < 0 && errno != ESRCH);
}

/*
 * Does it have any memory? Two tasks without any, such as threads of the kernel, compare as equal.
 */
static bool has_memory(pid_t pid)
{
	struct proc_status status;

	return !procfs_status(pid, &status) && status.has_vm;
}

struct err *task_sharers(pid_t process, pid_t tid, struct proc_tasks *ret)
{
	struct proc_tasks all;
	size_t nr = 0;
	struct err *err = procfs_numbers("/proc", &all);

	if (err)
		return err;
	vec_each(pid, &all.vec)
		if (*pid != process && !compare_memory(*pid, tid) && has_memory(*pid))
			all.vec.at[nr++] = *pid;
	all.vec.nr = nr;
	*ret = all;
	return NULL;
}
