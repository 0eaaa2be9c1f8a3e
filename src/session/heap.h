/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looks at the target's heaps and the log as they are at one moment, which gives all blocks, also
 * those from before the attach. For the main thread.
 */
#pragma once

#include "inspect/heaps.h"
#include "inspect/unknown_frees.h"

struct session;

enum session_heap_how {
	SESSION_HEAP_LOG,	/* the log alone, without a stop */
	SESSION_HEAP_WALK,
	SESSION_HEAP_CHECK,	/* also check the links of the bins */
	SESSION_HEAP_LISTS,	/* also add up glibc's free lists */
};

/* What the log has at the moment of the walk. */
struct session_heap_moment {
	const struct log *log;		/* NULL: there is none */
	const struct in_hand *in_hand;
	/* Records that are younger are not of that moment; UINT64_MAX: it is now. */
	uint64_t until;
	const struct log_accounts *accounts;	/* of that moment; NULL: those of now */
	pid_t pages_of;		/* the process that has the heaps' memory; 0: none has */
};

/*
 * Called once the heaps are walked, to look at the log. In a stop that is done on the tracer
 * thread, so it must not take long and must not ask for names. If the heaps were not walked, it is
 * called with the log as it is.
 */
struct session_heap_look {
	struct err *(*at)(void *ctx, const struct heaps *heap,
			  const struct session_heap_moment *moment);
	void *ctx;
};

/*
 * Walk the heaps, in a stop of the target, or of a snapshot if it is large (session/look.h), and
 * compare them with the log. If the target was running, and a thread is in the middle of something
 * that makes the answer uncertain, the target runs on for a moment and is looked at again. If there
 * is nothing to walk (another allocator, no process any more), only the log is used, and `why` says
 * so. look may be NULL, and may read *ret. ERR_STATE: the target would stand still for too long
 * (`set max-pause`). After an error *ret is empty. A check of a process that has ended is the one
 * that was made at its end, if the search there (leaks_at_end of the configuration) has met damage.
 */
struct err *session_heap(struct session *session, enum session_heap_how how,
			 const struct session_heap_look *look,
			 struct heaps *ret) MUST_CHECK;
/* NULL if the allocator's heaps can be walked, else ERR_UNSUPPORTED. */
struct err *session_heap_walkable(struct session *session) MUST_CHECK;
/*
 * Walk a stopped target on the tracer thread, and list all its blocks, from the log and from the
 * walk. may_run: the target may run on for moments. timed: as in struct packed_list. Reasons that
 * session_heap gives in `why` are errors here.
 */
struct err *session_heap_stopped(struct session *session, bool may_run, bool timed,
				 struct heaps *ret, struct packed_list *held_ret) MUST_CHECK;
/* Only that walk, with one look, and with a check of the links of the bins. */
struct err *session_heap_checked(struct session *session, struct heaps *ret) MUST_CHECK;
/* The unknown frees of the log, which there must be (inspect/unknown_frees.h). Main thread. */
struct err *session_heap_unknown_frees(struct session *session,
				       struct unknown_frees *ret) MUST_CHECK;
