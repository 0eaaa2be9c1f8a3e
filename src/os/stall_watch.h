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
 * no switch of context in between) STALL_LOOKS times, and nobody works who may have the lock, it
 * says so. If something is traced, it ends mdbg by SIGKILL: the kernel then lets everybody go, and
 * what mdbg has changed is undone as after any kill -9 (docs/target-safety.md). Otherwise nobody
 * stands still, and the user may decide.
 *
 *	look	the tracer has run, or waits otherwise		from the beginning
 *		one wait, fewer than STALL_LOOKS		look again
 *		one wait, and who is traced works in the kernel	look again, up to STALL_MOST
 *		one wait otherwise				it has stalled
 *
 * A busy machine is no such wait: who is short of a processor is in state R. A slow disk is many
 * short ones. But a process of hundreds of GB that forks keeps the lock of its memory for many
 * seconds, and so does who unmaps as much. That it will end tells who has the lock: it has a
 * processor, or is short of one, and uses it in the kernel, while who has it in a hang sleeps. So
 * all threads of the processes that the tracer traces are looked at twice, a moment apart. One that
 * makes short system calls all the time, and never waits, looks the same: hence STALL_MOST.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define STALL_LOOKS	4u
#define STALL_MOST	60u
#define STALL_EVERY_NS	1000000000ull

struct stall_watch {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ends;
	bool end;
	uint64_t every;		/* ns between two looks */
	pid_t watched;		/* a thread of mdbg's */
	const unsigned *tracees;	/* how many threads are traced */
};

/*
 * Begin to watch this thread of mdbg's, and look at it all `every` ns (STALL_EVERY_NS but in
 * tests). All signals are to be blocked.
 */
struct err *stall_watch_begin(struct stall_watch *watch, pid_t watched, const unsigned *tracees,
			      uint64_t every) MUST_CHECK;
void stall_watch_end(struct stall_watch *watch);

/* What is known of the thread from earlier looks; zeros at first. */
struct stall {
	unsigned looks;			/* in a row that found the same wait */
	uint64_t switches;
	bool told;			/* the user knows of this wait */
};

/* Take one more look. True: the thread has stalled, unless somebody who works may have the lock. */
bool stall_watch_look(struct stall *stall, char state, uint64_t switches);
