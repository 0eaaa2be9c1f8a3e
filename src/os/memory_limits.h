/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How much more memory may be taken in the name of a process: every limit that the kernel has, in
 * one table, each with what is left of it and its name for the user. Whoever spends memory asks it
 * with the kinds that hold for what it spends:
 *
 *	ADDRESSES	RLIMIT_AS of the process: what is mapped in it
 *	COMMIT		CommitLimit, where memory is never overcommitted: what is promised
 *	GROUPS		its control groups, version 1 and 2, each level up to the root: pages
 *	OWN_GROUPS	mdbg's: pages are charged to the group of the process that touches them
 *			first, which is mdbg where it faults them in ahead
 *	MACHINE		MemAvailable: pages
 *	OWN		RLIMIT_AS and RLIMIT_DATA of mdbg: its own memory
 *
 * What a process had at its peak and has given back since it may want again, so that GROUPS and
 * MACHINE leave room for it.
 *
 * A limit that cannot be read counts as none. RLIMIT_MEMLOCK is not in the table: what mdbg maps in
 * a process is not locked (tracee/region.c), and its own memory is not.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/memory_groups.h"

#define MEMORY_LIMIT_ADDRESSES	1u
#define MEMORY_LIMIT_COMMIT	2u
#define MEMORY_LIMIT_GROUPS	4u
#define MEMORY_LIMIT_OWN_GROUPS	8u
#define MEMORY_LIMIT_MACHINE	16u
#define MEMORY_LIMIT_OWN	32u

/* The limits that count for pages of a file which mdbg and the process write. */
#define MEMORY_LIMITS_SHARED	(MEMORY_LIMIT_GROUPS | MEMORY_LIMIT_OWN_GROUPS | \
				 MEMORY_LIMIT_MACHINE)
/* The limits that count for memory of mdbg's own. */
#define MEMORY_LIMITS_OWN	(MEMORY_LIMIT_OWN | MEMORY_LIMIT_OWN_GROUPS | \
				 MEMORY_LIMIT_COMMIT | MEMORY_LIMIT_MACHINE)

struct memory_limits {
	pid_t pid;			/* 0: only mdbg's own limits are asked for */
	const char *proc;		/* "/proc", or a tree of a test */
	struct memory_groups groups;
	struct memory_groups own;	/* none, if they are those of the process */
	bool fresh;			/* they were read just now */
};

/* The limit of which the least is left. */
struct memory_limit {
	uint64_t left;			/* bytes; UINT64_MAX: there is no limit */
	unsigned kind;
	char name[192];			/* "the control group /a/b has a limit of 260M" */
	char hint[96];			/* the way out */
};

/* Find the control groups of pid (0: none), and mdbg's. Groups that cannot be seen have no limit. */
void memory_limits_open(pid_t pid, struct memory_limits *ret);
void memory_limits_close(struct memory_limits *limits);
/* Read the limits of these kinds anew; ret gets the one of which the least is left. */
void memory_limits_least(struct memory_limits *limits, unsigned kinds, struct memory_limit *ret);
/* Open, ask for the least limit of these kinds, and close. */
void memory_limits_of(pid_t pid, unsigned kinds, struct memory_limit *ret);

/* Is memory never overcommitted on this machine (vm.overcommit_memory is 2)? */
bool memory_limits_never_overcommitted(void);
