/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The inside of a session. While the tracer thread runs, each part belongs to one thread:
 *
 *	tracer thread	processes (through ops and requests)
 *	both		events (under the lock); region: made and replaced only by a request that
 *			the main thread waits for, so that the main thread may read the log at any
 *			other time
 *	main thread	all else
 *
 * A file calls only itself and the files that stand before it in this list
 * (scripts/dev/check-layers has the same list). Events of the target come up through the callbacks
 * of struct target_ops (watch.c), those of the tracer (route.c), and the tracer's poll
 * (untraced.c).
 *
 *	what there is		event_queue session_state allocator blind log_budget lacks
 *				growth_kernel
 *	processes		process pause deferred route agent
 *	looked at, in a stop	view_take brief_attach snapshot_end stop_estimate look heap leaks
 *	probes			forked_copies_clean handover handover_gap growth arm_target untraced
 *				growth_faults process_names probed threads user_probes trim history recording
 *				memory_use account
 *	from attach to detach	follow watch leave attach open_core interrupt react session
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "base/map.h"
#include "inspect/allocator_libcs.h"
#include "probe/runtimes/runtimes.h"
#include "probe/user_functions.h"
#include "session/blind.h"
#include "session/cost/session_cost.h"
#include "session/growth/session_growth.h"
#include "session/history.h"
#include "session/log_budget.h"
#include "session/session_memory.h"
#include "session/older.h"
#include "session/peak_watch.h"
#include "session/process.h"
#include "session/pool/session_refs.h"
#include "session/session.h"
#include "symbol/v8_code.h"
#include "tracee/loader_lists.h"
#include "tracee/room.h"

struct allocator;
struct faults;
struct origin;
struct snapshot;
struct target;
struct region;
struct heaps;
struct leak_marks;
struct tracer;

/* How far the log can be relied on; each value includes the doubts of the one before. */
enum records {
	RECORDS_WHOLE,
	/*
	 * Blocks without a record may be younger than the attach: probes were out, or a reset has
	 * removed records.
	 */
	RECORDS_LACK,
	/* Blocks with a record may have been freed: the probes were out since the log began. */
	RECORDS_STALE,
};

/*
 * The allocators in a process's modules of a generation, looked for when they are needed. pid 0: not
 * looked for yet.
 */
struct session_allocators {
	pid_t pid;
	uint32_t generation;
	unsigned nr;			/* that have a malloc */
	unsigned others;		/* whose malloc has another name */
	bool partly;			/* of several, not all can be walked */
	bool guessed;			/* which one the walkable one is, if it is any that is known */
	const struct allocator *first;	/* NULL: not known */
	const struct allocator *purges;	/* the last of them that has a `purge`; or NULL */
	const struct allocator *walkable;	/* whose heaps may be walkable; or NULL */
	char text[160];			/* the names of all: session_allocator */
	char unwalked[160];		/* of those whose heaps cannot be walked */
};

/* The search for leaks at the target's end. */
struct session_end {
	struct leak_marks *leaks;	/* NULL: there was none, or it has failed */
	struct heaps *heap;		/* the check of its damaged heaps; NULL: none */
	struct err err;			/* why it has failed; msg "": it has not */
};

/* The runtimes in a process's modules of a generation. pid 0: not looked for yet. */
struct session_runtimes {
	pid_t pid;
	uint32_t generation;
	struct runtimes found;
};

