/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Looks at the target's heaps and the log as they are at one moment, which gives all blocks, also
 * those from before the attach. For the main thread.
 */
#pragma once

#include "heap/packed.h"
#include "heap/heap_walk.h"
#include "heap/reconcile.h"

struct session;
struct memory_view;

/* A C library whose heaps were walked. */
struct session_heap_libc {
	char name[48];		/* of its file, as the target has it, without folders */
	uint64_t start;		/* of its module */
};

struct session_heap {
	/* if walked; with notes of what the log has (heap/reconcile.h) */
	struct heap_walk walk;
	bool walked;
	char why[256];			/* why not, or what was not */
	/* by the numbers that arenas have; mostly there is one */
	struct session_heap_libc libc[HEAP_LIBCS_MAX];
	size_t nr_libcs;
	bool complete;			/* what is in no record was allocated before the attach */
	uint64_t under_way;		/* blocks left out: calls for them may be under way */
	bool calm;			/* no thread was inside the allocator */
	/* of a snapshot: what was freed while that was walked; it was held at the moment */
	struct walk_gone gone;
	uint64_t pause_ns;		/* for how long the target was stopped for it, or 0 */
	char no_snapshot[256];		/* why there was none, though a stop takes longer; or "" */
	uint64_t brk_start, brk;	/* the process': 0 where there is none */
	uint64_t missing;		/* bytes that a truncated core lacks */
	uint8_t process;		/* number of the process that was walked */
	bool lent;			/* the walk is the session's */
};

enum session_heap_how {
	SESSION_HEAP_LOG,	/* the log alone, without a stop */
	SESSION_HEAP_WALK,
	SESSION_HEAP_CHECK,	/* also check the links of the bins */
};

#define SESSION_HEAP_INIT	{ HEAP_WALK_INIT, .walked = false }

/* What the log has at the moment of the walk. */
struct session_heap_moment {
	const struct log *log;		/* NULL: there is none */
	const struct in_hand *in_hand;
	/* Records that are younger are not of that moment; UINT64_MAX: it is now. */
	uint64_t until;
	const struct log_accounts *accounts;	/* of that moment; NULL: those of now */
};

/*
 * Called once the heaps are walked, to look at the log. In a stop that is done on the tracer
 * thread, so it must not take long and must not ask for names. If the heaps were not walked, it is
 * called with the log as it is.
 */
struct session_heap_look {
	struct err *(*at)(void *ctx, const struct session_heap *heap,
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
			 struct session_heap *ret) MUST_CHECK;
void session_heap_free(struct session_heap *heap);
/* NULL if the allocator's heaps can be walked, else ERR_UNSUPPORTED. */
struct err *session_heap_walkable(struct session *session) MUST_CHECK;
/*
 * Walk a stopped target on the tracer thread, and list all its blocks, from the log and from the
 * walk. may_run: the target may run on for moments. timed: as in struct packed_list. Reasons that
 * session_heap gives in `why` are errors here.
 */
struct err *session_heap_stopped(struct session *session, bool may_run, bool timed,
				 struct session_heap *ret, struct packed_list *held_ret) MUST_CHECK;
/* Only that walk, with one look, and with a check of the links of the bins. */
struct err *session_heap_checked(struct session *session, struct session_heap *ret) MUST_CHECK;
/*
 * The result of session_heap_stopped for a view of an earlier moment, whose memory is a snapshot.
 * There is one look. The log has gone on since then. Any thread.
 */
struct err *session_heap_past(struct session *session, const struct memory_view *view, bool timed,
			      struct session_heap *ret, struct packed_list *held_ret) MUST_CHECK;
/* Only the blocks of the log, as they were at the moment of the view. Any thread. */
struct err *session_heap_log(const struct memory_view *view, bool timed,
			     struct packed_list *ret) MUST_CHECK;
