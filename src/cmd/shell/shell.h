/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shell: the interpreter, the session, and the state of mdbg that is part of neither. There is
 * one for each process.
 *
 * Lines (from the prompt, -c, standard input, ~/.mdbginit) are Tcl with a redirection at the end;
 * scripts (-x, source) are plain Tcl. An error of either is printed here, once, as `mdbg: WHAT:
 * WHY`, and counted.
 */
#pragma once

#include <tcl.h>

#include "heap/suppression.h"
#include "session/session.h"

struct alias;
struct debug_server;
struct machine_look;
struct original;
struct prompt;
struct redirect;
struct screen;

/* --fail-on-leak (theory in fail_on_leak.c). */
struct gate {
	bool on;
	bool looked;		/* the current target was searched */
	bool leaked, unknown;	/* of any target */
};

enum waits { WAITS_NOT, WAITS_FOR_TIME, WAITS_FOR_END };
enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* The kinds of `mdbg::on`, in the order of enum session_event_kind. */
#define EVENT_SCRIPTS	(SESSION_EVENT_DEATH + 1)

struct shell {
	Tcl_Interp *tcl;
	struct session *session;
	/* This detaches and ends the process; it does not return. main sets it. */
	void (*leave)(struct shell *shell, int status);
	bool interactive;		/* there is a prompt */
	bool quiet;
	bool failed;			/* a command or a script has failed */
	struct gate gate;		/* --fail-on-leak */
	bool echo;			/* a typed line is evaluated: its result is printed */
	unsigned depth;			/* scripts at work, one inside the other */
	enum waits waits;		/* the `wait` at work */
	bool held;			/* the process was held before its death, during that */
	bool cancelled;			/* a signal has come, and all scripts are ending */
	bool ends_itself;		/* Ctrl-C ends the command at work, and no script with it */

	/* These are set by `set`. */
	bool pager, units;
	enum color color;
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
	struct redirect *redirect;	/* innermost; NULL: standard output is mdbg's */
	struct prompt *prompt;		/* NULL: not started */
	struct screen *screen;		/* the command at work draws on it; NULL */
	struct machine_look *machine_last;	/* of the last `memory system`; NULL */
	Tcl_Obj *on[EVENT_SCRIPTS];
	Tcl_TimerToken sampling;	/* the next sample of the history (sampling.h) */
	VEC(struct alias *) aliases;
	VEC(struct original *) originals;	/* Tcl's own commands under ours */
};

struct err *shell_create(const char *program, void (*leave)(struct shell *shell, int status),
			 struct shell **ret) MUST_CHECK;
/*
 * Detach if there is a target, and report what could not be undone. This is done once; after it
 * there is no session.
 */
void shell_detach(struct shell *shell);

/* These evaluate. Each returns true if nothing failed, and has reported all that did. */

bool shell_line(struct shell *shell, const char *line);
/* Is text a whole line? It is not if a brace, a quote or a backslash at the end is still open. */
bool shell_line_is_whole(const struct shell *shell, const char *text);
/* Run a Tcl script (script_file.h); `-` is standard input. */
bool shell_script(struct shell *shell, const char *name);
/*
 * Run the lines of a channel to its end (standard input, ~/.mdbginit). After a line that fails the
 * others still run. Events are served while it waits for a line.
 */
bool shell_lines(struct shell *shell, Tcl_Channel channel, const char *name);

/* Run a script of an event. Its errors are reported, and the interpreter's result stays. */
void shell_background(struct shell *shell, Tcl_Obj *script);

/* Has Ctrl-C come for the scripts at work, and not for a command that takes it itself? */
bool shell_is_cancelled(const struct shell *shell);
/*
 * End all scripts at work. This is for the event loop; elsewhere they see base/cancel.h themselves.
 */
void shell_end_scripts(struct shell *shell);

/* These report on standard error: "mdbg: WHAT: WHY", and a hint where there is a way out. */

/* shell is NULL as long as there is none. */
void report_err(struct shell *shell, const struct err *err);
/* hint is "" if there is none. */
void report_warning(struct shell *shell, const char *text, const char *hint);
/*
 * Report the interpreter's result, after a code that is not TCL_OK. origin is the script, or NULL;
 * its line is named if it is known.
 */
void report_result(struct shell *shell, int code, const char *origin);

/* Write one line on standard error, above the prompt if there is one. */
void report_note(struct shell *shell, const char *fmt, ...) PRINTF(2, 3);
/* Flush the output of `puts`; the error says why that failed. */
struct err *report_flush(struct shell *shell) MUST_CHECK;
/* Returns the error of Tcl's last write to standard output. */
struct err *report_write_err(const struct shell *shell) MUST_CHECK;
bool report_colors(const struct shell *shell, int fd);

/* These handle events (the target's, and mdbg's own signals) in Tcl's event loop. */

struct err *events_init(struct shell *shell) MUST_CHECK;
/* Call this before the session is destroyed. */
void events_end(struct shell *shell);
/* Show all events that wait, and run their scripts. */
void events_pump(struct shell *shell);
/* The kind of "exit", "exec", ...; false if no script may be set for it. */
bool event_kind(const char *name, enum session_event_kind *ret);
const char *event_name(enum session_event_kind kind);
/* Tell the session for which kinds there are scripts. */
void events_want(struct shell *shell);
/* Serve events (timers, the target's, signals) once; it waits for at least one. */
void events_wait(struct shell *shell);
/* Leave if SIGTERM or SIGHUP (or, without a prompt, SIGINT) has come. */
void events_check_ending(struct shell *shell);
/* Leave with the exit status that says whether a command or script has failed. */
void events_quit(struct shell *shell) NORETURN;

/* --fail-on-leak. */

/* Look for leaks at the end from now on. */
struct err *fail_on_leak_close(struct shell *shell) MUST_CHECK;
/* Call this when there is a new target. */
void fail_on_leak_begin(struct shell *shell);
/* Call this when the target's end has come: it looks for leaks, once. */
void fail_on_leak_search(struct shell *shell);
/* The exit status of mdbg; `status` is the one that it would have without --fail-on-leak. */
int fail_on_leak_status(const struct shell *shell, int status);
