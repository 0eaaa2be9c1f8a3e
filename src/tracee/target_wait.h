/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Waits until something in a target has come to its end: a thread has left code of ours, a call of
 * the allocator has returned, a child can be reaped.
 *
 * This cannot happen while all threads are stopped, but mdbg can check for it only while they are.
 * So the wait goes in steps: look, let the target run for a while, stop it, and look again. The
 * first step is short, as most waits end within microseconds; each further step is twice as long,
 * so that the stops do not add up.
 *
 *	        +------------------------------------------+
 *	        v                                          |
 *	      look  -- done, or an error --> return        | stop
 *	        |                                          |
 *	        +-- no time left --> return, not done      |
 *	        |                                          |
 *	        +-- nobody can move --> return, not done   |
 *	        |                                          |
 *	        +-- else ---------------------------> run for a step
 *
 * The target is stopped before and after, at each look, and when the wait fails (unless it could
 * not be stopped again: errors of target_stop). The last step is always a look, so the target is
 * left in the state that the look has found.
 *
 * Threads in a group stop (SIGSTOP and the like) stay in it when the target is resumed, until
 * somebody sends a SIGCONT. If all threads that would run are in one, no further look could find a
 * change, and there is only one look (stop_can_move).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct target;
struct thread;

struct target_wait {
	/* Sets *done_ret if the wait is over. An error ends the wait. */
	struct err *(*look)(void *ctx, bool *done_ret);
	/* Which threads run in between, as for target_run_some; NULL: all of them. */
	bool (*goes)(struct thread *thread, void *ctx);
	void *ctx;
	bool elsewhere;		/* it may end though no thread of the target moves */
	uint64_t step;		/* how long it runs before the second look, in ns */
	/* each step is twice the one before, up to this; 0: all are the same */
	uint64_t step_most;
	/* The end of the wait, as tracer_now() counts. If it is in the past, there is one look. */
	uint64_t deadline;
	/*
	 * How long the target may run in all; the time that it ran is subtracted. NULL: no such
	 * limit.
	 */
	uint64_t *budget;
};

/* *done_ret is false if it was not done in time. */
struct err *target_wait(struct target *target, const struct target_wait *wait,
			bool *done_ret) MUST_CHECK;
