/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The tasks that a process may still make by its control groups; version 1 and 2. For memory see
 * os/memory_limits.h.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

/*
 * Read the least that pid's groups, and the groups above them, have left of pids.max; UINT64_MAX: no
 * limit, or none that is visible here.
 */
uint64_t cgroup_tasks(pid_t pid);
/*
 * Like cgroup_tasks, from the text of a /proc/PID/cgroup and the folder where groups are mounted.
 * For tests.
 */
uint64_t cgroup_tasks_of(const char *text, const char *mount);
