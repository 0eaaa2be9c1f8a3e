/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Inside of a session. What the tracer thread owns while it runs, and what is the main thread's:
 *
 *	tracer thread	processes (through ops and requests)
 *	both		events (under the lock); region: made and replaced only by a request that
 *			the main thread waits for, so that the main thread may read the log at any
 *			other time
 *	main thread	all else
 *
 * A file calls itself and those that stand before it here (scripts/dev/check-layers has the same
 * list); what happens in the target comes up through the callbacks of struct target_ops (watch.c),
 * of the tracer (route.c), and its poll (untraced.c).
 *
 *	what there is		event_queue session_state allocator blind lacks
 *	processes		process pause deferred route agent
 *	looked at, in a stop	tls memory_view heap leak_search brief_attach snapshot_end find_address
 *				leaks unknown_frees
 *	probes			forked_copies_clean handover handover_gap arm_target untraced
 *				process_names probed threads user_probes trim recording
 *	from attach to detach	follow watch leave attach open_core interrupt react session
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "probe/user_functions.h"
#include "session/blind.h"
#include "session/process.h"
#include "session/session.h"
#include "tracee/room.h"

struct allocator;
struct origin;
struct snapshot;
struct target;
struct module;
struct region;
struct session_leaks;
struct tracer;

/* How far the log can be relied on; each has the doubts of the one before. */
enum records {
	RECORDS_WHOLE,
	/* Blocks without a record may be younger than the attach: probes were out, or records forgotten. */
	RECORDS_LACK,
	/* Blocks with one may have been freed: the probes were out since the log began. */
	RECORDS_STALE,
};

/* The target's allocators, found when they are asked for the first time. */
struct session_allocators {
	unsigned nr;			/* 0: not asked, or there is none */
	const struct allocator *first;	/* NULL: not known */
	const struct allocator *walkable;	/* that may have heaps that can be walked; or NULL */
	char text[160];			/* session_allocator */
};

struct session {
	struct session_config config;
	struct tracer *tracer;
	/*
	 * By their numbers in the log; the first was attached to, the others are its children. Made by
	 * the tracer thread, and never taken away but with the log. One is the target that the user
	 * has; which is changed by a request that the main thread waits for.
	 */
	struct process process[LOG_PROCESSES];
	uint32_t nr_processes;
	struct process *current;
	struct user_functions users;	/* tracer thread; probes refer to them */
	struct region *region;		/* of the process that was attached to: it has the log */
	struct symbols *symbols;
	uint64_t known_generation;
	struct map entry_names;		/* address → const char * */
	pid_t pids[LOG_PROCESSES];
	VEC(pid_t) turns;		/* tracer thread: see each_in_turn in route.c */
	unsigned since_turns;
	bool names_warned;		/* something was left out of names, and a warning tells of it */
	char *core_path;		/* of SESSION_CORE */
	char *cache_dir;
	struct session_allocators allocators;

	/*
	 * The state as the user knows it: NONE, CORE, RUNNING, or STOPPED until `cont`; ENDED when
	 * the event of that was read. session_state adds what the state of the process tells
	 * before.
	 */
	enum session_state state;
	/* Entries of the journal that an earlier mdbg left (handover.c). Tracer thread. */
	VEC(uint32_t) old_text;
	VEC(uint32_t) old_maps;
	enum records records;		/* tracer thread */
	uint32_t told;			/* what the user was told of the log (lacks.c). Tracer thread */
	struct room room;		/* that there was for the log, when it was made */
	struct blind blind;		/* tracer thread; the main thread while that waits for it */
	bool uncaught;			/* the target has forked since it was attached to, with old_maps */
	VEC(pid_t) named;		/* that have the journal mapped, and were not cleaned */
	bool traces_exits;		/* leaks_at_end, as the target's threads have it. Tracer thread */
	/*
	 * The result of the search at the target's end (NULL: none was done), or why it has failed.
	 * Written by the tracer thread before its end is told.
	 */
	struct session_leaks *end_leaks;
	struct err end_err;
	uint32_t floor;			/* the first generation of this mdbg */
	/* Untraced (untraced.c); tracer thread. */
	int pidfd;			/* -1: none (before Linux 5.3) */
	uint64_t r_debug, links;	/* the loader's list of modules, and what it came to; 0: not sure */
	unsigned reconcile_again;		/* at that */

	/* Held while deferred stacks become whole ones, and by answers (deferred.h). */
	pthread_mutex_t forwards;
	pthread_mutex_t lock;
	VEC(struct session_event) events;
	size_t first_event;		/* those before it are taken */
	int event_fd;
	_Atomic uint32_t wanted;
};

/* The log is no better than that from now on. */
static inline void session_doubt(struct session *session, enum records records)
{
	if (session->records < records)
		session->records = records;
}

/*
 * Do what follows cause, which may make more errors than are kept (base/err.h). The value is cause,
 * as it was.
 */
