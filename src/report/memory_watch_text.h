/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A reading of `memory watch`: atop's line of a process, and its MEM, SWP and PAG of the machine. */
#pragma once

#include "base/outside.h"
#include "os/machine/machine.h"

struct memory_verdict;
struct out;

/* Figures are KERNEL_UNKNOWN if the kernel does not offer them. */
struct memory_reading {
	uint64_t time_ns;		/* by the monotonic clock */
	pid_t pid;
	struct outside_name name;
	uint64_t min_faults, maj_faults;	/* since the process began */
	uint64_t vsize, rsize, swap;	/* bytes */
	uint64_t psize;			/* bytes; of the last look at its mappings */
	struct machine machine;
};

/*
 * Print a reading. before: the one before it, or NULL; verdict: NULL if there is none. The names of
 * figures are atop's; all are bytes or numbers of events, those of PAG since the reading before.
 */
struct err *memory_watch_text_print(const struct memory_reading *before,
				    const struct memory_reading *now,
				    const struct memory_verdict *verdict,
				    struct out *out) MUST_CHECK;