struct session {
	struct session_config config;
	struct session_naming naming;
	struct tracer *tracer;
	/*
	 * Indexed by their numbers in the log. The first was attached to, the others are its
	 * children. The tracer thread makes them, and they are removed only together with the log.
	 * One of them is the current one, the user's target; only a request that the main thread
	 * waits for changes which one.
	 */
	struct process process[LOG_PROCESSES];
	uint32_t nr_processes;
	struct process *current;
	struct user_functions users;	/* tracer thread; probes refer to them */
	struct region *region;		/* the attached process': it has the log */
	struct symbols *symbols;
	struct v8_code v8;		/* of the current process */
	uint64_t v8_generation;		/* known_generation for which it was looked for; 0: none */
	uint64_t v8_ns;			/* since when what it knows of the heap is used */
	struct types *types;		/* of the symbols; NULL: not asked for yet */
	uint64_t known_generation;
	struct map entry_names;		/* address → const char * */
	pid_t pids[LOG_PROCESSES];
	VEC(pid_t) turns;		/* tracer thread: see each_in_turn in route.c */
	unsigned since_turns;
	bool names_warned;		/* a warning says that names lack something */
	char *core_path;		/* of SESSION_CORE */
	struct replay *replay;		/* of SESSION_REPLAY; else NULL. Main thread */
	char *cache_dir;
	struct session_allocators allocators;
	struct session_runtimes runtimes;

	/*
	 * The state as the user knows it: NONE, CORE, RUNNING, or STOPPED until `cont`; ENDED after
	 * the event of the end was read. session_state() also looks at the state of the process,
	 * which may have ended before that.
	 */
	enum session_state state;
	/*
	 * Entries of the journal for mappings that an earlier mdbg has left (handover.c). Tracer
	 * thread.
	 */
	VEC(uint32_t) old_text;
	VEC(uint32_t) old_maps;
	enum records records;		/* tracer thread */
	uint64_t stood_ns;		/* see session_stood; the thread that makes a stop */
	struct log_history history;	/* main thread; kept until there is another log */
	struct peak_watch peak;
	struct older_found older;	/* main thread: by the last walk of the heaps */
	struct memory_last memory_last;	/* main thread: the last `memory` and `memory maps` */
	/* what the user was told of the log (lacks.c). Tracer thread */
	uint32_t told;
	struct room room;		/* that there was for the log when that was made */
	struct log_budget budget;	/* what the log may take; tracer thread */
	struct session_cost_state cost;
	/* what mdbg itself may take, as of the last look (inspect/walk_limit.h); kind 0: not known */
	struct memory_limit own_memory;
	struct blind blind;		/* tracer thread; the main thread while that waits for it */
	/* the target has forked since it was attached to, with old_maps */
	bool uncaught;
	struct session_growth growth;	/* tracer thread */
	struct session_refs refs;	/* tracer thread */
	/* NULL: page faults are not recorded. Set and used by the tracer thread (session_faults.h). */
	struct faults *faults;
	unsigned fault_polls;
	struct kernel_growth *kernel;	/* main thread; NULL: it is not recorded */
	VEC(pid_t) named;		/* have the journal mapped, and were not cleaned */
	/* The last DEATH event that was read while the process was held; pid 0: none. Main thread */
	struct session_event death;
	bool held_death;		/* one was held. Tracer thread, until the end */
	/* leaks_at_end, as the target's threads have it. Tracer thread */
	bool traces_exits;
	/* The tracer thread writes it before the event of the end. */
	struct session_end end;
	uint32_t floor;			/* the first generation of this mdbg */
	/* Untraced (untraced.c); tracer thread. */
	int pidfd;			/* -1: none (before Linux 5.3) */
	struct loader_lists lists;	/* of modules ... */
	uint64_t links;			/* ... and their sum; 0: not sure */
	unsigned reconcile_again;		/* polls that look at them again */
	uint64_t code_kb;		/* where there are no lists: the extent of code */
	unsigned code_pace, code_wait;	/* polls from one look at it to the next, and that are left */

	/* A lock, held while deferred stacks become whole ones, and by answers (deferred.h). */
	pthread_mutex_t forwards;
	pthread_mutex_t lock;
	VEC(struct session_event) events;
	size_t first_event;		/* the ones before it were read */
	int event_fd;
	_Atomic uint32_t wanted;
};

