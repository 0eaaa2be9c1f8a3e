/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a leak search (leak_search.h): blocks, and which of them something leads to. */
#pragma once

#include "heap/reach/reach.h"
#include "inspect/heaps.h"

/* The largest of mark.holders: where they are. */
enum leak_holder_in {
	LEAK_HOLDER_STACK,		/* of thread tid */
	LEAK_HOLDER_REGISTER,	/* index: word of struct regs */
	LEAK_HOLDER_VECTOR,
};

struct leak_holder {
	uint32_t number;	/* in mark.holders */
	enum leak_holder_in in;
	pid_t tid;
	uint32_t index;
	uint64_t pc;		/* of a stack: of its frame's function; 0: not known */
	bool returns;		/* pc is a return address */
};

#define LEAK_HOLDERS_MAX	100u

/*
 * Bytes of shared memory and shared files that are no part of the search: reading them would change
 * something (os/page_rules.h). They may hide the only pointers to blocks, if the process or another
 * one has written some there.
 */
struct search_unread {
	uint64_t absent;	/* pages that the process does not have: never touched, or given up */
	uint64_t elsewhere;	/* of devices, and of files of FUSE, NFS and the like */
};

struct leak_marks {
	struct packed_list held;		/* blocks of the target and their kinds */
	struct heaps heap;	/* the walk that they are from */
	struct reach_result mark;	/* of these */
	VEC(struct leak_holder) holders;	/* most bytes first; at most LEAK_HOLDERS_MAX */
	uint32_t generation;		/* of the module map, for their pc */
	bool walked;			/* blocks from before the attach are among them */
	char why[256];			/* why not */
	bool core;			/* a core file, which lacks memory that was never written */
	/*
	 * Damaged places that the walk found, and places that a thread may be changing. If there
	 * are any, the heaps count as roots.
	 */
	uint64_t damages, uncertain;
	bool caches_known;		/* false: free blocks may seem to be lost ones */
	struct search_unread unread;
	uint64_t blind_threads;		/* whose registers could not be read */
	uint64_t under_way;		/* blocks that a realloc had in hand all the time */
	/* for which the target stood still; the longest of several; 0: it stood anyhow */
	uint64_t pause_ns;
	bool snapshot;			/* it was searched in one */
	bool lent;			/* free only held.live */
	char no_snapshot[256];		/* why none was made, though one was wanted */
};

void leak_marks_free(struct leak_marks *leaks);
/*
 * The blocks are lent to the caller, for as long as found is there; leaks_stale replaces
 * ret->held.live.
 */
struct err *leak_marks_lend(const struct leak_marks *found, struct leak_marks *ret) MUST_CHECK;
/* Empty it, but for `why`. */
void leak_marks_forget(struct leak_marks *leaks);
/*
 * err is that of the walk by which leaks->heap was made: note what the walk says or, if there is
 * none, why. Errors that end the search are returned.
 */
struct err *leak_marks_take_walk(struct leak_marks *leaks, struct err *err) MUST_CHECK;
/*
 * Were the heaps in the middle of a change, or damaged? Then free chunks may be taken for blocks,
 * and for lost ones.
 */
bool leak_marks_torn(const struct leak_marks *leaks);