#define keeping(cause, ...) \
	({ struct err keeping_err; \
	   err_copy(&keeping_err, cause); \
	   __VA_ARGS__; \
	   err_adopt(&keeping_err); })

/* Make the remote calls of an expression, of `remote`, by a thread of the target (NULL: any). */
#define calling(target, thread, remote, calls) \
	({ struct remote *remote; \
	   struct err *calling_err = remote_borrow(target, thread, &remote); \
	   calling_err ? calling_err : remote_give_back(remote, calls); })

/* These are in event_queue.c. */

void session_push_event(struct session *session, const struct session_event *event);
#define session_push(session, ...) \
	session_push_event(session, &(const struct session_event){ __VA_ARGS__ })
/* Main thread: the oldest one, if there is any. */
bool session_pop_event(struct session *session, struct session_event *ret);
void session_warn(void *session, const char *text);
/* Such a text, with a way out (""). */
void session_warn_hint(struct session *session, const char *hint, const char *fmt, ...) PRINTF(3, 4);
#define session_warn_f(session, ...)	session_warn_hint(session, "", __VA_ARGS__)
/* A thread of pid did not leave the code of a probe. */
void session_warn_left(struct session *session, pid_t pid);
/* Warn that frees are not known which happened while the probes were out. (Any thread.) */
void session_warn_gap(struct session *session);

/* These are in session_state.c, and run on the main thread. */

/* ERR_STATE unless there is a live target. */
struct err *session_need_target(const struct session *session) MUST_CHECK;
/* ERR_STATE if there is one, or a core file. */
struct err *session_need_none(const struct session *session) MUST_CHECK;
/* ERR_STATE unless there is one, or a core file: something to look at. */
struct err *session_need_view(const struct session *session) MUST_CHECK;
/* Call fn on the tracer thread, and wait for it. */
struct err *session_call(struct session *session,
			 struct err *(*fn)(struct session *session, void *arg),
			 void *arg) MUST_CHECK;

/* These are in allocator.c, and run on the main thread. */

const struct session_allocators *session_allocators(struct session *session);
/* Any thread: where this allocator has its first arena, in its module; 0: no symbol says so. */
uint64_t allocator_main_arena(const struct allocator *allocator, struct module *module);

/* These are in interrupt.c, and run on the tracer thread. */

/* Does something need mdbg as the target's tracer, as things are? (untraced.c) */
bool session_needs_tracer(const struct session *session);
/* Stop all threads for a moment, and let them run on if they did. */
struct err *session_pause(struct session *session, bool *was_ret) MUST_CHECK;
void session_resume(struct session *session, bool was);
/*
 * Call fn between these two. stood: the target stood still before. *pause_ret (NULL: not wanted) is how
 * long that took; it is set wherever fn was called.
 */
struct err *session_held(struct session *session,
			 struct err *(*fn)(struct session *session, bool stood, void *arg), void *arg,
			 uint64_t *pause_ret) MUST_CHECK;
/* Call session_held from the main thread. */
struct err *session_call_held(struct session *session,
			      struct err *(*fn)(struct session *session, bool stood, void *arg),
			      void *arg, uint64_t *pause_ret) MUST_CHECK;

/* These are in route.c, and run on the tracer thread. */

/* A status came, from a thread that nobody waits for. */
void session_stopped(void *session, pid_t tid, int status);
/* A wait status, to whom it belongs. */
void session_route(struct session *session, pid_t tid, int status);
/* The current process, of which tid is a thread, runs another program now: told, and forgotten. */
void session_execed(struct session *session, pid_t tid, enum process_state state);
/* A struct process. */
void session_ended(void *process, int status, bool known);

/* These are in agent.c, and run on the tracer thread. */

/*
 * The target is stopped: let it run for moments until no thread is in the middle of a record.
 * ERR_TIMEOUT: one stays there.
 */
struct err *session_quiet(struct session *session) MUST_CHECK;
/* `malloc reset`: the target, if there is one, is held for it. */
struct err *session_forget_records(struct session *session) MUST_CHECK;

/* These are in leaks.c, and run on the tracer thread. */

/* The target's end: search for leaks, if that is wanted. */
void session_look_at_end(struct session *session);

/* These are in process_names.c, and run on the main thread. */

/* Symbols and entry names follow the module map. */
struct err *session_sync_modules(struct session *session) MUST_CHECK;

/* These are in watch.c. */

/* For all processes; ctx is the struct process. */
extern const struct target_ops watch_ops;

/* These are in brief_attach.c, and run on the tracer thread. */

/*
 * Tracer thread. Stop all threads of pid, which nobody traces, call fn, and let them go, whatever it
 * returns. ERR_GONE: it has ended, or executed another program meanwhile.
 */
struct err *brief_attach(struct session *session, pid_t pid,
			 struct err *(*fn)(struct target *target, void *ctx),
			 void *ctx) MUST_CHECK;

/* These are in snapshot_end.c, and run on the main thread. */

/* Main thread. Warns of what the target has been left with. The snapshot is still to be freed. */
void session_end_snapshot(struct session *session, struct snapshot *snapshot);

