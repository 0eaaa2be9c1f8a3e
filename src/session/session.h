/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A session: one target with its probes, its log and its symbols, which it builds and undoes in
 * order.
 *
 * All functions are for the main thread. Those that touch the target ask the tracer thread and wait
 * for it, with a time limit; Ctrl-C (base/cancel.h) ends the wait only if nothing is left half
 * done. The log, the symbols and the memory are read directly. After the target has ended, log and
 * symbols still answer.
 */
#pragma once

#include "arch/arch.h"
#include "base/memory.h"
#include "log/log.h"
#include "os/procfs.h"
#include "symbol/name_glob.h"
#include "symbol/symbol.h"
#include "unwind/walk.h"

struct ended_threads;
struct in_hand;
struct session_event;
struct log_totals;
struct runtimes;
struct session;
struct symbols;
struct types;

enum session_engine { SESSION_ENGINE_AUTO, SESSION_ENGINE_JUMP, SESSION_ENGINE_BREAKPOINT };
enum session_follow { SESSION_FOLLOW_PARENT, SESSION_FOLLOW_CHILD, SESSION_FOLLOW_BOTH };

/* The options and settings. They may be changed at any time; the comments say when each is read. */
struct session_config {
	enum session_engine engine;	/* at arming */
	uint32_t stack_depth;		/* at attach (a property of the log): 1 to LOG_DEPTH_MAX */
	uint64_t log_limit;		/* at attach: bytes */
	uint64_t sample;		/* at attach: mean bytes between samples, 0: all */
	uint32_t cost;			/* see session_cost_set; 0: none. It goes before sample */
	uint32_t free_history;		/* at attach: see session_recording_set_free_history */
	uint32_t history_seconds;	/* at each sample: the interval (session/history.h); 0: none */
	bool sparing;			/* see session_history_spare */
	uint64_t started;		/* at attach: when the process began (/proc/PID/stat); 0: any is meant */
	bool arm;			/* at attach: put in the probes */
	bool stop;			/* at attach: leave the target stopped */
	enum session_follow follow_fork;	/* at each fork */
	bool follow_exec;		/* at each exec: attach and arm anew */
	/* at `growth start kernel`: estimate allocations that come too fast */
	bool kernel_sampling;
	uint64_t fault_stack;		/* at `growth start fault`: bytes of the stack of each */
	/* Search for leaks when the target ends, before its memory is gone: see session_leaks. */
	bool leaks_at_end;
	/* Hold the process when it is about to die with a core, until session_cont. */
	bool hold_at_death;
	/* at each command: the target may not stand still for longer; 0: for as long as it takes */
	uint64_t max_pause_ns;
};

extern const struct session_config session_config_default;

enum session_state {
	SESSION_NONE,		/* no target yet, or detached */
	SESSION_RUNNING,
	SESSION_STOPPED,	/* by --stop, `interrupt`, or before its death, until `cont` */
	/* the target is gone, or has exec'ed unfollowed; its log still answers */
	SESSION_ENDED,
	SESSION_CORE,		/* a core file: there is no process, and nothing was recorded */
	SESSION_REPLAY,		/* a recording (session/replay/session_replay.h): there is no process */
};

struct err *session_create(struct session **ret) MUST_CHECK;
/* Detaches if necessary, before the end. What is to be said of that can still be read. */
struct err *session_release(struct session *session) MUST_CHECK;
/* After session_release, if it had a target. session may be NULL. */
void session_destroy(struct session *session);
struct session_config *session_config(struct session *session);
/* How functions are named in answers. It may be changed at any time. */
#define SESSION_WRAPPERS	4u

struct session_wrapper {
	char name[256];		/* in full; of a function without a name its place */
	unsigned share;		/* percent of the blocks that it was seen in */
};

struct session_naming {
	enum symbol_names names;
	/* Wrappers of allocators: who called them is who allocated a block. */
	struct name_globs skip;
	/* Others that were found (answer/wrapper.h), of the log that began then. */
	bool find_wrappers;
	struct session_wrapper wrapper[SESSION_WRAPPERS];
	unsigned nr_wrappers, nr_said;		/* and of how many the user knows */
	uint64_t searched_log, searched_blocks;
	/* An address of no file that a traceback has shown as ??; 0: none (report/unnamed_text.h). */
	uint64_t unnamed;
};

struct session_naming *session_naming(struct session *session);

/*
 * ERR_ATTACH (with a hint): the process cannot be attached to. ERR_STATE: there is a target
 * already.
 */
struct err *session_attach(struct session *session, pid_t pid) MUST_CHECK;
/*
 * Open a core file (tracee/core_target.h). exe is its program, or NULL if that still has its old
 * path. Warnings say what is missing. ERR_STATE: there is a target already. ERR_FORMAT,
 * ERR_UNSUPPORTED.
 */
