/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Processes that belong together: one and all below it, or those of its control group and of the
 * groups below that. Of these is known what each has for itself, and its share of what it has
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
