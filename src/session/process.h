/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The processes of a session. The first is the one that was attached to or started. The others are
 * forked children of it that are followed (`set follow-fork both` and `child`); with `child` the
 * first of them becomes the current one, and its parent is let go.
 *
 * All are targets of their own, with the same callbacks (watch.c). A followed child's memory has
 * its parent's patches already, so it gets a region of its own with a journal (for a later mdbg),
 * and probes that know the same places. Its blocks go to the session's one log under its number;
 * the blocks that it inherited from its parent are not listed again under that number: its log
 * begins with the fork.
 *
 * Generations of its module map start at its number << PROCESS_GENERATION_SHIFT, so that the stacks
 * of all processes are told apart by generation and named by one `symbols`.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct probes;
struct region;
struct session;
struct target;

#define PROCESS_GENERATION_SHIFT	24

/* A module that symbols know. */
struct known_module {
	uint64_t start;
	uint32_t serial, born, died;
};

struct known_modules {
	VEC(struct known_module) vec;
};

/*
 * The state of a process:
 *
 *	NONE ---> LIVE ---> LEFT	let go; nothing of ours is in it, but what a thread stays in
 *	           ||| \--> KEPT	let go with probes and log in it, which it goes on with
 *	           ||\----> ENDED
 *	           |\-----> GONE	runs another program, and its end is not ours to wait for
 *	           |  exec ^ ^
 *	           |       | | exit
 *	           +---> EXECED		runs another program; mdbg started it, and waits for its end
 *	           |         | exit
 *	           |         v
 *	           +---> HELD -> GONE	stands at its PTRACE_EVENT_EXEC (follow-exec), until the main
 *	                  |		thread comes to it:
 *	                  +--> LIVE	with a new target
 *	                  +--> EXECED	it is not followed any more
 *
 * LIVE: the memory is the one that was attached to, and target_stop can stop it; all its threads
 * are traced, or none is (untraced.c). Only in LIVE and KEPT the program in that process has
 * something of mdbg's in it. A followed child that is not current is LIVE, ENDED, GONE (an exec: it
 * is released) or LEFT. The tracer thread sets the state before it reports the event.
 */
enum process_state {
	PROCESS_NONE,
	PROCESS_LIVE,
	PROCESS_HELD,
	PROCESS_EXECED,
	PROCESS_GONE,
	PROCESS_ENDED,
	PROCESS_LEFT,
	PROCESS_KEPT,
};

static inline bool process_has_ended(enum process_state state)
{
	return state == PROCESS_ENDED || state == PROCESS_GONE;
}

static inline bool process_has_execed(enum process_state state)
{
	return state == PROCESS_HELD || state == PROCESS_EXECED || state == PROCESS_GONE;
}

struct process {
	struct session *session;
	struct target *target;		/* NULL: none; stays after the end for `malloc -v` */
	struct probes *probes;
	struct region *region;		/* a followed child's; its log is not used */
	struct known_modules known;	/* to symbols; main thread */
	_Atomic enum process_state state;
	pid_t pid;			/* 0: none; stays after the end */
	bool started;			/* by mdbg, which waits for its end */
	int status;			/* as wait(2) gives it */
	bool status_known;
};

/* For all processes; a process that forks may add some meanwhile. */
#define for_each_process(process, session)						\
	for (struct process *process = (struct process *)(session)->process;		\
	     process < (session)->process + (session)->nr_processes; process++)

/* The functions below run on the tracer thread. */

/* Arm the functions of new modules before any thread runs on; the process is stopped. */
void process_settle(struct process *process);
/* Unmap its own region; stopped before and after. */
struct err *process_withdraw(struct process *process) MUST_CHECK;
/* The process is untraced: free its contents. Its number stays in use. */
void process_free(struct process *process);
/*
 * The target to which thread tid belongs; for an unknown thread, the target that it was cloned or
 * forked from.
 */
struct target *process_owner(struct session *session, pid_t tid);
/* Make a followed child the current process; the one before is untraced. */
void process_take_place(struct process *process);
/* Forget everything but the id of the current process, which becomes the first one again. */
void processes_forget(struct session *session);

/* Is there a live process that is not the current one? (Any thread.) */
bool process_any_followed(const struct session *session);
/* Call sigtrap_check for all of those, with each poll. */
void processes_poll(struct session *session);
/* Stop them; let them run; take everything out and release them. The first error is returned. */
struct err *processes_stop(struct session *session) MUST_CHECK;
void processes_resume(struct session *session);
struct err *processes_undo(struct session *session) MUST_CHECK;
/* Arm the functions of their new modules, as session_pause_end does for the current process. */
void processes_settle(struct session *session);
