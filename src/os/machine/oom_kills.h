/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whom the kernel has killed for lack of memory, as its messages say it (/dev/kmsg, the kernel's
 * Documentation/ABI/testing/dev-kmsg). The kernel drops old messages, and its counters know of more
 * kills than are listed here (os/machine.h, oom_kills). Lines that a process has written there are
 * not the kernel's, and are passed over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/outside.h"
#include "base/vec.h"

struct oom_kill {
	uint64_t time_ns;		/* by the messages' clock, which is near the monotonic one */
	pid_t pid;			/* in the first PID namespace, as in all messages */
	struct outside_name name;
	uint64_t anonymous, file, shared;	/* bytes in memory then */
	/* The group whose limit was met; empty: the machine's memory, or a kernel before 5.0. */
	char group[256];
};

struct oom_kills {
	char why[128];			/* why they cannot be known; empty: they are */
	VEC(struct oom_kill) vec;	/* the oldest first */
};

/* Read the messages that are there now. ERR_NOMEM. */
struct err *oom_kills_read(struct oom_kills *ret) MUST_CHECK;
/*
 * Take one message: "PRIORITY,SEQUENCE,MICROSECONDS,FLAGS;TEXT", which ends with a zero. *group is
 * what the messages before have said of the next kill, 256 bytes that begin as "".
 */
struct err *oom_kills_take(struct oom_kills *kills, const char *message, char *group) MUST_CHECK;
