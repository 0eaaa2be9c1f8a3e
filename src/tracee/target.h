/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target: one address space, the threads that run in it, and what mdbg did to it.
 *
 * Everything here runs on the tracer thread (os/tracer.h).
 *
 * The target (enum target_state):
 *
 *	    seize_all                 stop            all threads stand
 *	 -------------> RUNNING --------------> STOPPING -----------------> STOPPED <--- adopt, a core
 *	                |  ^  loader hook          |  ^                      | |  |
 *	                |  |                       |  +------ run_some ------+ |  |
 *	                |  +-- resume, stop failed +---------- resume ---------+  |
 *	                |                                                         |
 *	     retrace,   |                            untraced                    | release
 *	     stop       +---------------- UNTRACED <-----------------------------+---------> RELEASED
 *
 *	 each of them --- the last thread has ended, or thread_forget ---> ENDED
 *
 * In STOPPING and STOPPED a thread that reports EVENT_STOP stays stopped (target_holds). In STOPPED
 * no thread runs user code. In UNTRACED and RELEASED only threads that could not be released yet
 * are traced, and each is released at its next stop. ENDED can only be followed by RELEASED: other
 * processes may have shared the memory, and their threads are still traced.
 *
 * A thread (enum thread_state):
 *
 *	  seize, first stop of a clone
 *	        |
 *	        v        interrupt
 *	    RUNNING -----------------> ASKED --- EVENT_STOP, while the target is held ---> STOPPED
 *	     ^  ^  ^                   |   |                                                 |
 *	     |  |  +-------------------+   +-- sleeps uninterruptibly ---> STUCK             |
 *	     |  |    another stop, or                                       |               |
 *	     |  |    the target is resumed                                  |               |
 *	     |  +--------- EVENT_STOP, or the target is resumed ------------+                |
 *	     +---------------------------- resumed: CONT, or LISTEN in a group stop ---------+
 *
 *	    any of them --- PTRACE_EVENT_EXIT, if it is asked for (target_end.c) ---> LEAVES
 *	    LEAVES --- the whole process ends, and is looked at ---> AT_END --- resumed ---> LEAVES
 *	    any of them --- a signal that ends the process with a core, if somebody wants to look
 *			at it before (death.c) ---> STOPPED, before the signal is delivered
 *	    any of them --- exit ---> dropped
 *
 * Any stop that is not EVENT_STOP is handled at once, and the thread resumed (and interrupted anew
 * while the target is held: it is ASKED then).
 *
 * A thread is STOPPED in PTRACE_EVENT_STOP only, whatever it was doing: signals are passed on first
 * (the kernel then sets up the handler's frame and stops again before its first instruction), our
 * own traps are handled first. So there is one kind of stop in which calls are injected, a PC is
 * moved, or a thread is detached. The kernel handles an interrupt before signals, so a thread can
 * be in EVENT_STOP while the SIGTRAP of one of our int3s is still queued. Such a thread is resumed
 * to report it before it counts as STOPPED (flush_trap); otherwise the signal would kill it after a
 * detach.
 *
 * A STUCK thread does not stop because it is in an uninterruptible sleep (a vfork parent), or
 * because a remote call in it does not return: the target counts as stopped without it. It stays
 * traced, and reports a stop when it comes back. A thread that LEAVES or is AT_END runs no user
 * code any more. The registers of a thread that is STOPPED or AT_END can be read, but only a
 * STOPPED one can make a remote call.
 *
 * Threads of this address space may belong to other processes: a vfork child, or any CLONE_VM
 * process, runs the same text. So it is in the same table (tgid says which process it is), and is
 * never cleaned as if its memory were its own.
 *
 * A forked child with its own memory is stopped by the kernel before it runs; ops->fork_child takes
 * it over. The target counts as stopped only when new children and threads have stopped, too.
 * Otherwise a child could appear after the text was restored, although it is a copy from before;
 * and a thread that appears after the release would stay stopped for ever.
 */
#pragma once

#include <signal.h>

#include "arch/arch.h"
#include "base/map.h"
#include "log/journal.h"
#include "os/procmem.h"
#include "tracee/module.h"

struct core;
struct sharers_look;
struct tracer;
struct target;

/* See the top of this file. */
enum thread_state {
	THREAD_RUNNING,
	THREAD_ASKED,		/* asked to stop, and has not stopped yet */
	THREAD_STUCK,		/* does not stop, and is not waited for */
	THREAD_LEAVES,		/* has reported its PTRACE_EVENT_EXIT: see target_end.c */
	THREAD_AT_END,		/* the same, and it is held there */
	THREAD_STOPPED,		/* in PTRACE_EVENT_STOP */
};

/* Is it in code that is about to be taken out, or will it return there (probe/probes_disarm.c)? */
enum thread_inside { INSIDE_UNKNOWN, INSIDE_YES, INSIDE_NO };

struct thread {
	struct target *target;
	pid_t tid, tgid;
	enum thread_state state;
	int group_signal;	/* STOPPED in a group stop by this signal */
	/*
	 * How it is scheduled (see stop.c). The two were seen at different times, and a thread
	 * can be both.
	 */
	bool busy;		/* when last seen it ran, and waited in no system call */
	/* it had a processor again and again before the last stop of many */
	bool wakes;
	uint64_t runs;		/* how often it had had one, ... */
	uint64_t runs_seen;	/* ... and when that was seen: tracer_now(), or 0 */
	int death;		/* the signal by which it is about to die: see death.c; or 0 */
	bool blocks_sigtrap;	/* seen to block SIGTRAP: each of its traps is looked at closely */
	uint64_t repairs_seen;	/* of the owner of ops: repairs of SIGTRAP before its last trap */
	uint32_t traps;		/* of ours that it has hit */
	struct regs regs;	/* at the stop that is being handled, or in which it is held */
	/* Set by all code that handles its stop, in any order; the first includes the second. */
	bool regs_changed;	/* regs must be written before it goes on */
	bool pc_changed;	/* only the PC must: cheaper */
	enum thread_inside inside;
	void *data;		/* of the owner of ops */
};

/*
 * Callbacks. All except fork_child and route may be NULL, if there are no traps of ours or nobody
 * listens.
 */
struct target_ops {
	/*
	 * thread stopped at a SIGTRAP: true if it was for a trap of ours. Registers are changed in
	 * thread->regs (and regs_changed or pc_changed set).
	 */
	bool (*trap)(void *ctx, struct thread *thread);
	/* Is pc the address that follows one of our traps? */
	bool (*is_trap)(void *ctx, uint64_t pc);
	void (*thread_gone)(void *ctx, struct thread *thread);
	void (*thread_new)(void *ctx, struct thread *thread);
	/* A forked process, stopped, with its own memory. Must detach it (or keep it). */
	void (*fork_child)(void *ctx, pid_t child);
	/*
	 * A status came while mdbg waited for this target, and it may belong to another one. The
	 * callback must call thread_dispatch for the target that it belongs to.
	 */
	void (*route)(void *ctx, pid_t tid, int status);
	/* thread is the only one left; the old memory is gone. */
	void (*exec)(void *ctx, struct thread *thread);
	void (*signal)(void *ctx, struct thread *thread, int signal);
	/* The process is about to die with a core. True: hold it (death.c). */
	bool (*dies)(void *ctx);
	/* It is held because of this signal; the other threads run on until the next target_stop. */
	void (*dies_held)(void *ctx, struct thread *thread, const siginfo_t *info);
	/*
	 * The process ends, and its memory is still there: all threads stand, none can make a
	 * call.
	 */
	void (*at_end)(void *ctx);
	/* The last thread is gone. known: status is that of the process. */
	void (*ended)(void *ctx, int status, bool known);
};

/* What depends on whether it is a process or a core file: a row each (target.c, core_target.c). */
struct target_kind {
	bool live;		/* a process: /proc has it */
	struct err *(*maps)(const struct target *target, struct proc_maps *ret);
	struct err *(*refresh)(struct target *target, bool *changed_ret);
	struct err *(*tasks)(const struct target *target, struct proc_tasks *ret);
	/* A core file knows the name of the first thread, and no more: state is '-'. */
	struct err *(*status)(const struct target *target, pid_t tid, struct proc_status *ret);
	struct err *(*vector)(const struct thread *thread, void *buf, size_t room, size_t *len_ret);
	/* Are the ids of threads in its memory those by which mdbg knows them? */
	bool (*same_ids)(const struct target *target);
	/* Code of mdbg's that no probes know of (tracee/core_code.h). False: there is none. */
	bool (*walk_area)(const struct target *target, struct walk_area *ret);
	/* The registers with which the walk of a thread begins. */
	void (*walk_start)(const struct target *target, const struct regs *regs, struct regs *ret);
	void (*close)(struct target *target);
};

extern const struct target_kind target_kind_process, target_kind_core;

/* See the top of this file. */
enum target_state {
	TARGET_RUNNING,
	TARGET_STOPPING,
	TARGET_STOPPED,
	TARGET_UNTRACED,
	TARGET_RELEASED,
	TARGET_ENDED,
};

/* The end of the process, which comes while it is RUNNING or STOPPING: see target_end.c. */
enum target_end {
	TARGET_END_UNSEEN,
	TARGET_END_HELD,	/* threads are held AT_END; the next target_stop looks at them */
	TARGET_END_SEEN,	/* or is not to be: no thread is held any more */
};

/* Code of the target's that remote calls are made with: see gadget_find. 0: there is none. */
struct gadgets {
	uint64_t call;		/* `syscall; ret` */
	uint64_t restorer;	/* makes rt_sigreturn */
	uint64_t pop;		/* where there is no restorer: pops the number of a call; ret */
};

/* A part of the stack of thread tid (0: none), with spare pages at its low end. */
struct frame_spare {
	pid_t tid;
	uint64_t low, high;
};

struct target {
	pid_t pid;			/* as the user named it */
	uint64_t start_time;		/* of the process, against a reused pid */
	int pidfd;			/* of the process; -1: none (before Linux 5.3) */
	const struct target_kind *kind;
	const struct arch *arch;
	struct tracer *tracer;
	const struct target_ops *ops;
	void *ctx;
	struct map threads;		/* tid → struct thread */
	struct map newborn;		/* see tracee/thread.c, expect_child */
	unsigned expected;		/* how many of newborn have not stopped yet */
	struct sharers_look *look;	/* that is under way; NULL: none (sharers.c) */
	struct map strangers;		/* tasks that are let go of at their next stop: see seize.c */
	struct procmem mem;
	struct core *core;		/* of a core file (tracee/core_target.h), or NULL */
	struct memory *memory;		/* for reading; changes go through mem */
	struct modules modules;
	enum target_state state;
	enum target_end end;
	pid_t ns_tgid;			/* pid in its own namespace, when that was asked for; 0 */
	bool dying;			/* a thread is held before its death: see death.c */
	uint64_t ran_ns;		/* for how long target_run_for has let it run, in all */
	/* when its first thread was asked to stop, at the last stop; or may have got a signal before */
	uint64_t stop_begun_ns;
	uint32_t stack_copy;		/* see tracee/backtrace.c */
	uint32_t stack_offset;		/* of struct tcb, once it is known; see tracee/stack_use.c */
	struct stack_known *stack_known;	/* the same; NULL: nothing */
	struct frame_spare spare;	/* of the last remote call; see tracee/frame_place.h */
	uint64_t no_spare_ns;		/* stop_begun_ns of a stop in which none were found; 0 */
	struct walk_cache walk_cache;
	struct gadgets gadgets;		/* see gadget_find */
	struct region *region;		/* see tracee/region.h; NULL: none */
	bool lost;			/* not all that mdbg has mapped there is: see patch_look */
	/* an earlier mdbg's, while that is taken out (previous_journal.h); NULL: none */
	const struct journal *left;
};

/* How long one wait for a target may take. */
#define TARGET_TIMEOUT_NS	10000000000ull

/* Nothing is traced yet. ERR_GONE, ERR_PERM. */
struct err *target_create(struct tracer *tracer, pid_t pid, const char *cache_dir,
			  const struct target_ops *ops, void *ctx, struct target **ret) MUST_CHECK;
/*
 * The process has executed another program before it was traced: become a target of that. It is
 * stopped, and only target_refresh was called for it. ERR_GONE: it is another process.
 */
struct err *target_reopen(struct target *target) MUST_CHECK;
/* The target must be released, or have ended. */
void target_destroy(struct target *target);
/* Read its mappings. */
struct err *target_maps(const struct target *target, struct proc_maps *ret) MUST_CHECK;
/* Bring its modules up to date with them; *changed_ret (may be NULL): some came or went. */
struct err *target_refresh(struct target *target, bool *changed_ret) MUST_CHECK;

/*
 * Trace all threads (and those processes that share the memory). On failure none is traced.
 * ERR_ATTACH.
 */
struct err *seize_all(struct target *target) MUST_CHECK;
/* A child of the tracer thread, already seized and stopped in PTRACE_EVENT_EXEC. */
struct err *seize_adopt(struct target *target, pid_t tid) MUST_CHECK;
/*
 * Stop all threads; *was_ret, if not NULL, says whether they were stopped before. ERR_TIMEOUT: the
 * target runs on. ERR_GONE: it ended.
 */
struct err *target_stop(struct target *target, bool *was_ret) MUST_CHECK;
void target_resume(struct target *target);
/* Handle the events of a running target for ns nanoseconds, or until it ends. */
void stop_attend(struct target *target, uint64_t ns);
/*
 * Let a stopped target go on for ns nanoseconds, its events handled, and stop it again. Errors of
 * target_stop.
 */
struct err *target_run_for(struct target *target, uint64_t ns) MUST_CHECK;
/*
 * target_run_for, but only the threads for which `goes` is true run. If one of them waits for a
 * thread that does not run, it makes no progress.
 */
struct err *target_run_some(struct target *target, bool (*goes)(struct thread *thread, void *ctx),
			    void *ctx, uint64_t ns) MUST_CHECK;
/*
 * If the stopped target went on now, would any of those threads move for which `goes` is true
 * (NULL: any thread)? Not if all are in a group stop, which only a SIGCONT ends.
 */
bool stop_can_move(const struct target *target, bool (*goes)(struct thread *thread, void *ctx),
		   void *ctx);
/*
 * Release all threads, stuck ones when they come back. The target must be stopped; only
 * target_destroy may follow.
 */
void seize_release(struct target *target);

/*
 * Let all threads run untraced (stuck ones when they come back). The target must be stopped. The
 * next target_stop traces them anew; so does seize_retrace, without a stop. Meanwhile mdbg sees
 * nothing that the target does: not its end (ask target_lives), no fork, and no exec (after which
 * its memory and target_stop give ERR_GONE).
 */
void seize_untrace(struct target *target);
/* Does any of its threads live? From now on memory and maps are read through one that does. */
bool target_lives(struct target *target);
struct err *seize_retrace(struct target *target) MUST_CHECK;

/*
 * Drop all threads without releasing them: they belong to another target now (an exec), or are
 * gone.
 */
void thread_forget(struct target *target);

/* Handle a wait status of tid. False: tid is no thread of this target, and did not become one. */
bool thread_dispatch(struct target *target, pid_t tid, int status);
/*
 * From now on ends of threads are seen (ops->at_end), for this and all other targets of the tracer.
 * Traced threads must be stopped.
 */
void target_end_trace(struct target *target, bool trace);
/*
 * For target_stop: all threads are stopped, some of them AT_END. Look, and let them end. Always
 * returns ERR_GONE.
 */
struct err *target_end(struct target *target) MUST_CHECK;
/*
 * Let those threads go on with all others that are held before their death (target->dying): the
 * next target_resume does.
 */
void death_let_die(struct target *target);
/* For thread_dispatch: is this a death, and is the thread held before it now, or gone? */
bool death_stop(struct thread *thread, int signal);
/* Is the thread held before its death, so that it does not go on with the others? */
bool death_holds(const struct thread *thread);
/* Is it the kind of signal by which processes die with a core? */
bool death_is_by(int signal);
/* For thread_dispatch: a PTRACE_EVENT_EXIT. */
void target_end_stop_at_exit(struct thread *thread);
/* Was tid, which has not reported yet, made by a thread of this target? */
bool thread_expects(const struct target *target, pid_t tid);
/* Do its threads stay stopped when they report PTRACE_EVENT_STOP? */
static inline bool target_holds(const struct target *target)
{
	return target->state == TARGET_STOPPING || target->state == TARGET_STOPPED;
}

/* Are its registers known? */
static inline bool thread_is_stopped(const struct thread *thread)
{
	return thread->state == THREAD_STOPPED || thread->state == THREAD_AT_END;
}

struct thread *thread_find(const struct target *target, pid_t tid);
/* A thread that is STOPPED, preferably the one best suited for a remote call; or NULL. */
struct thread *thread_any_stopped(const struct target *target);
/*
 * For each of its threads; the current one may be dropped in the loop. thread is the caller's
 * variable.
 */
#define for_each_thread(thread, target) \
	for (struct map_at thread##_at = map_begin(&(target)->threads); \
	     ((thread) = map_next(&thread##_at)); )
/* Does a process that is none of the target's threads share its memory (a vfork child)? */
bool thread_shares(const struct target *target, pid_t pid);
/*
 * Trace all threads of a process that shares the memory (sharers.h). *nr grows by how many were not
 * known, or have ended since. Errors of ptrace_seize.
 */
struct err *seize_process(struct target *target, pid_t pid, unsigned *nr) MUST_CHECK;
/*
 * For target_stop, when all threads have stopped: is there one that is not traced? It was made by a
 * thread that was not traced yet. *nr_ret: how many were newly traced, or have ended since, and may
 * have made others.
 */
struct err *seize_missed(struct target *target, unsigned *nr_ret) MUST_CHECK;

/* Add a thread that is traced from now on; drop one that is not any more. */
struct err *thread_add(struct target *target, pid_t tid, pid_t tgid,
		       struct thread **ret) MUST_CHECK;
void thread_drop(struct thread *thread);
/* Choose a live thread under whose id the memory is read. */
void thread_pick_reader(struct target *target);

/* Read how often the thread has had a processor. */
void seize_note_runs(struct thread *thread);
/*
 * Call fn for all threads, in the order in which they should go on. fn may drop the thread that it
 * was called for.
 */
void stop_each_to_go_on(struct target *target, void (*fn)(struct thread *thread));

/* Write thread->regs if they were changed. */
struct err *thread_flush_regs(struct thread *thread) MUST_CHECK;
/* The vector registers of a STOPPED thread, as the processor saves them (XSAVE). */
struct err *target_vector(const struct thread *thread, void *buf, size_t room,
			  size_t *len_ret) MUST_CHECK;
/* Let the thread go on with this signal (0: none), or stay in its group stop. */
void thread_resume(struct thread *thread, int signal);

/*
 * Release a STOPPED thread, and drop it. A thread that was killed is dropped when its end is
 * reported.
 */
void seize_release_thread(struct thread *thread);

/* It has stopped with this status: release it as it would have gone on. It is not dropped. */
void thread_let_go(struct thread *thread, int status);
/*
 * The same for a task that is none of the target's. If it stops as it has made a child, that is let
 * go of, too.
 */
void thread_let_go_stranger(struct target *target, pid_t tid, int status);
/* Let go of such a task whenever it stops. */
void thread_await_stranger(struct target *target, pid_t tid);

/*
 * A system call that a mere stop made return EINTR (epoll_wait, semtimedop, receives with a
 * timeout: signal(7), "Interruption of system calls by stop signals") goes back to its `syscall`
 * instruction, if no signal that the thread will take is waiting.
 */
void thread_restart_syscall(struct thread *thread, int signal);
