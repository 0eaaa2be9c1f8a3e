/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory and the tasks that the control groups of a process leave it; version 1 and 2. */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct cgroup_room {
	uint64_t memory;	/* bytes; UINT64_MAX: no limit, or none that can be seen from here */
	uint64_t tasks;		/* the same */
};

/*
 * The least that pid's groups and those above them leave; file pages that were not used lately
 * count as free. *ret is UINT64_MAX where nothing is to be read.
 */
void cgroup_room(pid_t pid, struct cgroup_room *ret);
/*
 * cgroup_room for the text of a /proc/PID/cgroup and the folder where groups are mounted. For
 * tests.
 */
void cgroup_room_of(const char *text, const char *mount, struct cgroup_room *ret);
