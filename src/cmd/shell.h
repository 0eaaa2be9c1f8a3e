/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The shell: the interpreter, the session and what belongs to neither. One for each process.
 *
 * Lines (from the prompt, -c, standard input, ~/.mdbginit) are Tcl with a redirection at the end;
 * scripts (-x, source) are plain Tcl. An error of either is printed here, once, as `mdbg: WHAT:
 * WHY`, and counted.
 */
#pragma once

#include <tcl.h>

#include "heap/suppress.h"
#include "session/session.h"

struct alias;
struct debug_server;
struct original;
struct prompt;
struct redirect;

/* --fail-on-leak (theory in fail_on_leak.c). */
struct gate {
	bool on;
	bool looked;		/* at the target that there is */
	bool leaked, unknown;	/* some target */
};

enum color { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* The kinds of `mdbg::on`, in the order of enum session_event_kind. */
#define EVENT_SCRIPTS	(SESSION_EVENT_THREAD + 1)

struct shell {
	Tcl_Interp *tcl;
	struct session *session;
	/* Detach and end the process; does not return. main's. */
	void (*leave)(struct shell *shell, int status);
	bool interactive;		/* there is a prompt */
	bool quiet;
	bool failed;			/* a command or a script has failed */
	struct gate gate;		/* --fail-on-leak */
	bool echo;			/* a line's result is printed: it was typed at the prompt */
	unsigned depth;			/* scripts at work, one inside the other */
	bool cancelled;			/* by a signal: all of them are ending */

	/* set */
	bool pager, units;
	enum color color;
	char *prompt_text;
	char *debug_path;
	bool debuginfod;
	uint64_t debuginfod_size;	/* bytes of a file */
	uint32_t debuginfod_time;	/* seconds for one */
	char *suppression_files;	/* a Tcl list */
	char *skip;			/* the same; the globs are the session's */
	struct suppressions suppressions;

	struct debug_server *debug_server;	/* NULL: not asked for yet */
	bool debug_server_skipped;	/* it would have been asked, but the process was stopped */
	bool debug_server_failed;	/* it did not answer, and is asked no more */
	bool lines_hinted;		/* that lines are missing has been said */

	pid_t thread;			/* that `where` and `registers` mean; 0: the main thread */
	struct redirect *redirect;	/* innermost; NULL: standard output is mdbg's */
	struct prompt *prompt;		/* NULL: not started */
	Tcl_Obj *on[EVENT_SCRIPTS];
	VEC(struct alias *) aliases;
	VEC(struct original *) originals;	/* Tcl's own commands under ours */
};

struct err *shell_create(const char *program, void (*leave)(struct shell *shell, int status),
			 struct shell **ret) MUST_CHECK;
/* Detach, if need be, reporting what could not be undone. Once; then there is no session any more.
 */
void shell_detach(struct shell *shell);

/* Evaluating: each of these returns true if nothing failed, and has reported what did. */

bool shell_line(struct shell *shell, const char *line);
/* Is text a whole line, or must more follow (open brace, quote, backslash)? */
bool shell_line_is_whole(const struct shell *shell, const char *text);
/* A Tcl script; `-` is standard input. */
bool shell_script(struct shell *shell, const char *file);
/*
 * The lines of a channel to its end (standard input, ~/.mdbginit). Where one fails the others are
 * read all the same. Events are served while it waits for a line.
 */
bool shell_lines(struct shell *shell, Tcl_Channel channel, const char *name);

/* A script of an event; errors are reported, the interpreter's result stays. */
void shell_background(struct shell *shell, Tcl_Obj *script);

/* End all scripts at work, in the event loop; elsewhere they see base/cancel.h by themselves. */
void shell_end_scripts(struct shell *shell);

/*
 * Reporting, on standard error: "mdbg: WHAT: WHY", and a hint where there is a way out.
 */

/* shell may be NULL: there is none yet. */
void report_err(struct shell *shell, const struct err *err);
/* hint: "" if there is none. */
void report_warning(struct shell *shell, const char *text, const char *hint);
/*
 * The interpreter's result, after code (no TCL_OK). origin: the script, or NULL; a line in it is
 * named if it is known.
 */
void report_result(struct shell *shell, int code, const char *origin);

/* One line on standard error, under the prompt if there is one. */
void shell_note(struct shell *shell, const char *fmt, ...) PRINTF(2, 3);
/* Write the output of `puts`; the error, if that cannot be. */
struct err *shell_flush(struct shell *shell) MUST_CHECK;
/* The error of Tcl's last write to standard output. */
struct err *shell_write_err(const struct shell *shell) MUST_CHECK;
bool shell_colors(const struct shell *shell, int fd);

/* Events: the target's, and mdbg's own signals, in Tcl's event loop. */

struct err *events_init(struct shell *shell) MUST_CHECK;
/* Before the session goes. */
void events_end(struct shell *shell);
/* Show all that wait and run their scripts. */
void events_pump(struct shell *shell);
/* "exit", "exec", ... → kind; false if it is none that a script may be for. */
bool event_kind(const char *name, enum session_event_kind *ret);
const char *event_name(enum session_event_kind kind);
/* Tell the session which kinds scripts are there for. */
void events_want(struct shell *shell);
/* Serve events (timers, the target's, signals) once, waiting for at least one. */
void shell_wait_event(struct shell *shell);
/* If SIGTERM or SIGHUP (or, without a prompt, SIGINT) has come: leave. */
void shell_check_ending(struct shell *shell);
/* Leave with what the shell's failures give. */
void shell_quit(struct shell *shell) NORETURN;

/* --fail-on-leak. */

/* From now on. */
struct err *fail_on_leak_close(struct shell *shell) MUST_CHECK;
/* There is a new target. */
void fail_on_leak_begin(struct shell *shell);
/* Its end has come: look, once. */
void fail_on_leak_search(struct shell *shell);
/* The exit status of mdbg, which would be status without it. */
int fail_on_leak_status(const struct shell *shell, int status);
