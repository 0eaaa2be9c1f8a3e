/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A view: what a target is at one moment, as far as walks of its heaps and the search for leaks look
 * at it. It is taken in one stop; who works on it then asks the target for nothing more, so that its
 * memory may be another source than the live process, and its log may go on (`until`).
 */
#pragma once

#include "arch/arch.h"
#include "base/memory.h"
#include "heap/block.h"
#include "os/procfs.h"

struct core_file;
struct session;
struct smaps;

struct memory_view_thread {
	pid_t tid;
	bool stopped;		/* else it is stuck: regs has SP and PC at most */
	bool placed;		/* SP is known */
	bool in_syscall;
	bool inside;		/* in the allocator (or not known not to be): see memory_view.c */
	bool blind;		/* its vector registers could not be read */
	struct regs regs;
	uint64_t tp;		/* thread pointer; 0: not known */
	size_t vector, nr_vectors;	/* words of its vector unit, where they were asked for */
};

struct memory_view {
	const struct arch *arch;
	struct memory *memory;
	pid_t pages_of;			/* whose /proc/PID/pagemap goes with the memory; 0: none */
	const struct core_file *core;	/* that has the memory; NULL: none does */
	const struct smaps *smaps;	/* of a snapshot: whose unforked ranges have other pages; NULL */
	struct proc_maps maps;
	VEC(struct memory_view_thread) threads;
	VEC(uint64_t) vectors;
	uint32_t stack_offset;		/* struct tcb */

	bool has_glibc;
	const struct allocator *allocator;	/* whose heaps can be walked; NULL: none */
	uint64_t allocator_start, allocator_end;	/* its module */
	uint64_t main_arena;		/* 0: no symbol of that name */

	const struct log *log;		/* NULL: none */
	struct in_hand in_hand;
	uint64_t until;			/* what was recorded after this time stamp is no part of it */
	uint64_t frees;			/* that the log had counted */
	uint8_t process;		/* number of the process in the log */
	bool complete;			/* what is in no record was allocated before the attach */
};

#define MEMORY_VIEW_INIT	{ .memory = NULL, .until = UINT64_MAX }

/*
 * On the tracer thread, with the target stopped: of the live process, until it goes on. deep: with the
 * vector registers, and where stacks begin.
 */
struct err *memory_view_take(struct session *session, bool deep,
			     struct memory_view *ret) MUST_CHECK;
void memory_view_free(struct memory_view *view);

#define MEMORY_VIEW_STACK_WORDS	512u
/* The words on the top of a stopped thread's stack, from the red zone up; how many could be read. */
size_t memory_view_stack_words(const struct memory_view *view,
			       const struct memory_view_thread *thread,
			       uint64_t word[MEMORY_VIEW_STACK_WORDS]);

/*
 * The memory of a thread's stack, as libc notes it in its control block: the stack, below it what it
 * guards, above it static TLS and the block itself. False: it is not known.
 */
bool memory_view_stack_bounds(const struct memory_view *view, uint64_t tp, uint64_t *start_ret,
			      uint64_t *end_ret);

/*
 * Threads that are inside the allocator go on alone until they have come out, as far as they do so
 * soon: in *budget nanoseconds, of which it takes what it used. Stopped before and after.
 */
struct err *memory_view_drain(struct session *session, uint64_t *budget) MUST_CHECK;
