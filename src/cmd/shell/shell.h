/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shell: the interpreter, the session, and the state of mdbg that is part of neither. There is
 * one for each process.
 *
 * Lines (from the prompt, -c, standard input, ~/.mdbginit; lines.h) are Tcl with a redirection at
 * the end; scripts (-x, source; script_file.h) are plain Tcl. An error of either is printed once,
 * as `mdbg: WHAT: WHY`, and counted.
 */
#pragma once

#include <stdlib.h>

#include <tcl.h>

#include "cmd/recording/recording.h"
#include "cmd/terminal/terminal.h"
#include "heap/suppression.h"
#include "session/session.h"

struct alias;
struct debug_server;
struct listener;
struct machine_look;
struct service;
struct original;
struct owners_before;
struct owners_kept;
struct prompt;

/* --fail-on-leak (theory in fail_on_leak.c). */
struct fail_on_leak {
	bool on;
	bool looked;		/* the current target was searched */
	bool leaked, unknown;	/* of any target */
};

/* `malloc trim every` (cmd/trimming.h). */
struct trimming {
	Tcl_TimerToken timer;
	uint64_t every_ns;		/* 0: it is off */
	uint64_t times, missed;		/* calls that were made, and that were not possible */
	uint64_t given_kb, longest_ns;	/* resident memory in all; the longest pause */
	char why[256];			/* the last was not possible */
};

enum waits { WAITS_NOT, WAITS_FOR_TIME, WAITS_FOR_END };

/* The kinds of `mdbg::on`, in the order of enum session_event_kind. */
#define EVENT_SCRIPTS	(SESSION_EVENT_DEATH + 1)

struct shell {
	Tcl_Interp *tcl;
	struct session *session;
	struct terminal terminal;
	/* This detaches and ends the process; it does not return. main sets it. */
	void (*leave)(struct shell *shell, int status);
	bool interactive;		/* there is a prompt */
	bool quiet;
	bool failed;			/* a command or a script has failed */
	struct fail_on_leak fail_on_leak;
	bool echo;			/* a typed line is evaluated: its result is printed */
	unsigned depth;			/* scripts at work, one inside the other */
	enum waits waits;		/* the `wait` at work */
	bool held;			/* the process was held before its death, during that */
	bool cancelled;			/* a signal has come, and all scripts are ending */
	bool ends_itself;		/* Ctrl-C ends the command at work, and no script with it */

	/* These are set by `set`. */
	bool pager, units;
	char *prompt_text;
	char *debug_path;
	bool debuginfod;
	uint64_t debuginfod_size;	/* bytes of a file */
	uint32_t debuginfod_time;	/* seconds for one */
	char *suppression_files;	/* a Tcl list */
	char *skip;			/* a Tcl list; the session has the globs */
	struct suppressions suppressions;

	struct debug_server *debug_server;	/* NULL: not asked for yet */
	bool debug_server_skipped;	/* it was not asked, because the process was stopped */
	bool debug_server_failed;	/* it did not answer, so it is asked no more */
	bool lines_hinted;		/* the hint at missing lines was given */

	pid_t thread;			/* the one of `where` and `registers`; 0: the main thread */
	bool frame_chosen;		/* by `frame`, `up` or `down`; else it is 0, the innermost */
	uint32_t frame;			/* of that thread */
	char *listed_file;		/* of the last `list`, which the next one goes on in; NULL: none */
	uint64_t listed_line;		/* that comes next */
	struct prompt *prompt;		/* NULL: not started */
	struct machine_look *machine_last;	/* of the last `memory system`; NULL */
	struct listener *listener;	/* of `mdbg::listen`; NULL */
	struct owners_kept *owners;	/* of the last `malloc owners` or `malloc path`; NULL */
	struct owners_before *owners_before;	/* what `malloc owners` has said; NULL */
	struct service *service_last;	/* of the last `memory service`; NULL */
	Tcl_Obj *on[EVENT_SCRIPTS];
	Tcl_TimerToken sampling;	/* the next sample of the history (sampling.h) */
	struct trimming trimming;
	struct recording recording;
	VEC(struct alias *) aliases;
	VEC(struct original *) originals;	/* Tcl's own commands under ours */
};

/* The next `list` begins at the current frame. */
static inline void shell_list_anew(struct shell *shell)
{
	free(shell->listed_file);
	shell->listed_file = NULL;
}

/* What is chosen from now on; its frame is not. */
static inline void shell_choose_thread(struct shell *shell, pid_t thread)
{
	shell->thread = thread;
	shell->frame_chosen = false;
	shell->frame = 0;
	shell_list_anew(shell);
}
