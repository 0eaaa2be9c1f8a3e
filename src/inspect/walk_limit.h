/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How many chunks a walk of the heaps may find, which is how much memory of mdbg's own it takes.
 *
 * A process can make a heap of any length that is the same memory again and again: 64 MB, mapped a
 * thousand times, have as many headers as 64 GB. But the header of a chunk is written by the
 * process, into private memory: each of its pages is the process's own, and has 128 chunks at most.
 * So there are no more than that of what it has (anonymous, swapped out, huge), which is what the
 * kernel counts; a forger pays for each page. It does not help him to have files mapped: they count
 * as files, which have no chunks.
 *
 * The other bound is what mdbg itself may take (os/memory_limits.h): half of what is left of it, at
 * WALK_LIMIT_COST bytes a chunk. In a container that is often the target's own group.
 *
 * A walk that meets a bound gives an error, and no figures: those of a part would be wrong.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "os/memory_limits.h"

#define WALK_LIMIT_COST		24u	/* bytes in the list of chunks, of links, and of blocks */

struct walk_limit {
	uint64_t chunks;		/* UINT64_MAX: any number */
	const struct memory_limit *own;	/* of mdbg, whose memory has no room for more; or NULL */
};

/*
 * The bound for the memory of pages_of; 0: no process has it. own: what mdbg itself may take; kind
 * 0: not known. It is read before the target is stopped, since that takes a millisecond.
 */
void walk_limit_find(const struct memory_limit *own, pid_t pages_of, struct walk_limit *ret);
/* In place of the ERR_RANGE by which a walk ended at this bound; other errors stay. */
struct err *walk_limit_say(const struct walk_limit *limit, struct err *err) MUST_CHECK;
