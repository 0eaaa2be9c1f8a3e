/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A session: one target, its probes, its log and its symbols; who builds and undoes them in which
 * order.
 *
 * All functions are for the main thread. Those that touch the target ask the tracer thread and wait
 * for it, with a time limit; Ctrl-C (base/cancel.h) ends the wait only where nothing half done can
 * be left. The log, the symbols and the memory are read directly. After the target has ended, log
 * and symbols still answer.
 */
#pragma once

#include "arch/arch.h"
#include "base/memory.h"
#include "log/log.h"
#include "os/procfs.h"
#include "unwind/stack_walk.h"

struct in_hand;
struct log_pending;
struct session;
struct symbols;

enum session_engine { SESSION_ENGINE_AUTO, SESSION_ENGINE_JUMP, SESSION_ENGINE_BREAKPOINT };
enum session_follow { SESSION_FOLLOW_PARENT, SESSION_FOLLOW_CHILD, SESSION_FOLLOW_BOTH };

/* The options and settings. They may be changed at any time; each says when it is read. */
struct session_config {
	enum session_engine engine;	/* at arming */
	uint32_t stack_depth;		/* at attach (a property of the log): 1 to LOG_DEPTH_MAX */
	uint64_t log_limit;		/* at attach: bytes */
	uint64_t sample;		/* at attach: mean bytes between samples, 0: all */
	uint32_t free_history;		/* at attach: see session_set_free_history */
	bool arm;			/* at attach: put in the probes */
	bool stop;			/* at attach: leave the target stopped */
	enum session_follow follow_fork;	/* at each fork */
	bool follow_exec;		/* at each exec: attach and arm anew */
	/* Search for leaks when the target ends, before its memory is gone: see session_leaks. */
	bool leaks_at_end;
};

extern const struct session_config session_config_default;

enum session_state {
	SESSION_NONE,		/* no target yet, or detached */
	SESSION_RUNNING,
	SESSION_STOPPED,	/* by --stop or `interrupt`: until `cont` */
	/* the target is gone, or has exec'ed unfollowed; its log still answers */
	SESSION_ENDED,
	SESSION_CORE,		/* a core file: there is no process, and nothing was recorded */
};

struct err *session_create(struct session **ret) MUST_CHECK;
/* Detaches if need be; errors of that go to *err_ret (may be NULL). NULL session is fine. */
void session_destroy(struct session *session, struct err **err_ret);
struct session_config *session_config(struct session *session);

/*
 * ERR_ATTACH (with a hint) where the process cannot be attached to; ERR_STATE if there is a target
 * already.
 */
struct err *session_attach(struct session *session, pid_t pid) MUST_CHECK;
/*
 * Look at a core file (tracee/core_target.h); exe: its program, NULL if it is where it was. What is
 * missing is told by warnings. ERR_STATE if there is a target already, ERR_FORMAT, ERR_UNSUPPORTED.
 */
struct err *session_open_core(struct session *session, const char *path,
			      const char *exe) MUST_CHECK;
/*
 * Start a program (found through PATH; argv ends with NULL) and arm it when the loader has mapped
 * its libraries. Its standard streams are mdbg's, but for standard input, which is /dev/null unless
 * keep_stdin. It runs in mdbg's process group without a prompt, in its own with one (own_group), so
 * that Ctrl-C at the prompt does not reach it.
 */
struct err *session_run(struct session *session, char *const *argv, bool keep_stdin,
			bool own_group) MUST_CHECK;
/* Take everything out and let go. The log stays readable until the next attach. */
struct err *session_detach(struct session *session) MUST_CHECK;
/*
 * Let go, but leave probes and log in the target, which goes on recording; a later attach, of any
 * mdbg, finds it all. ERR_STATE where that cannot be (breakpoint probes).
 */