/* These are in arm_target.c, and run on the tracer thread. */

/* Take the probes out; the target runs on. */
struct err *session_take_out(struct session *session) MUST_CHECK;
/* Which functions, and how. Nothing of it is in the target yet. */
struct err *arm_plan(struct session *session) MUST_CHECK;
/*
 * All that can be done before the stop in which the text is changed. What takes remote calls comes
 * in short stops of its own; what is mdbg's own work, and what is large, is done while the target
 * runs on. New modules are looked for last: what they still do until that stop, the poll sees.
 */
struct err *arm_prepare(struct session *session) MUST_CHECK;
/* All threads are stopped. */
struct err *arm_put_in(struct session *session) MUST_CHECK;
/*
 * Take out what is in, as far as it is; stopped before and after. The first error is returned, the
 * rest is done all the same. *left_ret: a thread stays inside.
 */
struct err *arm_undo(struct session *session, bool *left_ret) MUST_CHECK;

/* These are in forked_copies_clean.c. */

/* Main thread. */

/* The target has ended, or runs another program: its children are cleaned. */
void forked_copies_clean_orphans(struct session *session);

/* Tracer thread. */

/* Clean all forked copies of the origin's target (tracee/forked_copies.h). */
void forked_copies_clean(struct session *session, struct origin *origin);
/* Clean those of the session's own target, alive or not; nothing if all is taken out of it already. */
void forked_copies_clean_own(struct session *session);

/* These are in untraced.c. */

/* Tracer thread. */

/*
 * A target is watched from now on; its modules have been read. Its pidfd is taken and the poll
 * starts.
 */
struct err *untraced_begin(struct session *session) MUST_CHECK;
void untraced_end(struct session *session);
/* untraced_end where there is no tracer thread any more. */
void untraced_forget(struct session *session);

/* Main thread. */

/*
 * Before an answer that names code: modules that came since the last poll are known after this.
 */
struct err *untraced_poll(struct session *session) MUST_CHECK;

/* These are in handover.c, and run on the tracer thread. */

/*
 * The target is seized, and something was left in it. NULL: that is session->region now, or it is
 * cleaned, and what is lost was said. ERR_ATTACH: another mdbg is at work.
 */
struct err *handover_take_over(struct session *session) MUST_CHECK;
/* All threads are stopped. */
void handover_take_text(struct session *session);
/*
 * Stopped before and after. A thread that stays inside: it is tried again at the next call; false
 * then.
 */
bool handover_release_old(struct session *session);
/*
 * Say in the log whether it may be gone on with, as things are: all probes are in, and have been since
 * it began, and a later mdbg finds them all by itself (share_set_marks).
 */
struct err *handover_set_whole(struct session *session) MUST_CHECK;
/* Leave all in the target and let it go. ERR_STATE: what cannot be left. */
struct err *handover_leave(struct session *session) MUST_CHECK;

/* These are in follow.c, and run on the tracer thread. */

/* A child that parent has forked, stopped: clean it and let it go, or follow it, as configured. */
void follow_fork_child(void *parent, pid_t pid);

/* These are in handover_gap.c, and run on the tracer thread. */

/*
 * All threads are stopped, the new probes are planned, and the old text is still there
 * (handover_take_text). Each library is told of once.
 */
void handover_gap_tell(struct session *session);

/* These are in attach.c, and run on the tracer thread. */

/*
 * A program at its PTRACE_EVENT_EXEC: it runs to where its libraries are mapped, and is armed there.
 * On failure it is let go.
 */
struct err *attach_from_exec(struct session *session, pid_t pid) MUST_CHECK;

/*
 * These are in leave.c (order of undoing in arm_target.c), and run on the tracer thread unless they
 * say otherwise.
 */

/*
 * A thread that is about to execute another program (ERR_BUSY) soon does, or fails to: the target runs
 * meanwhile. Where nothing of ours is in it yet it need not be waited for: a thread that is still traced is
 * let go with mdbg's end, or at its next stop.
 */
struct err *leave_stop(struct target *target) MUST_CHECK;
/* All threads go on; nothing is to be taken out any more. */
void leave_target(struct session *session);
/* One that is held for follow-exec is not followed: it goes on. */
void leave_held(struct session *session);
/* Take everything out of the target, whose child takes its place. It may be gone already. */
struct err *leave_parent(struct session *session) MUST_CHECK;
/* Forget the target of before: log, symbols, all. Detached or ended. */
void session_forget(struct session *session);
/* session_forget on the tracer thread. Followed children may live: they are let go. */
void session_forget_last(struct session *session);
/* Main thread: call that. */
struct err *session_call_forget(struct session *session) MUST_CHECK;
/* Main thread: a target could not be taken on. Forget it; err is returned. */
struct err *session_give_up(struct session *session, struct err *err) MUST_CHECK;

/* These are in react.c, and run on the main thread. */

/* Act on an EXIT event. */
void session_note_end(struct session *session);
