/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Leak search in a target as it is at one moment: which memory is a root, and which is not.
 *
 *	roots		registers of all threads, those of the vector unit too where a thread is not in
 *			a system call (no call keeps them); stacks, from the red zone below SP up; and
 *			all other memory that can be written, whatever it is of: data of modules, thread
 *			control blocks with static TLS, mappings of the program, shared memory. Private
 *			memory without a file that can only be read was written once, and is one, too.
 *			The table of a thread's dynamic TLS (dtv) is known by a pointer into its middle
 *			alone: it is taken for one to its start.
 *	stacks and	come last, word by word: what hangs on a word of them alone is still
 *	registers	reachable, but the word may be dead (struct reach_holder, leak_stacks.h)
 *	no roots	stacks below SP, where their bounds are known, and those of threads that
 *			have ended; at the end of the process, what lies below the call of exit;
 *			what mdbg has mapped; pages that the process has not got, and devices
 *			(os/page_rules.h): of shared memory they are counted (search_unread);
 *			memory without a file that was never written; of glibc's heaps all but the
 *			blocks: free chunks, and the bins of its arenas
 *	heaps		memory in which blocks lie, where it cannot be walked (another allocator, a
 *			heap that is damaged): blocks from before the attach may be in it, with the only
 *			pointers to others. It is taken for a root (mark.heap_bytes), which makes up no
 *			leak, but can hide some: freed blocks and the allocator's own tables have
 *			pointers, too
 *
 * The moment is a stop, in which mdbg reads everything that is small, above all the threads. It
 * searches the memory in the same stop, or, if the target is large, in a snapshot
 * (tracee/snapshot.h) while the target runs on. Its log goes on, too; so the blocks are those with
 * a record from before that moment, and those without one that are in the heaps of the snapshot
 * (heap/reconcile.h).
 *
 * Blocks of followed children are in other memory: they are left out, and counted.
 */
#pragma once

#include "heap/reach.h"
#include "inspect/heaps.h"

/* The largest of mark.holders: where they are. */
enum session_holder_in {
	SESSION_HOLDER_STACK,		/* of thread tid */
	SESSION_HOLDER_REGISTER,	/* index: word of struct regs */
	SESSION_HOLDER_VECTOR,
};

struct session_holder {
	uint32_t number;	/* in mark.holders */
	enum session_holder_in in;
	pid_t tid;
	uint32_t index;
	uint64_t pc;		/* of a stack: of its frame's function; 0: not known */
	bool returns;		/* pc is a return address */
};

#define SESSION_HOLDERS_MAX	100u

/*
 * Bytes of shared memory and shared files that are no part of the search: reading them would change
 * something (os/page_rules.h). They may hide the only pointers to blocks, if the process or another
 * one has written some there.
 */
struct search_unread {
	uint64_t absent;	/* pages that the process does not have: never touched, or given up */
	uint64_t elsewhere;	/* of devices, and of files of FUSE, NFS and the like */
};

struct session_leaks {
	struct packed_list held;		/* blocks of the target and their kinds */
	struct session_heap heap;	/* the walk that they are from */
	struct reach_result mark;	/* of these */
	VEC(struct session_holder) holders;	/* most bytes first; at most SESSION_HOLDERS_MAX */
	uint32_t generation;		/* of the module map, for their pc */
	bool walked;			/* blocks from before the attach are among them */
	char why[256];			/* why not */
	bool core;			/* a core file, which lacks memory that was never written */
	/* that the walk has found: the heaps are roots then; uncertain: they may be in change */
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

void session_leaks_free(struct session_leaks *leaks);
/*
 * The blocks are lent to the caller, for as long as found is there; leaks_stale replaces
 * ret->held.live.
 */
struct err *leaks_lend(const struct session_leaks *found, struct session_leaks *ret) MUST_CHECK;
/* Empty it, but for `why`. */
void leaks_forget(struct session_leaks *leaks);
/*
 * err is that of the walk by which leaks->heap was made: note what the walk says or, if there is
 * none, why. Errors that end the search are returned.
 */
struct err *leaks_take_walk(struct session_leaks *leaks, struct err *err) MUST_CHECK;
/*
 * Were the heaps in the middle of a change, or damaged? Then free chunks may be taken for blocks,
 * and for lost ones.
 */
bool leaks_torn(const struct session_leaks *leaks);
