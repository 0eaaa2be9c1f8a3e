/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The memory and the tasks that a process may still get from its control groups; version 1 and 2.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct cgroup_room {
	uint64_t memory;	/* bytes; UINT64_MAX: no limit, or none that is visible here */
	uint64_t tasks;		/* also UINT64_MAX without a limit */
};

/*
 * Read the least that pid's groups, and the groups above them, have left. File pages that were not
 * used lately count as free. Members of *ret are UINT64_MAX if nothing can be read.
 */
void cgroup_room(pid_t pid, struct cgroup_room *ret);
/*
 * Like cgroup_room, from the text of a /proc/PID/cgroup and the folder where groups are mounted.
 * For tests.
 */
void cgroup_room_of(const char *text, const char *mount, struct cgroup_room *ret);