struct err *session_core_open(struct session *session, const char *path,
			      const char *exe) MUST_CHECK;
/*
 * Start a program (found through PATH; argv ends with NULL) and arm it when the loader has mapped
 * its libraries. Its standard streams are mdbg's, except standard input, which is /dev/null unless
 * keep_stdin. It runs in mdbg's process group without a prompt, in its own with one (own_group), so
 * that Ctrl-C at the prompt does not reach it.
 */
struct err *session_attach_program(struct session *session, char *const *argv, bool keep_stdin,
				   bool own_group) MUST_CHECK;
/* Take everything out and release the target. The log stays readable until the next attach. */
struct err *session_detach(struct session *session) MUST_CHECK;
/*
 * Release the target, but leave probes and log in it, so that it goes on recording; a later attach
 * of any mdbg finds them. ERR_STATE if that is not possible (breakpoint probes).
 */
struct err *session_keep(struct session *session) MUST_CHECK;
/* SIGKILL, and wait until it is gone */
struct err *session_kill(struct session *session) MUST_CHECK;
/* stop all threads until session_cont */
struct err *session_interrupt(struct session *session) MUST_CHECK;
/* signal: delivered to the process, 0 none. A process that is held before its death dies. */
struct err *session_cont(struct session *session, int signal) MUST_CHECK;

enum session_state session_state(const struct session *session);
/*
 * The longest stop that an answer has needed since this was called last; 0: the target ran on, or
 * was stopped already.
 */
uint64_t session_stood(struct session *session);
/* The process that a core file describes. */
struct session_core {
	struct outside path, program;	/* program "": not known */
	struct outside name, args;	/* as the kernel cut them off */
	pid_t parent;			/* 0: not known */
	uid_t user;
	gid_t group;
	char state;			/* as in /proc; 0: not known */
	size_t threads;
	pid_t first;			/* the thread that the signal was for, if there was one */
	int signal, code;		/* siginfo; 0: not known, or none */
	uint64_t missing;		/* bytes: the file is too short */
	unsigned lacking, unchecked;	/* modules without a file; files that may be others */
};

/* False: the target is no core file. The session owns the texts. */
bool session_core(const struct session *session, struct session_core *ret);
pid_t session_pid(const struct session *session);	/* 0: none; stays after the end */
/*
 * Pids of the processes that blocks may belong to, by number (struct block); LOG_PROCESSES of them,
 * 0 where there is none.
 */
const pid_t *session_pids(const struct session *session);
bool session_started(const struct session *session);	/* by session_attach_program */
/*
 * The status as wait(2) gives it, after the end; *known is false if mdbg could not get it
 * (untraced, not our child).
 */
int session_exit_status(const struct session *session, bool *known);
/* Is the process held before its death? *ret is the event that said so. */
bool session_dying(struct session *session, struct session_event *ret);

/* `malloc on`; no error if it is armed */
struct err *session_recording_arm(struct session *session) MUST_CHECK;
/* `malloc off`: takes the probes out, keeps the log */
struct err *session_recording_disarm(struct session *session) MUST_CHECK;
/* `malloc reset`: forget what was recorded */
struct err *session_recording_reset(struct session *session) MUST_CHECK;
bool session_armed(const struct session *session);
/*
 * Set how many frees are remembered, for reports of double frees (log/free_history.h); 0: none. It
 * holds at once and for later attaches; but a log that samples remembers none, and a log that is
 * continued keeps its own number if this is 0. ERR_USAGE: the number is above LOG_FREES_MAX, or the
 * target's log cannot remember so many; nothing has changed.
 */
struct err *session_recording_set_free_history(struct session *session, uint32_t nr) MUST_CHECK;
/* The number that the target's log has, if there is one. */
uint32_t session_recording_free_history(const struct session *session);

/*
 * Data that the agent's threads have and the log does not have: all-time counts of stacks (together
 * with those of the log; free with log_totals_free), and blocks that a realloc has in hand
 * (vec_free). There must be a log. The data are exact while the target is stopped, and are
 * available as long as there is a log, also when the target is gone.
 */
struct err *session_agent_totals(const struct session *session, struct log_totals *ret) MUST_CHECK;
struct err *session_agent_in_hand(const struct session *session, struct in_hand *ret) MUST_CHECK;
/*
 * Between these two calls no deferred stack (log/log_deferred.h) becomes a whole one, so that sums
 * by stack are of one moment. Keep the time short, and do not nest them.
 */
void session_deferred_fix(struct session *session);
void session_deferred_release(struct session *session);

