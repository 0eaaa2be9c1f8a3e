/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The search for leaks in a view, which is a target at one moment: which memory is a root, and
 * which is not.
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

#include "heap/reach/block_graph.h"
#include "heap/reach/referrers.h"

struct heap_walk;
struct region;
struct find_address;
struct leak_marks;
struct memory_view;
struct proc_map;

/*
 * Mark the blocks in *ret, which also says what is known of their walk (`walk` is read only if
 * ret->walked). The view must be deep. Any thread.
 */
struct err *leak_search_run(const struct memory_view *view, const struct heap_walk *walk,
			    struct leak_marks *ret) MUST_CHECK;

/* The origin of a word that is a root by itself. */
enum search_from {
	SEARCH_REGISTER,	/* index: word of struct regs */
	SEARCH_VECTOR,		/* index: of the words of the vector unit */
	SEARCH_CHUNK,		/* a thread has the address of the block's chunk */
	SEARCH_DTV,		/* the start of the table that its control block points into */
	SEARCH_STACK,		/* the block that SP lies in */
	SEARCH_MAPPED,		/* a mapping that may not be a block */
	SEARCH_FREED,		/* a block that was freed since */
};

struct search_origin {
	enum search_from from;
	pid_t tid;		/* 0: no thread */
	uint32_t index;
};

struct search_origins {
	VEC(struct search_origin) vec;
};

/*
 * Find the places that point to a block (heap/reach/referrers.h), with the roots and blocks of
 * leak_search_run. find->in is as there, but nothing is marked; find->heap has the walk. The place of a
 * WORD_ALONE is the index of its origin, which is a register or a chunk. The caller frees
 * *origins, after an error as well; they are filled in before spec->is_firm is called.
 */
struct err *leak_search_referrers(const struct memory_view *view, struct find_address *find,
				  const struct referrers_spec *spec,
				  struct search_origins *origins,
				  struct referrers *ret) MUST_CHECK;
/*
 * Find all pointers, with the roots and blocks of leak_search_run, but that nothing is marked: `in`
 * has the blocks and, if walked, their walk. *origins has those of the words without a place; the
 * caller frees it, after an error as well.
 */
struct err *leak_search_graph(const struct memory_view *view, struct leak_marks *in,
			      struct search_origins *origins, struct block_graph *ret) MUST_CHECK;
/*
 * Is this mapping searched for pointers? (glibc's heaps and mdbg's own memory are decided
 * elsewhere.) region: as in struct memory_view.
 */
bool leak_search_is_root(const struct region *region, const struct proc_map *map);
/* Has mdbg mapped it in the target? */
bool leak_search_is_own(const struct region *region, const struct proc_map *map);
