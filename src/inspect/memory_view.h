/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A memory view: the state of a target at one moment, as far as walks of its heaps and the search
 * for leaks need it. It is taken in one stop (session/view_take.h). Code that works on it asks the
 * process for nothing more, so the memory may come from another source than the live process, and
 * the log may go on (`until`).
 */
#pragma once

#include "arch/arch.h"
#include "base/memory.h"
#include "heap/block.h"
#include "os/procfs.h"
#include "probe/probe.h"

struct region;
struct stack_frames;
struct target;

struct memory_view_thread {
	pid_t tid;
	bool stopped;		/* false: it is stuck, and regs has at most SP and PC */
	bool placed;		/* SP is known */
	bool in_syscall;
	bool inside;		/* in the allocator, or perhaps: see session/view_take.c */
	bool aborts;		/* the allocator has called abort in it */
	bool blind;		/* its vector registers could not be read */
	struct regs regs;
	/* if it has called exit: its stack is in use from here on, and its registers are not; or 0 */
	uint64_t exit_low;
	uint64_t tp;		/* thread pointer; 0: not known */
	size_t vector, nr_vectors;	/* words of its vector unit, if they were wanted */
};

/* A module with an allocator: there may be several glibcs (probe/allocators.h). */
struct memory_view_libc {
	const struct allocator *allocator;
	char name[48];			/* of its file, without folders */
	uint64_t start, end;
	uint64_t main_arena;		/* 0: no symbol of that name */
	struct probe_code abort;	/* in it; len 0: not known */
};

struct memory_view {
	/*
	 * Its modules and the rows of their code, for functions of the tracer thread: they are as they
	 * are now. Nothing is asked of its process.
	 */
	struct target *target;
	struct probes *probes;		/* NULL: none */
	const struct region *region;	/* what mdbg has mapped in it, with the log; NULL: nothing */
	const struct arch *arch;
	struct memory *memory;
	pid_t pages_of;		/* the process that has the memory; 0: none has, as of a core file */
	struct proc_maps maps;
	VEC(struct memory_view_thread) threads;
	bool one_thread;	/* the process has no more; others may share its memory */
	VEC(uint64_t) vectors;
	uint32_t stack_offset;		/* struct tcb */

	bool has_glibc;
	/*
	 * Whose heaps can be walked; WALKABLE_MAX at most. An allocator's modules lie side by side.
	 */
	VEC(struct memory_view_libc) libcs;
	/* Without probes: their functions, and where they go on by jumps. */
	VEC(struct probe_code) code;

	const struct log *log;		/* NULL: none */
	struct in_hand in_hand;
	uint64_t until;			/* records after this time stamp are not part of the view */
	struct log_accounts accounts;	/* that the log had */
	uint8_t process;		/* number of the process in the log */
	bool complete;			/* what is in no record was allocated before the attach */
};

#define MEMORY_VIEW_INIT	{ .memory = NULL, .until = UINT64_MAX }

void memory_view_free(struct memory_view *view);

/*
 * The lowest address of its stack that is in use: that of the red zone, unless the thread has
 * called exit.
 */
static inline uint64_t memory_view_stack_low(const struct memory_view *view,
					     const struct memory_view_thread *thread)
{
	return thread->exit_low ? thread->exit_low :
				  regs_get(&thread->regs, view->arch->sp) - view->arch->red_zone;
}

#define MEMORY_VIEW_STACK_WORDS	512u
/*
 * Read the words on the top of a stopped thread's stack, from the red zone up. Returns how many
 * could be read.
 */
size_t memory_view_stack_words(const struct memory_view *view,
			       const struct memory_view_thread *thread,
			       uint64_t word[MEMORY_VIEW_STACK_WORDS]);

/*
 * The memory of a thread's stack, as libc notes it in the thread's control block: the guard pages,
 * above them the stack, and above it static TLS and the control block itself. False: it is not
 * known.
 */
bool memory_view_stack_bounds(const struct memory_view *view, uint64_t tp, uint64_t *start_ret,
			      uint64_t *end_ret);
/*
 * The memory of the stack that a thread is on: the mapping that the kernel has made for the first
 * thread; that of another one, as its control block has it, up to the thread pointer. Below that is
 * static TLS. False: it is not known.
 */
bool memory_view_stack(const struct memory_view *view, const struct memory_view_thread *thread,
		       uint64_t *start_ret, uint64_t *end_ret);

/* The frames of a stopped thread (tracee/backtrace.h). Tracer thread. */
struct err *memory_view_frames(const struct memory_view *view,
			       const struct memory_view_thread *thread,
			       struct stack_frames *ret) MUST_CHECK;
