/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ends mdbg if the kernel does not let the tracer thread go on, so that nobody stands still for it.
 *
 * What mdbg asks of a process needs locks of the kernel's, such as the one of its memory (mmap_lock),
 * and somebody else may keep them as long as he likes: a thread of the process that waits for a
 * FUSE server has it, and who wants it for writing makes all that come later wait behind him. No
 * signal but SIGKILL ends such a wait. It is asked for beforehand where that can be
 * (os/memory_lock.h), but may be taken between that and the next look.
 *
 * Meanwhile what is traced stands, in a stop of mdbg's or as soon as it gets a signal. So a thread
 * looks once a second. If it finds the tracer in one and the same uninterruptible wait (state D, and
 * no switch of context in between) STALL_LOOKS times, it says so. If something is traced, it ends
 * mdbg by SIGKILL: the kernel then lets everybody go, and what mdbg has changed is undone as after
 * any kill -9 (docs/target-safety.md). Otherwise nobody stands still, and the user may decide.
 *
 * A busy machine is no such wait: who is short of a processor is in state R. A slow disk is many
 * short ones.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define STALL_LOOKS	4u

struct stall_watch {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool end;
	pid_t watched;		/* a thread of mdbg's */
	const unsigned *tracees;	/* how many threads are traced */
};

/* Begin to watch this thread of mdbg's. All signals are to be blocked. */
struct err *stall_watch_begin(struct stall_watch *watch, pid_t watched,
			      const unsigned *tracees) MUST_CHECK;
void stall_watch_end(struct stall_watch *watch);

/* What is known of the thread from earlier looks; zeros at first. */
struct stall {
	unsigned looks;			/* in a row that found the same wait */
	uint64_t switches;
};

/* Take one look more. True: it has stalled. */
bool stall_look(struct stall *stall, char state, uint64_t switches);
