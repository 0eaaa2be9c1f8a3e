/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks, for a leak search: which of the roots they are, and whose; and which are no roots, since
 * nobody will use them again.
 *
 * A stack of a thread that runs is from the red zone below SP up to static thread-local memory. One
 * that is not known as such is a root like others: fewer words are named then, and nothing else
 * differs. That of a thread that has ended is kept by libc for the next one, and full of what the
 * thread has left. It is left out where it certainly is one: below its control block, which says
 * where it is, with a guard that libc has made, and no thread there.
 */
#pragma once

#include "heap/reach/reach.h"

struct memory_view;
struct memory_view_thread;
struct search_origins;
struct leak_marks;

struct leak_stack {
	struct reach_range range;
	pid_t tid;
};

struct leak_stacks {
	VEC(struct leak_stack) vec;
};

/* Add that of a thread of the view; tls_size is of tls_static_size. */
struct err *leak_stacks_add(const struct memory_view *view,
			    const struct memory_view_thread *thread, uint64_t tls_size,
			    struct leak_stacks *stacks) MUST_CHECK;
/* Add those of threads that have ended to ranges. */
struct err *leak_stacks_ended(const struct memory_view *view, uint64_t tls_size,
			      struct reach_ranges *ranges) MUST_CHECK;
/* What of the roots is of stacks goes to *on_stack_ret, which is empty. */
struct err *leak_stacks_split(const struct leak_stacks *stacks, struct reach_ranges *roots,
			      struct reach_ranges *on_stack_ret) MUST_CHECK;
/* leaks->holders, of leaks->mark: whose stacks and registers they are. */
struct err *leak_stacks_holders(const struct leak_stacks *stacks,
			      const struct search_origins *origins,
			      struct leak_marks *leaks) MUST_CHECK;

/*
 * At the end of the process: of a thread that has called exit the stack above that call is in use
 * alone, as nothing returns from it; what exit's own frames have left of the variables of main is
 * none. The thread keeps its registers, from which a walk leads through exit to its callers. A walk
 * cannot begin behind the call: nothing needs to follow it, so the address there may be the next
 * function's. Tracer thread.
 */
void leak_stacks_leave_exit(struct memory_view *view);

/*
 * Find the functions whose frames the words of leaks->holders lie in. Tracer thread; the view is a
 * snapshot, or of a target that still stands.
 */
void leak_stacks_find_frames(const struct memory_view *view, struct leak_marks *leaks);
