/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The call of a command: its words, and what commands ask of them and of the session. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <tcl.h>

#include "base/err.h"

struct cmd;
struct out;
struct session;
struct shell;

struct call {
	struct shell *shell;
	struct session *session;
	const struct cmd *cmd;
	int argc;			/* words after the command's name, without redirection */
	const char *const *argv;	/* UTF-8; argv[argc] is NULL */
	Tcl_Obj *const *objv;		/* the same words */
	struct out *out;
	Tcl_Obj *each_var, *each_body;	/* words of `-each VAR BODY`, not in argv; or NULL */
	bool brief, verbose;		/* -brief and -v, which are not in argv */
	Tcl_Obj *about_var;		/* the word of `-about VAR`, not in argv; or NULL */
	int code;			/* the Tcl code that a `value` ends with, unless it fails */
};

/* Check that there is a live target, for commands that touch it; else ERR_STATE. */
struct err *call_need_target(const struct call *call) MUST_CHECK;
/* Check that there is a live target or a core file, for commands that only look; else ERR_STATE. */
struct err *call_need_view(const struct call *call) MUST_CHECK;
/* Check that the target is a recording; else ERR_STATE. */
struct err *call_need_replay(const struct call *call) MUST_CHECK;
/* Check that there is one of these, or a recording, for commands that show figures; else ERR_STATE. */
struct err *call_need_figures(const struct call *call) MUST_CHECK;
/*
 * Check that something may have been recorded, which is never so for a core file; else ERR_STATE.
 */
struct err *call_need_recording(const struct call *call) MUST_CHECK;
/*
 * Check that there is a log, of a live or an ended target (a core file has an empty one); else
 * ERR_STATE. That of a recording has stacks alone, and is none.
 */
struct err *call_need_log(const struct call *call) MUST_CHECK;
/*
 * Check that there are moments to choose from: something may have been recorded, in the log or in a
 * recording; else ERR_STATE.
 */
struct err *call_need_moments(const struct call *call) MUST_CHECK;
/*
 * The one answer to all that takes a process, its memory, or records of single blocks: ERR_STATE, with
 * what a recording answers.
 */
struct err *call_not_recorded(const char *what) MUST_CHECK;
/*
 * Returns ERR_USAGE: `word` may not stand here. cmd_register.c adds the command's name and usage.
 */
struct err *call_bad_word(const char *word) MUST_CHECK;
/* The index of word in words, which end with NULL; -1: it is not among them. */
int call_word_index(const char *word, const char *const *words);
/* Find a thread by LWP id or pthread_t; ERR_NOTFOUND if there is none. */
struct err *call_thread(const struct call *call, const char *word, pid_t *ret) MUST_CHECK;
