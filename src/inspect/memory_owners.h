/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Whose the anonymous memory of the process is, while the process runs on.
 *
 *	heaps	The allocator's own data say it (glibc_ranges). Of other allocators, where what
 *		is theirs is not known, all private memory without a name is heap that nobody else
 *		owns, as most of it is: figures that follow the blocks of the log would move by
 *		themselves, as it gets to know more. Where a language's runtime has a heap of its
 *		own beside it (Java, V8), only mappings in which the log has blocks are heap.
 *	stacks	A thread that libc has made has its control block in the last page of its stack's
 *		memory, and the block begins with two words that point at the block itself (the ABI
 *		of x86-64, and glibc's `self`). The block names its thread and the bounds of its
 *		stack, at offsets that are known if probes are in (tracee/tcb.h). The stack of a
 *		thread that has ended and was not joined stays, and so does its block. If the kernel
 *		has made one mapping of a stack and of what lies behind it, the block is looked for
 *		where a stack of the size of others would end.
 *		Threads that are not found so, of another libc or on a stack of the program's, are
 *		found by their SP if they wait.
 *	mdbg's	Its journal lists them.
 *
 * No page is read that the process has not touched, because a read would make the kernel give it
 * one.
 */
#pragma once

#include "growth/memory_use.h"
#include "inspect/allocator_libcs.h"

struct log;
struct probes;
struct proc_tasks;
struct region;

/* What is known of the process beside its mappings. */
struct memory_facts {
	struct allocator_libcs libcs;	/* points to itself */
	uint32_t tid_offset, stack_offset;	/* in a control block; 0: not known */
};

/*
 * Tracer thread: find them, which touches nothing of the process. What is owned for certain goes to
 * owners: memory of mdbg's and, by the registers of a core file, stacks.
 */
struct err *memory_owners_facts(const struct target *target, const struct probes *probes,
				const struct proc_maps *maps, struct memory_facts *ret,
				struct memory_owners *owners) MUST_CHECK;

/* Add what mdbg has mapped, by its journal. */
struct err *memory_owners_own(const struct region *region, struct memory_owners *owners) MUST_CHECK;

struct memory_owners_of {
	pid_t pid;
	const struct smaps *smaps;
	struct memory *memory;
	struct pagemap *pagemap;
	const struct proc_tasks *tasks;	/* its threads; NULL: a core file */
	/* It has heaps of which only the blocks of the log (NULL: they are not there) say where ... */
	bool unknown_heaps;
	bool guessed_heaps;	/* ... or has them, if these are not glibc's */
	bool runtimes;		/* it has memory of a language's runtime */
	const struct log *log;
};

/* Main thread: find the rest. A part that cannot be read is left out. */
struct err *memory_owners_find(const struct memory_owners_of *of, const struct memory_facts *facts,
			       struct memory_owners *owners) MUST_CHECK;
/*
 * Main thread: what is free in the heaps, whose lists are read for budget_ns at most. Of all only
 * the maps, the memory and the pagemap are used. Not known if there are no heaps of that kind.
 */
struct err *memory_owners_free(const struct memory_owners_of *of, const struct memory_facts *facts,
			       uint64_t budget_ns, struct heap_free *ret) MUST_CHECK;