struct err *session_keep(struct session *session) MUST_CHECK;
/* SIGKILL, and wait until it is gone */
struct err *session_kill(struct session *session) MUST_CHECK;
/* stop all threads until session_cont */
struct err *session_interrupt(struct session *session) MUST_CHECK;
/* signal: delivered to the process, 0 none */
struct err *session_cont(struct session *session, int signal) MUST_CHECK;

enum session_state session_state(const struct session *session);
/* A process as its core describes it. */
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

/* False: the target is none. Texts are the session's. */
bool session_core(const struct session *session, struct session_core *ret);
pid_t session_pid(const struct session *session);	/* 0: none; stays after the end */
/*
 * Pids of the processes that blocks may belong to, by number (struct block); LOG_PROCESSES of them,
 * 0 where there is none.
 */
const pid_t *session_pids(const struct session *session);
bool session_started(const struct session *session);	/* by session_run */
/*
 * Status as wait(2) gives it, once ended; *known is false if it could not be had (untraced, not our
 * child).
 */
int session_exit_status(const struct session *session, bool *known);

/* `malloc on`; no error if it is armed */
struct err *session_arm(struct session *session) MUST_CHECK;
/* `malloc off`: takes the probes out, keeps the log */
struct err *session_disarm(struct session *session) MUST_CHECK;
/* `malloc reset`: forget what was recorded */
struct err *session_reset(struct session *session) MUST_CHECK;
bool session_armed(const struct session *session);
/*
 * How many frees are to be remembered, for double ones (log/free_history.h); 0: none. At once, and
 * at the attaches to come; there a log that samples remembers none, and one that is gone on with
 * keeps what it has where this is 0. ERR_USAGE, and nothing has changed: not more than
 * LOG_FREES_MAX, or the log of the target cannot.
 */
struct err *session_set_free_history(struct session *session, uint32_t nr) MUST_CHECK;
/* The number that the target's log has, if there is one. */
uint32_t session_free_history(const struct session *session);

/*
 * Data that the threads of the target's agent have and the log has not: all-time counts of stacks
 * (free with log_pending_free), and blocks that a realloc has in hand (vec_free). There is a log.
 * Exact while the target is stopped; as long as there is a log, also when the target is gone.
 */
struct err *session_pending(const struct session *session, struct log_pending *ret) MUST_CHECK;
struct err *session_in_hand(const struct session *session, struct in_hand *ret) MUST_CHECK;
/*
 * In between no deferred stack (log/deferred.h) becomes known as a whole: what is added up by stacks
 * is of one moment. Not for long, and not one in another.
 */
void session_fix_stacks(struct session *session);
void session_release_stacks(struct session *session);

/* One function of the table of allocators: how it is probed, or why it is not. */
struct session_probe {
	char function[96];	/* "malloc", "operator new(unsigned long)" */
	char symbol[64];	/* as found: "malloc", "_Znwm" */
	char module[64];	/* last component */
	uint64_t address;
	uint64_t patch;		/* where mdbg writes: at the address, or behind the first instruction */
	bool active;
	char engine[16];	/* "jump", "breakpoint", "" if it is not probed */
	/* "alloc size=1 ptr=ret", "free ptr=1" if the user has named it; else "" */
	char user[32];
	/* why this engine, or why none: "alias of malloc", "starts with somebody's int3 at 0x…" */
	char why[192];
};

struct session_probes {
	VEC(struct session_probe) vec;
};

struct err *session_probes(struct session *session, struct session_probes *ret) MUST_CHECK;

/* A function of an allocator of the program's own. Arguments are numbers from 1. */
struct session_probe_spec {
	const char *function;	/* as symbols_find takes it */
	bool free;
	int size;		/* of the block; not of a free */
	int ptr;		/* the block; 0: the result; else of an alloc: where its address goes, as by posix_memalign */
	bool nothrow;		/* no exception passes it; an alloc of a program that has exceptions must say so */
};

