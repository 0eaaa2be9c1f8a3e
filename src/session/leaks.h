/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leak search in a target as it is at one moment: who is a root, and who is not.
 *
 *	roots		registers of all threads, those of the vector unit too where a thread is not in
 *			a system call (no call keeps them); stacks, from the red zone below SP up; and
 *			all other memory that can be written, whatever it is of: data of modules, thread
 *			control blocks with static TLS, mappings of the program, shared memory. Private
 *			memory without a file that can only be read was written once, and is one, too.
 *			The table of a thread's dynamic TLS (dtv) is known by a pointer into its middle
 *			alone: it is taken for one to its start.
 *	no roots	stacks below SP, where their bounds are known; devices; what mdbg has mapped;
 *			memory without a file that was never written; of glibc's heaps all but the
 *			blocks: free chunks, and the bins of its arenas
 *	heaps		memory in which blocks lie, where it cannot be walked (another allocator, a
 *			heap that is damaged): blocks from before the attach may be in it, with the only
 *			pointers to others. It is taken for a root (mark.heap_bytes), which makes up no
 *			leak, but can hide some: freed blocks and the allocator's own tables have
 *			pointers, too
 *
 * The moment is a stop. In it all that is small is read, threads above all; the memory is searched
 * in the same stop, or, if the target is large, in a snapshot (tracee/snapshot.h) while it goes on.
 * Its log goes on, too: blocks are those with a record from before, and those that the heaps of the
 * snapshot have without one (heap/reconcile.h).
 *
 * Blocks of followed children are in other memory: they are left out, and counted.
 */
#pragma once

#include "heap/reach.h"

struct session;

struct session_leaks {
	struct packed_list held;		/* blocks of the target, with their kinds */
	struct reach_result mark;	/* of these */
	bool walked;			/* blocks from before the attach are among them */
	char why[256];			/* why not */
	bool core;			/* of a core file, which leaves out what was never written */
	uint64_t damages;		/* of the heaps, by the walk: heaps are roots then */
	bool caches_known;		/* false: free blocks may seem to be lost ones */
	uint64_t blind_threads;		/* whose registers could not be read */
	uint64_t under_way;		/* blocks that a realloc had in hand all the time */
	uint64_t pause_ns;		/* for which the target stood still; the longest of several */
	bool snapshot;			/* it was searched in one */
	bool lent;			/* to be freed is held.live alone */
	char no_snapshot[256];		/* why it was not, though it was to be */
};

/*
 * SESSION_LEAKS_AUTO: a snapshot, if the target has more than SESSION_LEAKS_LARGE bytes of its own.
 * Where none can be made safely, the target is stopped for all of the search, and no_snapshot says
 * why. Of one that stands still anyhow none is made.
 */
enum session_leaks_how { SESSION_LEAKS_AUTO, SESSION_LEAKS_STOP, SESSION_LEAKS_SNAPSHOT };

#define SESSION_LEAKS_LARGE	(64ull << 20)

/*
 * Stops the target, and lets it go on if it ran. Of one that has ended: what was found at its end, if
 * it was looked at (leaks_at_end of the configuration; not one that was killed by SIGKILL, or runs
 * another program). ERR_STATE without either, or a log; ERR_CANCELLED. timed: the blocks have times and
 * threads, which take half as much memory again.
 */
struct err *session_leaks(struct session *session, enum session_leaks_how how, bool timed,
			  struct session_leaks *ret) MUST_CHECK;
void session_leaks_free(struct session_leaks *leaks);