/* From now on the log can be relied on no more than this. */
static inline void session_doubt(struct session *session, enum records records)
{
	if (session->records < records)
		session->records = records;
}

/*
 * Evaluate an expression that may make more errors than are kept (base/err.h), and preserve the
 * error `cause`. The value is cause.
 */
#define keeping(cause, ...) \
	({ struct err keeping_err; \
	   err_copy(&keeping_err, cause); \
	   __VA_ARGS__; \
	   err_adopt(&keeping_err); })

/*
 * Evaluate an expression that makes remote calls with `remote`, in a thread of the target (NULL:
 * any thread).
 */
#define calling(target, thread, remote, calls) \
	({ struct remote *remote; \
	   struct err *calling_err = remote_borrow(target, thread, &remote); \
	   calling_err ? calling_err : remote_borrow_give_back(remote, calls); })

/* These are in event_queue.c. */

void event_queue_push(struct session *session, const struct session_event *event);
#define session_push(session, ...) \
	event_queue_push(session, &(const struct session_event){ __VA_ARGS__ })
/* Main thread: take the oldest event. False: there is none. */
bool event_queue_pop(struct session *session, struct session_event *ret);

/* These are in warn.c. */

void session_warn(void *session, const char *text);
/* A warning with a hint ("": none). */
void session_warn_hint(struct session *session, const char *hint, const char *fmt, ...)
	PRINTF(3, 4);
#define session_warn_f(session, ...)	session_warn_hint(session, "", __VA_ARGS__)
/*
 * Warn that a thread of the process, which is stopped, did not leave the code of a probe, or that
 * somebody will come back to it.
 */
void session_warn_left(struct session *session, const struct process *process);
/* Warn that frees that happened while the probes were out are not known. (Any thread.) */
void session_warn_gap(struct session *session);

/* These are in session.c, and run on the main thread. */

/* ERR_STATE unless there is a live target. */
struct err *session_need_target(const struct session *session) MUST_CHECK;
/* ERR_STATE if there is a live target or a core file. */
struct err *session_need_none(const struct session *session) MUST_CHECK;
/* ERR_STATE unless there is a live target or a core file to look at. */
struct err *session_need_view(const struct session *session) MUST_CHECK;
/* Call fn on the tracer thread, and wait for it. */
struct err *session_call(struct session *session,
			 struct err *(*fn)(struct session *session, void *arg),
			 void *arg) MUST_CHECK;

/* These are in allocator.c, and run on the main thread. */

const struct session_allocators *session_allocators(struct session *session);

/* These are in pause.c, and run on the tracer thread. */

/* Is the process to be held before a death? */
bool session_pause_at_death(const struct session *session);

/* Does something need mdbg as the target's tracer at present? (untraced.c) */
bool session_needs_tracer(const struct session *session);
/* Stop all threads for a moment, and let them run on if they did. */
struct err *session_pause(struct session *session, bool *was_ret) MUST_CHECK;
/*
 * Before a pause in which text is changed or something is unmapped: trace all processes that share
 * the target's memory (tracee/sharers.h). On failure the target goes on as it was.
 */
struct err *session_pause_sharers(struct session *session) MUST_CHECK;
/* The two together: hold the sharers, and call fn in a pause. */
struct err *session_pause_change(struct session *session,
				 struct err *(*fn)(struct session *session, bool stood, void *arg),
				 void *arg) MUST_CHECK;
/* A process that is held before its death stays stopped. */
void session_pause_end(struct session *session, bool was);
/*
 * Call fn between these two. stood: the target was stopped before. *pause_ret (may be NULL) is the
 * length of the stop, less the time that the target ran in between (target_run_for); it is set if
 * fn was called.
 */
struct err *session_pause_run(struct session *session,
			      struct err *(*fn)(struct session *session, bool stood, void *arg),
			      void *arg, uint64_t *pause_ret) MUST_CHECK;