/* One function of the table of allocators: how it is probed, or why it is not. */
struct session_probe {
	char function[96];	/* "malloc", "operator new(unsigned long)" */
	char symbol[64];	/* as found: "malloc", "_Znwm" */
	char module[64];	/* last component */
	uint64_t address;
	/* where mdbg writes: at the address, or behind the first instruction */
	uint64_t patch;
	bool active;
	char engine[16];	/* "jump", "breakpoint"; "" if it is not probed */
	/* "alloc size=1*2 ptr=ret", "alloc bytes=512 ptr=ret", "ref object=1" if the user has named it; else "" */
	char user[64];
	/* why this engine, or why none: "alias of malloc", "starts with somebody's int3 at 0x…" */
	char why[192];
};

struct session_probes {
	VEC(struct session_probe) vec;
};

struct err *session_probes(struct session *session, struct session_probes *ret) MUST_CHECK;

enum session_probe_what {
	SESSION_PROBE_ALLOC,
	SESSION_PROBE_FREE,
	SESSION_PROBE_REF,	/* takes a reference to an object (session/pool/session_refs.h) */
	SESSION_PROBE_UNREF,	/* gives it back */
};

/* A function of an allocator of the program's own. Arguments are numbers from 1. */
struct session_probe_spec {
	const char *function;	/* as symbols_find takes it */
	enum session_probe_what what;
	/* Of an alloc only, up to `bytes`. */
	int size;		/* of the block. 0: `bytes` is it */
	int count;		/* the size is its product with this one; 0: it is the size alone */
	uint32_t bytes;		/* of each block */
	/*
	 * The argument with the address of the block, or object; 0: it is the result. Of an alloc
	 * the argument points to where the address is stored, as in posix_memalign.
	 */
	int ptr;
	/* Of an alloc: the argument that is a block which it resizes; 0: it resizes none. */
	int old;
	/*
	 * Of a free: ptr is a chain of blocks, and this the argument with the offset in each at
	 * which the next one's address is; 0: it is one block.
	 */
	int next;
	/* no exception passes it; must be set for an alloc if the program has exceptions */
	bool nothrow;
};

/*
 * Probe it, at once if the probes are in. ERR_NOTFOUND (near names in the hint), ERR_STATE (it is
 * probed already), ERR_UNSUPPORTED (it cannot be).
 */
struct err *session_user_probe_add(struct session *session,
				   const struct session_probe_spec *spec) MUST_CHECK;
/* The records of its blocks stay. ERR_NOTFOUND. */
struct err *session_user_probe_delete(struct session *session, const char *function) MUST_CHECK;
/*
 * "jemalloc 5.3.0", "glibc 2.36 (ptmalloc)"; several are joined by ", ". The session owns the text.
 */
const char *session_allocator(struct session *session);
/* Find the target's runtimes that have heaps of their own (probe/runtimes/runtimes.h). Owned by session. */
struct err *session_allocator_runtimes(struct session *session,
				       const struct runtimes **ret) MUST_CHECK;
/*
 * The name under which a probed function's entry is shown in a traceback: "malloc", "operator
 * new(unsigned long)"; NULL if pc is no entry of a probed function.
 */
const char *session_symbols_entry(struct session *session, uint64_t pc);

/*
 * Is the size of the block that a stack has allocated made of an argument of the function at its PC
 * number `frame`, by way of all functions from there to the allocator's, whose entry is pcs[0]? The
 * code is read in the files of the modules that are mapped now. False also if it is not known.
 */
bool session_passes_on(struct session *session, const uint64_t *pcs, uint32_t frame);

/* NULL before the first attach; stays until the next one. */
struct log *session_log(struct session *session);
/*
 * False: there is no log, or it is empty because it belongs to a core file or to a process that
 * never had probes.
 */
bool session_recorded(const struct session *session);
/*
 * Names for the target's addresses, brought up to date with its module map. Never NULL after an
 * attach.
 */
struct symbols *session_symbols(struct session *session);
/* The same symbols, without a look at the module map. NULL: there are none yet. */
struct symbols *session_symbols_known(struct session *session);
/* The types and variables of these symbols (type/types.h); they live as long. */
struct err *session_types(struct session *session, struct types **ret) MUST_CHECK;
/* The target's live memory. Its reads fail with ERR_STATE when there is no target. */
struct memory *session_memory(struct session *session);
/* The generation of the module map now. */
uint32_t session_generation(const struct session *session);

struct session_thread {
	pid_t lwp;
	uint64_t pthread;	/* pthread_t (thread pointer); 0: unknown */
	struct outside_name name;
	char state;		/* as in /proc: R S D T t Z */
	bool main;
	bool blocks_sigtrap;	/* it would not survive a killed mdbg while breakpoints are in */
	uint64_t pc;		/* when stopped, else 0 */
};