/*
 * Probe it, at once if the probes are in. ERR_NOTFOUND (near names in the hint), ERR_STATE (it is
 * probed already), ERR_UNSUPPORTED (it cannot be).
 */
struct err *session_probe_add(struct session *session,
			      const struct session_probe_spec *spec) MUST_CHECK;
/* The records of its blocks stay. ERR_NOTFOUND. */
struct err *session_probe_delete(struct session *session, const char *function) MUST_CHECK;
/* "jemalloc 5.3.0", "glibc 2.36 (ptmalloc)", several joined by ", ". Owned by session. */
const char *session_allocator(struct session *session);
/*
 * The name under which a probed function's entry is shown in a traceback: "malloc", "operator
 * new(unsigned long)"; NULL if pc is no entry of a probed function.
 */
const char *session_entry_name(struct session *session, uint64_t pc);

/* NULL before the first attach; stays until the next one. */
struct log *session_log(struct session *session);
/* False: the log is empty, since it is of a core file or of a process that never had probes; or there is none. */
bool session_recorded(const struct session *session);
/*
 * Names for the target's addresses; brought up to date with its module map. Never NULL once
 * attached.
 */
struct symbols *session_symbols(struct session *session);
/* The target's memory (live); ERR_STATE from its reads when there is none. */
struct memory *session_memory(struct session *session);
/* The generation of the module map now. */
uint32_t session_generation(const struct session *session);

struct session_thread {
	pid_t lwp;
	uint64_t pthread;	/* pthread_t (thread pointer); 0: unknown */
	struct outside_name name;
	char state;		/* as in /proc: R S D T t Z */
	bool main;
	bool blocks_sigtrap;	/* would not survive a killed mdbg while breakpoints are in */
	uint64_t pc;		/* when stopped, else 0 */
};

struct session_threads {
	VEC(struct session_thread) vec;
	bool traced;		/* also between commands */
};

struct err *session_threads(struct session *session, struct session_threads *ret) MUST_CHECK;

struct session_stack {
	pid_t lwp;
	VEC(uint64_t) pcs;	/* innermost first; all but the first are return addresses */
	enum walk_end end;
};

struct session_stacks {
	VEC(struct session_stack) vec;
};

/*
 * The stacks of thread lwp, or of all (0), at most max frames each. Stops the target for the
 * moment, if it runs.
 */
struct err *session_where(struct session *session, pid_t lwp, uint32_t max,
			  struct session_stacks *ret) MUST_CHECK;
void session_stacks_free(struct session_stacks *stacks);
/* Registers of thread lwp; stops it for the moment. */
struct err *session_registers(struct session *session, pid_t lwp, struct regs *ret) MUST_CHECK;
const struct arch *session_arch(const struct session *session);
struct err *session_maps(struct session *session, struct proc_maps *ret) MUST_CHECK;

enum session_event_kind {
	SESSION_EVENT_EXIT,	/* target ended: status */
	SESSION_EVENT_EXEC,	/* text: the new program */
	SESSION_EVENT_FORK,	/* pid: child's */
	SESSION_EVENT_SIGNAL,	/* tid, signal: about to be delivered */
	SESSION_EVENT_THREAD,	/* tid; created or ended */
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
int session_event_fd(const struct session *session);
/*
 * True: *ret is the oldest event. Handles what the session itself must do at it (symbols, end of
 * the target).
 */
bool session_next_event(struct session *session, struct session_event *ret);
/*
 * Since it was last asked: has a warning come that tells what is left out of the names in the answer
 * that was just given?
 */
bool session_names_warned(struct session *session);
/*
 * follow_fork, follow_exec or leaks_at_end of the configuration has changed: a target that is attached
 * is traced from now on, or let go, as that needs.
 */
struct err *session_configured(struct session *session) MUST_CHECK;
/* Which kinds somebody wants (bit 1 << kind). EXIT, EXEC and WARNING always come. */
void session_want_events(struct session *session, uint32_t kinds);
