/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that belong together: one and all below it, those of a name, or those of a control group
 * and of the groups below that. Of these is known what each has for itself, and its share of what it has
 * together with others, from /proc/PID/smaps_rollup: the shares add up.
 */
#pragma once

#include "os/machine/machine.h"

enum machine_family {
	FAMILY_ALL,		/* all processes of the machine; shares are not read */
	FAMILY_CHILDREN,
	FAMILY_GROUP,
};

/*
 * Mark the processes that are not of pid's family as strangers, and read what the others have. A
 * process whose memory is locked, or that may not be looked at, has KERNEL_UNKNOWN. ERR_NOTFOUND:
 * the group of pid is not known.
 */
struct err *machine_family_find(const char *proc, pid_t pid, enum machine_family family,
				struct machine_holders *processes) MUST_CHECK;
/*
 * The same for the processes of a service: `what` is the path of a control group if it begins with a
 * slash; else a name as in os/processes.h, of the kernel's or of the program's file; and if no process
 * has it, the last part of a group's path. mdbg itself is in none. They are none if nobody has it.
 */
void machine_family_service(const char *proc, const char *what,
			    struct machine_holders *processes);
