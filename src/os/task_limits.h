/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * May a process make some tasks more, by all limits that hold? Who makes one in its name takes it
 * from what the process itself may make.
 *
 *	its control groups	pids.max (os/cgroup.h)
 *	its user		RLIMIT_NPROC, of which all tasks of the user's count. The kernel lets root
 *				pass, and who has CAP_SYS_ADMIN or CAP_SYS_RESOURCE, but not in a user
 *				namespace. To count a user's tasks is long, so it is done only if all
 *				tasks of the machine would not fit. In a container not all are seen:
 *				there all of the machine's are taken for the user's
 *	the machine		kernel.threads-max and kernel.pid_max
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/* Why the process can make fewer than `margin` tasks; NULL: it can, as far as is known. */
const char *task_limits_close(pid_t pid, uint64_t margin);
