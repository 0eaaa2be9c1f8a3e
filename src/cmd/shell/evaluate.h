/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Evaluating scripts, one inside the other. Ctrl-C and a request to end (terminal/signals.h) end
 * all of them; the next script of the outermost level begins afresh.
 */
#pragma once

#include <stdbool.h>
#include <tcl.h>

struct err;
struct shell;

/* Call this once, before the first script. */
void evaluate_init(struct shell *shell);
/* Returns Tcl's code; the interpreter has the result. */
int evaluate(struct shell *shell, Tcl_Obj *script);
/*
 * Has a script ended because nobody reads the output any more? The error ends it, so that one that
 * prints for ever does not outlive its reader; but as with other tools, it is not reported.
 */
bool evaluate_reader_left(const struct shell *shell, int code);
/*
 * Report a failure of evaluate, and flush the output; true if nothing failed. origin is as that of
 * result_report.
 */
bool evaluate_finish(struct shell *shell, int code, const char *origin);
/* Report what kept a line or a script from being evaluated, as a failure of it; returns false. */
bool evaluate_fail(struct shell *shell, const struct err *err);
/* Evaluate a command of these words, and finish. */
bool evaluate_words(struct shell *shell, int nr, const char *const *words, const char *origin);
/* Run a script of an event. Its errors are reported, and the interpreter's result stays. */
void evaluate_background(struct shell *shell, Tcl_Obj *script);

/* Has Ctrl-C come for the scripts at work, and not for a command that takes it itself? */
bool evaluate_is_cancelled(const struct shell *shell);
/*
 * End all scripts at work. This is for the event loop; elsewhere they see base/cancel.h themselves.
 */
void evaluate_end_all(struct shell *shell);