/* Call session_pause_run from the main thread. */
struct err *session_pause_call(struct session *session,
			       struct err *(*fn)(struct session *session, bool stood, void *arg),
			       void *arg, uint64_t *pause_ret) MUST_CHECK;

/* These are in route.c, and run on the tracer thread. */

/* A wait status came from a thread that nobody waits for. */
void route_stopped(void *session, pid_t tid, int status);
/* Give a wait status to the process that it belongs to. */
void route_status(struct session *session, pid_t tid, int status);
/*
 * The current process, of which tid is a thread, runs another program now: report that, and forget
 * it.
 */
void route_execed(struct session *session, pid_t tid, enum process_state state);
/* ctx is a struct process. */
void route_ended(void *process, int status, bool known);

/* These are in agent.c, and run on the tracer thread. */

/*
 * The target is stopped. Let it run for moments until no thread is in the middle of a record.
 * ERR_TIMEOUT: a thread stays there.
 */
struct err *session_agent_quiet(struct session *session) MUST_CHECK;
/* Reset the log (`malloc reset`); the target, if there is one, is held for it. */
struct err *session_agent_forget(struct session *session) MUST_CHECK;

/* These are in leaks.c. */

/* Tracer thread. At the target's end: search for leaks, if that is wanted. */
void session_leaks_at_end(struct session *session);
/* Forget what was found then. */
void session_leaks_forget_end(struct session *session);

/* These are in symbols.c, and run on the main thread. */

/* Bring symbols and entry names up to date with the module map. */
struct err *session_symbols_sync(struct session *session) MUST_CHECK;

/* These are in watch.c. */

/* For all processes; ctx is the struct process. */
extern const struct target_ops watch_ops;

/* These are in brief_attach.c, and run on the tracer thread. */

/*
 * Stop all threads of pid, which nobody traces, call fn, and release them, whatever fn returns.
 * ERR_GONE: pid has ended, or executed another program meanwhile.
 */
struct err *brief_attach(struct session *session, pid_t pid,
			 struct err *(*fn)(struct target *target, void *ctx),
			 void *ctx) MUST_CHECK;

/* These are in snapshot_end.c, and run on the main thread. */

/*
 * End a snapshot. If something of it stays in the target, a warning says so. The caller must still
 * free the snapshot. *pause_ret: for how long the target stood still for it.
 */
void session_snapshot_end(struct session *session, struct snapshot *snapshot, uint64_t *pause_ret);

/* These are in arm_target.c, and run on the tracer thread. */

/* Take the probes out; the target runs on. */
struct err *arm_target_take_out(struct session *session) MUST_CHECK;
/* Plan which functions are probed, and how. This changes nothing in the target. */
struct err *arm_target_plan(struct session *session) MUST_CHECK;
/*
 * Do all that can be done before the stop in which the text is changed. Remote calls are made in
 * short stops of their own; mdbg's own work, and all large work, is done while the target runs on.
 * New modules are looked for last; a module that is loaded between that and the stop is seen by the
 * poll.
 */
struct err *arm_target_prepare(struct session *session) MUST_CHECK;
/* All threads are stopped. */
struct err *arm_target_put_in(struct session *session) MUST_CHECK;
/*
 * Take out everything that is in. The target is stopped before and after. The first error is
 * returned, and the rest is done all the same. *left_ret: a thread stays inside.
 */
struct err *arm_target_undo(struct session *session, bool *left_ret) MUST_CHECK;

/* These are in forked_copies_clean.c. */

/* Main thread. */

/* The target has ended, or runs another program: clean its children. */
void forked_copies_clean_orphans(struct session *session);

/* Tracer thread. */

/* Clean all forked copies of the origin's target (tracee/previous/forked_copies.h). */
void forked_copies_clean(struct session *session, struct origin *origin);
/*
 * Clean those of the session's own target, alive or not. Does nothing if everything is taken out of
 * it already.
 */
void forked_copies_clean_own(struct session *session);

/* These are in untraced.c. */

