/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the machine's processes by name. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/outside.h"
#include "base/vec.h"

struct process_name {
	pid_t pid;
	struct outside_name name;	/* from /proc/PID/comm: at most 15 bytes */
};

struct process_names {
	VEC(struct process_name) vec;	/* in order of pid */
};

/*
 * Find the processes with this name, or all if it is NULL; never mdbg itself, kernel threads or
 * processes that have ended. A process has two names: one that the kernel keeps and the process may
 * change, and that of its program file. Only the first one is known without the right to see its
 * program.
 */
struct err *processes_named(const char *name, struct process_names *ret) MUST_CHECK;
