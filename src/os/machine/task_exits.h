/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What each process of the machine took, as the kernel says it when it ends (taskstats; the kernel's
 * Documentation/accounting/taskstats.rst). So nothing has to be asked while it runs, and no run is too
 * short to be seen. It takes CAP_NET_ADMIN in the first namespaces, and Linux 5.19.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

/* The end of a thread. */
struct task_exit {
	pid_t parent;		/* of its process, in the first PID namespace */
	char name[32];		/* of the program, or as it has named itself; text from outside */
	bool last;		/* its process has ended with it */
	bool failed;		/* ... and not with status 0 */
	uint64_t most;		/* bytes of its process that were resident at most */
	uint64_t cpu_ns, faults;	/* of the thread */
};

typedef void task_exits_fn(void *ctx, const struct task_exit *exit);

/* Begin to listen. ERR_PERM, ERR_UNSUPPORTED. The caller closes the descriptor. */
struct err *task_exits_open(int *fd_ret) MUST_CHECK;
/*
 * Call fn for those that have come since. *lost_ret is set, and else left alone, if there were more than
 * the kernel keeps.
 */
struct err *task_exits_read(int fd, task_exits_fn *fn, void *ctx, bool *lost_ret) MUST_CHECK;
/*
 * The same for one datagram; what is no message of such an end is passed over. ERR_UNSUPPORTED: it is one
 * of an older kernel.
 */
struct err *task_exits_take(const void *bytes, size_t len, task_exits_fn *fn, void *ctx) MUST_CHECK;
