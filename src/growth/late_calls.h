/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Threads that may still be in a call of mmap (or another one of growth) which they entered before
 * a moment. What such a call has done is in /proc/PID/maps already, and its event is not in the
 * ring: on a busy machine a thread is held at any place for as long as others have the processor.
 *
 * A thread is not late any more when, after that moment,
 *
 *	it has ended,
 *	it is seen to sleep in another system call, or
 *	it has had LATE_CALL_NS of processor time: no call takes so long once its mapping is seen.
 *
 * (A signal handler that interrupts the few instructions between a call and its event, and then
 * sleeps or computes, is taken for the thread itself.) The process is not stopped for it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

#define LATE_CALL_NS	50000000u

struct late_thread {
	pid_t tid;
	uint64_t ran;		/* ns of processor time at the moment */
};

struct late_calls {
	VEC(struct late_thread) threads;
	bool unknown;		/* the threads could not be listed */
};

#define LATE_CALLS_INIT	{ VEC_INIT, false }

/* The moment is now; tid is any thread of the process. */
void late_calls_begin(struct late_calls *late, pid_t tid);
/* Is no thread left? Then all calls that were entered before the moment have their events. */
bool late_calls_are_over(struct late_calls *late);
void late_calls_free(struct late_calls *late);
