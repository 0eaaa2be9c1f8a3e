/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine's processes by name. */
#pragma once

#include <sys/types.h>

#include "base/err.h"
#include "base/outside.h"
#include "base/vec.h"

struct process_name {
	pid_t pid;
	struct outside_name name;	/* the kernel's: at most 15 bytes, /proc/PID/comm */
};

struct process_names {
	VEC(struct process_name) vec;	/* in order of pid */
};

/*
 * The processes of this name, or all if it is NULL; never mdbg itself, threads of the kernel and
 * processes that have ended. A process has two names: that which the kernel keeps, which it may
 * change, and that of the file of its program. Without the right to see its program it has the
 * first alone.
 */
struct err *processes_named(const char *name, struct process_names *ret) MUST_CHECK;