struct session_threads {
	VEC(struct session_thread) vec;
	bool traced;		/* also between commands */
};

struct err *session_threads(struct session *session, struct session_threads *ret) MUST_CHECK;
/* Threads that have ended and that nobody has joined (inspect/ended.h). */
struct err *session_threads_ended(struct session *session, struct ended_threads *ret) MUST_CHECK;

struct session_stack {
	pid_t lwp;
	VEC(uint64_t) pcs;	/* innermost first; all but the first one are return addresses */
	enum walk_end end;
};

struct session_stacks {
	VEC(struct session_stack) vec;
};

/*
 * The stacks of thread lwp, or of all threads (0), with at most max frames each. Stops the target
 * for a moment, if it runs.
 */
struct err *session_thread_stacks(struct session *session, pid_t lwp, uint32_t max,
				  struct session_stacks *ret) MUST_CHECK;
void session_thread_stacks_free(struct session_stacks *stacks);
/* The registers of thread lwp. Stops the target for a moment. */
struct err *session_thread_registers(struct session *session, pid_t lwp,
				     struct regs *ret) MUST_CHECK;
#define SESSION_FRAMES	16u	/* at most */
#define SESSION_VECTORS	16u

/* Frames of a stack, each the caller of the one before it, and a copy of their part of the stack. */
struct session_frame {
	struct walk_frame at[SESSION_FRAMES];
	uint32_t nr;		/* at least 1 */
	uint64_t start;		/* of the copy */
	size_t len;
	uint8_t *copy;		/* malloc'ed; NULL: it could not be read */
	/* of the thread, if the first frame is its innermost one: later frames do not keep them */
	uint8_t vectors[SESSION_VECTORS][16];
	uint32_t nr_vectors;	/* 0: not known */
};

/*
 * Frame nr of thread lwp, as in session_thread_stacks (0 is the innermost), and its callers. Stops the
 * target for a moment, if it runs. ERR_NOTFOUND: there is none.
 */
struct err *session_thread_frame(struct session *session, pid_t lwp, uint32_t nr,
				 struct session_frame *ret) MUST_CHECK;
void session_thread_frame_free(struct session_frame *frame);
/*
 * Where the data of the thread begin that belong to the module which begins there. Stops the target
 * for a moment, if it runs. ERR_NOTFOUND: the thread has made none so far, or (musl, a static program)
 * where they are is not known.
 */
struct err *session_thread_data(struct session *session, pid_t lwp, uint64_t module,
				uint64_t *ret) MUST_CHECK;
const struct arch *session_arch(const struct session *session);
struct err *session_maps(struct session *session, struct proc_maps *ret) MUST_CHECK;

enum session_event_kind {
	SESSION_EVENT_EXIT,	/* target ended: status */
	SESSION_EVENT_EXEC,	/* text: the new program */
	SESSION_EVENT_FORK,	/* pid: child's */
	SESSION_EVENT_SIGNAL,	/* tid, signal: about to be delivered */
	SESSION_EVENT_THREAD,	/* tid; created or ended */
	/*
	 * It is about to die of `signal` (whose default is a core) in tid, and is SESSION_STOPPED
	 * before that; text: "at address 0x10", "sent by process 7", or ""
	 */
	SESSION_EVENT_DEATH,
	SESSION_EVENT_WARNING,	/* text, for the user: "libfoo.so: …" */
};

struct session_event {
	enum session_event_kind kind;
	pid_t pid, tid;
	int signal;
	int status;
	bool created;
	char text[512];
	char hint[192];		/* of a warning: a way out; "" */
};

/* Readable while events wait. */
int session_event_queue_fd(const struct session *session);
/*
 * True: *ret is the oldest event. The session also does its own part for this event (symbols, end
 * of the target).
 */
bool session_next_event(struct session *session, struct session_event *ret);
/* The same after session_release: all events but warnings are dropped. */
bool session_warn_next(struct session *session, struct session_event *ret);
/*
 * Has a warning come, since this was last called, that says what names lack in the answer that was
 * just given?
 */
bool session_symbols_warned(struct session *session);
/*
 * follow_fork, follow_exec or leaks_at_end of the configuration was changed: an attached target is
 * now traced or untraced, as the new value requires.
 */
struct err *session_untraced_configured(struct session *session) MUST_CHECK;
/*
 * Set the kinds of events that are wanted (bit 1 << kind). EXIT, EXEC and WARNING always come, and
 * DEATH if hold_at_death is set. While DEATH is wanted, a process is held before its death.
 */
void session_want_events(struct session *session, uint32_t kinds);
