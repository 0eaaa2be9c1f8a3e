/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `malloc trim` where the allocator is a library of its own beside glibc: jemalloc's mallctl,
 * tcmalloc's MallocExtension_ReleaseFreeMemory, mimalloc's mi_collect. All that trim.h says of a
 * thread that makes such a call holds here, too; the rest is different, since it is not known where
 * the locks of these allocators are:
 *
 *	a lock		is held by nobody who is not inside the library. So each thread must be
 *			stopped, also those of other processes that share the memory, and its stack
 *			walked to the end, with no frame in the library. A thread of the
 *			allocator's own always has one: it must wait for a condition, which gives
 *			its lock back (jemalloc's background threads, which redis-server has). fork
 *			takes all of these locks before the system call, in handlers of
 *			pthread_atfork, and has no frame in the library in between: so no thread
 *			may be in fork
 *	half done	the data of a thread (its cache, mimalloc's heap) are changed inside the
 *			library alone
 *	what is called	is any code of the library and of libc: all text of both must be as their
 *			files have it, but for our own patches, and these must be jumps, since a
 *			breakpoint of ours would be one stop that nobody expects
 *	should it wait	for a lock all the same, it is left alone after LIMIT_NS: the target goes
 *			on, and the call completes itself (tracee/remote.h)
 *
 * An allocator that is built into a program has no text of its own by which it could be told who is
 * inside. Damage of the heaps is not found beforehand, as glibc's is.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct allocator;
struct memory_view;
struct module;
struct remote;
struct session;

#define PURGE_ROOM	(64u << 10)	/* bytes of stack for the call */

struct purge {
	const struct allocator *allocator;
	const struct module *module;	/* its library */
	uint64_t address;		/* of the function */
};

/* Can this session's allocator be asked so? ERR_UNSUPPORTED. Main thread. */
struct err *purge_check(struct session *session) MUST_CHECK;
/*
 * Tracer thread; the target is stopped, with the processes that share its memory
 * (session_pause_sharers). ERR_UNSUPPORTED: it cannot be called. ERR_BUSY: not at the moment.
 */
struct err *purge_prepare(struct session *session, const struct memory_view *view,
			  struct purge *ret) MUST_CHECK;
/* Make the call. The thread was borrowed with PURGE_ROOM. */
struct err *purge_call(struct remote *remote, const struct purge *purge) MUST_CHECK;
