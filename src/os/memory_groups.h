/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The control groups whose memory limits hold for a process: its own and all above it, as far as
 * they can be seen here. Both versions: the kernel's Documentation/admin-guide/cgroup-v2.rst and
 * cgroup-v1/memory.rst.
 *
 * A figure is KERNEL_UNKNOWN if the kernel does not offer it, and a limit KERNEL_NO_LIMIT if there
 * is none (os/kernel_text.h).
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "os/machine/pressure.h"

#define MEMORY_GROUP_PATH	4352	/* bytes of the longest path */

struct memory_group {
	char *path;		/* as in /proc/PID/cgroup; text from outside */
	char *folder;		/* where its files are */
	/* Bytes, of the group with those below it. */
	uint64_t limit;		/* the kernel kills above it: memory.max, memory.limit_in_bytes */
	uint64_t high;		/* the kernel slows down above it: memory.high, of version 2 */
	uint64_t use;
	uint64_t swap_limit, swap_use;	/* version 1: of memory and swap together */
	/*
	 * Version 1: the least limit of the group and all above it, also of those that cannot be seen
	 * here; and the same of memory and swap together.
	 */
	uint64_t least_limit, least_swap_limit;
	/* What counts as use, from memory.stat; shared memory is a part of file. */
	uint64_t anonymous, file, shared, kernel, sockets, slab, page_tables, kernel_stacks;
	uint64_t inactive_file;	/* the part of file that was not used lately, and goes first */
	/* Events since the group was made. */
	uint64_t at_limit;	/* times that the limit, or high, was met */
	uint64_t oom_kills;
	struct pressure pressure;	/* of version 2 */
};

struct memory_groups {
	unsigned version;	/* 1, 2; 0: no group is known */
	/* the descriptor, plus one, of a mount that only the process sees; 0: none */
	int mount;
	char why[256];		/* not all groups are here: the reason; else "" */
	VEC(struct memory_group) vec;	/* the process's own first, then upwards */
};

/*
 * Read the groups of a process. If none can be seen, `why` says the reason, and vec is empty. A
 * container that mdbg runs in may show mdbg's own groups alone: then those that the process itself
 * sees are read, below its root.
 */
struct err *memory_groups_read(pid_t pid, struct memory_groups *ret) MUST_CHECK;
/* The same, from the texts of /proc/PID/cgroup and of mdbg's own /proc/self/mountinfo. */
struct err *memory_groups_of(const char *cgroup, const char *mountinfo,
			     struct memory_groups *ret) MUST_CHECK;
/*
 * Get the path of the group that has the memory, from a text of /proc/PID/cgroup: "4:memory:/a/b" is
 * version 1, "0::/a/b" version 2, if there is no line of version 1. Returns the version; 0: none.
 */
unsigned memory_groups_parse(const char *text, char path[MEMORY_GROUP_PATH]);
/* The part of a group's path below root, "" or "/a/b"; NULL if it is not below. */
const char *memory_groups_below(const char *path, const char *root);
/* Read the limits and what is in use anew. A group that is gone has no limit from now on. */
void memory_groups_again(struct memory_groups *groups);
void memory_groups_free(struct memory_groups *groups);
/* The lower one of limit and high: KERNEL_NO_LIMIT, or KERNEL_UNKNOWN. */
uint64_t memory_group_limit(const struct memory_group *group);
/* The use without inactive_file, which the kernel takes back before it kills. */
uint64_t memory_group_hard_use(const struct memory_group *group);
/*
 * Bytes that it may still take; KERNEL_NO_LIMIT, or KERNEL_UNKNOWN. Swap is no room: what is
 * swapped out for others is missed later.
 */
uint64_t memory_group_left(const struct memory_group *group);
/* The same with least_limit, and the limits of memory and swap together. */
uint64_t memory_group_least_left(const struct memory_groups *groups,
				 const struct memory_group *group);
/* The group that has the least left, or NULL if none has a limit. */
const struct memory_group *memory_groups_nearest(const struct memory_groups *groups);
