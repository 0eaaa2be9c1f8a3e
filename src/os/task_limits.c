/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How many tasks a process may make (theory in task_limits.h). */

#include "os/task_limits.h"

#include <linux/capability.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "os/cgroup.h"
#include "os/file.h"
#include "os/procfs.h"

/* The inode of the first user namespace (PROC_USER_INIT_INO). */
#define FIRST_USER_NAMESPACE	0xeffffffdu

/* Count all tasks of the machine, whatever namespace they are in; 0: not known. */
static uint64_t count_all(void)
{
	AUTO_FCLOSE FILE *file = fopen("/proc/loadavg", "re");
	unsigned long nr;

	return file && fscanf(file, "%*s %*s %*s %*u/%lu", &nr) == 1 ? nr : 0;
}

static uint64_t count_of(uid_t uid)
{
	struct proc_tasks processes;
	struct err *err = procfs_numbers("/proc", &processes);
	uint64_t nr = 0;

	if (err) {
		err_ignore(err);
		return UINT64_MAX;
	}
	vec_each(pid, &processes.vec) {
		struct proc_status status;

		err = procfs_status(*pid, &status);
		if (!err && status.uid == uid)
			nr += status.threads;
		err_ignore(err);	/* it has ended */
	}
	vec_free(&processes.vec);
	return nr;
}

static bool is_exempt(pid_t pid, const struct proc_status *status)
{
	const uint64_t any = 1ull << CAP_SYS_ADMIN | 1ull << CAP_SYS_RESOURCE;
	char path[40];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/ns/user", pid);
	return !stat(path, &st) && st.st_ino == FIRST_USER_NAMESPACE &&
	       (!status->uid || status->cap_effective & any);
}

static bool exceeds(uint64_t limit, uint64_t nr, uint64_t margin)
{
	return limit < margin || nr > limit - margin;
}

static bool user_is_close(pid_t pid, uint64_t all, uint64_t margin)
{
	struct proc_status status;
	char path[40];
	uint64_t limit;
	struct err *err;

	/* prlimit(2) shows another user's only to who has CAP_SYS_RESOURCE. */
	snprintf(path, sizeof(path), "/proc/%d/limits", pid);
	if (!file_number(path, "Max processes", &limit) || (all && !exceeds(limit, all, margin)))
		return false;
	err = procfs_status(pid, &status);
	if (err) {
		err_ignore(err);
		return false;
	}
	return !is_exempt(pid, &status) &&
	       exceeds(limit, procfs_sees_all() ? count_of(status.uid) : UINT64_MAX, margin);
}

static bool machine_is_close(const char *file, uint64_t all, uint64_t margin)
{
	uint64_t limit;

	return file_number(file, "", &limit) && exceeds(limit, all, margin);
}

const char *task_limits_close(pid_t pid, uint64_t margin)
{
	uint64_t all = count_all();

	if (cgroup_tasks(pid) < margin)
		return "the control group is close to its limit of tasks (pids.max)";
	if (user_is_close(pid, all, margin))
		return "the user is close to the limit of processes (RLIMIT_NPROC)";
	if (machine_is_close("/proc/sys/kernel/threads-max", all, margin) ||
	    machine_is_close("/proc/sys/kernel/pid_max", all, margin))
		return "the machine is close to its limit of tasks";
	return NULL;
}
