/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The target's heaps and the log, looked at in one stop: all blocks, those from before the attach
 * among them. For the main thread.
 */
#pragma once

#include "heap/packed.h"
#include "heap/heap_walk.h"

struct session;
struct memory_view;

struct session_heap {
	struct heap_walk walk;		/* if walked; with notes of what the log has (heap/reconcile.h) */
	/* of the arenas' locks, by number; 0: nobody, or not known */
	VEC(pid_t) lock_owners;
	bool walked;
	char why[256];			/* why not */
	bool complete;			/* what is in no record was allocated before the attach */
	uint64_t under_way;		/* blocks left out at each look, as a call for them may be under way */
	uint64_t brk_start, brk;	/* the process': 0 where there is none */
	uint64_t missing;		/* bytes that a core was cut short of: what seems damaged may be there */
	uint8_t process;		/* number of the process that was walked */
};

enum session_heap_how {
	SESSION_HEAP_LOG,	/* the log alone, without a stop */
	SESSION_HEAP_WALK,
	SESSION_HEAP_CHECK,	/* and look at the links of the bins */
};

#define SESSION_HEAP_INIT	{ HEAP_WALK_INIT, VEC_INIT, .walked = false }

/*
 * A look at the log at the moment of the walk, while the target stands still: on the tracer thread,
 * so it must not take long, and not ask for names. Without a stop it is called all the same, with
 * the log as it is. log: NULL if there is none.
 */
struct session_heap_look {
	struct err *(*at)(void *ctx, const struct session_heap *heap, const struct log *log,
			  const struct in_hand *in_hand);
	void *ctx;
};

/*
 * Walk the heaps, in a stop of the target, and compare them with the log. A target that runs is let
 * go on for moments, and looked at again, while a thread is in the middle of something that makes the
 * answer uncertain. Where there is nothing to walk (another allocator, no process any more)
 * there is only the log, and `why` says so. look may be NULL. ret is where look sees it; after an
 * error it is empty.
 */
struct err *session_heap(struct session *session, enum session_heap_how how,
			 const struct session_heap_look *look,
			 struct session_heap *ret) MUST_CHECK;
void session_heap_free(struct session_heap *heap);
/* Is the allocator one that can be walked? ERR_UNSUPPORTED. */
struct err *session_heap_walkable(struct session *session) MUST_CHECK;
/*
 * The walk of a target that is stopped, on the tracer thread, and all its blocks, of the log and of
 * the walk. may_run: it may be let go on for moments. timed: as in struct packed_list. What
 * session_heap says in `why` is an error here.
 */
struct err *session_heap_stopped(struct session *session, bool may_run, bool timed,
				 struct session_heap *ret, struct packed_list *held_ret) MUST_CHECK;
/* That walk alone, one look, and with the links of the bins. */
struct err *session_heap_checked(struct session *session, struct session_heap *ret) MUST_CHECK;
/*
 * The result of session_heap_stopped for a view of an earlier moment, whose memory is a snapshot;
 * one look. The log has gone on since. Any thread.
 */
struct err *session_heap_past(struct session *session, const struct memory_view *view, bool timed,
			      struct session_heap *ret, struct packed_list *held_ret) MUST_CHECK;
/* The blocks of the log alone, as they were at the moment of the view. Any thread. */
struct err *session_heap_log(const struct memory_view *view, bool timed,
			     struct packed_list *ret) MUST_CHECK;
