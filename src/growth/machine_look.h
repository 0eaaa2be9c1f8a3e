/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The machine's memory at one moment, with its processes, the kernel's slab caches, and the control
 * groups above one process, and what has changed between two moments.
 *
 * What is not known in one of them has no change and no rate: nothing is taken for 0.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "os/machine/machine.h"
#include "os/memory_groups.h"
#include "os/machine/oom_kills.h"

struct machine_look {
	uint64_t time_ns;		/* by the monotonic clock */
	uint64_t real_ns;		/* the same moment by the time of day */
	struct machine machine;
	struct machine_holders processes, caches;
	struct oom_kills kills;
	pid_t pid;			/* 0: none */
	struct memory_groups groups;	/* of pid */
};

/*
 * Look at the machine. pid: the process whose groups are read; 0: none. If they cannot be read,
 * groups.why says the reason. lists: processes, caches and kills are read, too.
 */
struct err *machine_look_read(pid_t pid, bool lists, struct machine_look *ret) MUST_CHECK;
void machine_look_free(struct machine_look *look);
/* When a kill of the look was, in nanoseconds since 1970. */
uint64_t machine_look_kill_time(const struct machine_look *look, const struct oom_kill *kill);

/* The difference of two figures; false: one of them is no number. */
bool machine_look_change(uint64_t before, uint64_t now, int64_t *ret);
/*
 * What was counted in a second, of a figure that only grows; false also if no time has passed, or
 * if it is smaller than before.
 */
bool machine_look_rate(uint64_t before, uint64_t now, uint64_t ns, double *ret);

/* A process or a slab cache beside others: what it holds, or by how much it has grown. */
struct machine_rank {
	const struct machine_holder *holder;
	int64_t change;		/* bytes; 0 if it was not there before */
	bool known;		/* it was there before, and change is its change */
};

struct machine_ranks {
	VEC(struct machine_rank) vec;
};

/* Get the `most` of them that hold most. before: of an earlier look; NULL: there is none. */
struct err *machine_look_largest(const struct machine_holders *before,
				 const struct machine_holders *now, size_t most,
				 struct machine_ranks *ret) MUST_CHECK;
/*
 * Get those that have grown most, at most `most` of them; what began since has grown by all that it
 * holds. There are none without an earlier look at them.
 */
struct err *machine_look_grown(const struct machine_holders *before,
			       const struct machine_holders *now, size_t most,
			       struct machine_ranks *ret) MUST_CHECK;

/* When a group is full, at the rate of the time between two looks. */
struct machine_forecast {
	bool known;		/* there is a rate */
	double rate;		/* bytes a second of memory_group_hard_use; may be negative */
	bool fills;		/* it grows, and has a limit */
	double seconds;		/* then: until the limit is reached */
};

void machine_look_forecast(const struct machine_look *before, const struct machine_look *now,
			   const struct memory_group *group, struct machine_forecast *ret);
