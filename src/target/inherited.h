/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forked children that nobody traced when they were made: processes that have the start of a
 * region's file, its journal, mapped. They have their parent's jumps, too, which pass everything
 * through there (agent/state.h), and leftover_clean takes all of it out.
 *
 * They are known by the file alone: a child's own children are found as well, and so are those whose
 * parent is gone (daemons).
 */
#ifndef TARGET_INHERITED_H
#define TARGET_INHERITED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"

struct region;
struct target;

struct inherited {
	VEC(pid_t) vec;
};

/* The number of a region's file; 0 if it cannot be had. */
uint64_t inherited_file(const struct region *region);
/*
 * The same, of what an earlier mdbg has left in a target that was its target, not a forked child of
 * it; 0: there is none.
 */
uint64_t inherited_file_left(struct target *target);
/*
 * All processes, but those that share the target's memory, that have the file's journal mapped, as
 * far as their maps may be read. Looks at all of /proc.
 */
struct err *inherited_find(const struct target *target, uint64_t inode,
			   struct inherited *ret) MUST_CHECK;
/* Has this process it mapped (still)? */
bool inherited_by(pid_t pid, uint64_t inode);

#endif