/* Tracer thread. */

/*
 * From now on the target is watched; its modules have been read. Opens its pidfd and starts the
 * poll.
 */
struct err *untraced_begin(struct session *session) MUST_CHECK;
/* session->faults was set or cleared: the poll drains its rings, or not. */
struct err *untraced_pace(struct session *session) MUST_CHECK;
void untraced_end(struct session *session);
/* untraced_end for a session without a tracer thread. */
void untraced_forget(struct session *session);

/* Main thread. */

/*
 * Call this before an answer that names code: it makes modules known that were loaded since the
 * last poll.
 */
struct err *untraced_poll(struct session *session) MUST_CHECK;

/* These are in handover.c, and run on the tracer thread. */

/*
 * The target is seized, and an earlier mdbg has left something in it. NULL: session->region is the
 * earlier one's now; or the target was cleaned, and a warning says what is lost. ERR_ATTACH:
 * another mdbg is at work.
 */
struct err *handover_take_over(struct session *session) MUST_CHECK;
/* All threads are stopped. */
void handover_take_text(struct session *session);
/* Stopped before and after. False: a thread stays inside, and the next call tries again. */
bool handover_release_old(struct session *session);
/* probes_disarm has left something in the target: handover_release_old takes care of that, too. */
void handover_note_left(struct session *session);
/*
 * Note in the log whether a later mdbg may continue it (share_set_marks): all probes are in, have
 * been in since the log began, and a later mdbg can find them all by itself.
 */
struct err *handover_set_whole(struct session *session) MUST_CHECK;
/*
 * Leave everything in the target and release it. ERR_STATE: something cannot be left; the message
 * says what.
 */
struct err *handover_leave(struct session *session) MUST_CHECK;

/* These are in follow.c, and run on the tracer thread. */

/*
 * A child that parent has forked, and that is stopped: clean and release it, or follow it, as
 * configured.
 */
void follow_fork_child(void *parent, pid_t pid);

/* These are in handover_gap.c, and run on the tracer thread. */

/*
 * All threads are stopped, the new probes are planned, and the old text is still there
 * (handover_take_text). There is one warning for each library.
 */
void handover_gap_tell(struct session *session);

/* These are in attach.c, and run on the tracer thread. */

/*
 * A program at its PTRACE_EVENT_EXEC: let it run to where its libraries are mapped, and arm it
 * there. On failure it is released.
 */
struct err *attach_from_exec(struct session *session, pid_t pid) MUST_CHECK;

/*
 * These are in release.c (order of undoing in arm_target.c), and run on the tracer thread unless
 * they say otherwise.
 */

/*
 * Stop the target to release it. If a thread is about to execute another program (ERR_BUSY), it
 * will soon succeed or fail: the target runs meanwhile. This wait is not needed if nothing of ours
 * is in the target yet: a thread that is still traced is released at mdbg's end, or at its next
 * stop.
 */
struct err *release_stop(struct target *target) MUST_CHECK;
/* Release all threads; there is nothing left to take out. */
void release_target(struct session *session);
/* A process that is held for follow-exec is not followed: let it run on. */
void release_held(struct session *session);
/*
 * Take everything out of the target because its child takes its place. The target may be gone
 * already.
 */
struct err *release_parent(struct session *session) MUST_CHECK;
/* Forget the last target, which has ended or was detached: its log, its symbols, everything. */
void release_forget(struct session *session);
/* release_forget, on the tracer thread. Followed children that still live are released. */
void release_forget_last(struct session *session);
/* Main thread: call the function above. */
struct err *release_call_forget(struct session *session) MUST_CHECK;
/* Main thread: an attach or a start has failed. Forget the target; err is returned. */
struct err *release_give_up(struct session *session, struct err *err) MUST_CHECK;

/* These are in next_event.c, and run on the main thread. */

/* Act on an EXIT event. */
void next_event_note_end(struct session *session);
