/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Evaluating scripts, one inside the other (theory in evaluate.h). */

#include "cmd/shell/evaluate.h"

#include <errno.h>
#include <string.h>

#include "base/cancel.h"
#include "cmd/shell/result.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/redirect.h"
#include "cmd/terminal/signals.h"
#include "report/out.h"
#include "report/progress.h"

#define WATCH_US	100000

/*
 * End all scripts at work, past every catch. A limit of 0 commands does that, and it can be lifted.
 * Tcl_CancelEval cannot be taken back when it comes at the very end of a script.
 */
void evaluate_end_all(struct shell *shell)
{
	shell->cancelled = true;
	Tcl_LimitSetCommands(shell->tcl, 0);
	Tcl_LimitSetGranularity(shell->tcl, TCL_LIMIT_COMMANDS, 1);
	Tcl_LimitTypeSet(shell->tcl, TCL_LIMIT_COMMANDS);
	Tcl_LimitCheck(shell->tcl);
}

bool evaluate_is_cancelled(const struct shell *shell)
{
	return cancel_requested() && (!shell->ends_itself || signals_ending());
}

/*
 * While scripts run, Tcl calls on_watch ten times a second, by a time limit that is moved on each
 * time; it looks whether a signal has come. (Tcl_AsyncMark, which is made for this, takes locks in
 * a Tcl with threads: if a signal handler calls it inside of Tcl_WaitForEvent, it waits for
 * itself.)
 */
static void watch(struct shell *shell)
{
	Tcl_Time next;

	Tcl_GetTime(&next);
	next.usec += WATCH_US;
	if (next.usec >= 1000000) {
		next.sec++;
		next.usec -= 1000000;
	}
	Tcl_LimitSetTime(shell->tcl, &next);
}

static void on_watch(ClientData data, Tcl_Interp *tcl UNUSED)
{
	struct shell *shell = data;

	if (evaluate_is_cancelled(shell))
		shell->cancelled = true;
	else
		watch(shell);
}

void evaluate_init(struct shell *shell)
{
	Tcl_LimitAddHandler(shell->tcl, TCL_LIMIT_TIME, on_watch, shell, NULL);
}

/* The first script of a line begins: a Ctrl-C that ended the one before no longer counts. */
static void begin(struct shell *shell)
{
	cancel_clear();
	signals_drain();
	shell->cancelled = false;
	watch(shell);
	Tcl_LimitTypeSet(shell->tcl, TCL_LIMIT_TIME);
	/*
	 * But a request to end that came while mdbg attached still counts: this line must not wait
	 * for an event that never comes.
	 */
	if (signals_ending()) {
		cancel_request();
		evaluate_end_all(shell);
	}
}

/*
 * Take the limits away: code of ours that runs between lines (bgerror, completion) must not run
 * into one.
 */
static void end(struct shell *shell)
{
	Tcl_LimitTypeReset(shell->tcl, TCL_LIMIT_COMMANDS);
	Tcl_LimitTypeReset(shell->tcl, TCL_LIMIT_TIME);
}

/*
 * When a signal ends the outer script, it ends those inside of it, too; only the outermost one
 * starts afresh.
 */
int evaluate(struct shell *shell, Tcl_Obj *script)
{
	int code;

	if (!shell->depth)
		begin(shell);
	else
		progress_off();	/* the script that a command runs may write to the terminal */
	Tcl_IncrRefCount(script);
	shell->depth++;
	code = Tcl_EvalObjEx(shell->tcl, script, TCL_EVAL_GLOBAL);
	shell->depth--;
	if (!shell->depth)
		end(shell);
	Tcl_DecrRefCount(script);
	return code;
}

bool evaluate_reader_left(const struct shell *shell, int code)
{
	const char *error_code = Tcl_GetVar(shell->tcl, "errorCode", TCL_GLOBAL_ONLY);
	/* This is read last: the look at a variable may move it. */
	const char *result = Tcl_GetStringResult(shell->tcl);
	int errnum = errno;
	const struct err *broken;

	if (code != TCL_ERROR || !redirect_reader_may_leave(&shell->terminal))
		return false;
	errno = EPIPE;
	broken = out_write_err("standard output");
	errno = errnum;	/* redirect_write_err may yet need it */
	return !strcmp(result, broken->msg) ||
	       (error_code && !strncmp(error_code, "POSIX EPIPE", 11) &&
		!strncmp(result, "error writing \"stdout\"", 22));
}

bool evaluate_fail(struct shell *shell, const struct err *err)
{
	terminal_err(&shell->terminal, err);
	shell->failed = true;
	return false;
}

bool evaluate_finish(struct shell *shell, int code, const char *origin)
{
	bool ok = code == TCL_OK || code == TCL_RETURN || evaluate_reader_left(shell, code);
	struct err *err;

	if (!ok) {
		result_report(shell, code, origin);
		shell->failed = true;
	}
	err = redirect_flush(&shell->terminal);
	return err && ok ? evaluate_fail(shell, err) : ok;
}

bool evaluate_words(struct shell *shell, int nr, const char *const *words, const char *origin)
{
	Tcl_Obj *script = Tcl_NewObj();

	for (int i = 0; i < nr; i++)
		Tcl_ListObjAppendElement(NULL, script, Tcl_NewStringObj(words[i], -1));
	return evaluate_finish(shell, evaluate(shell, script), origin);
}

void evaluate_background(struct shell *shell, Tcl_Obj *script)
{
	/* The script that waits has not failed, so its state is kept, as bgerror does. */
	Tcl_InterpState state = Tcl_SaveInterpState(shell->tcl, TCL_OK);

	evaluate_finish(shell, evaluate(shell, script), NULL);
	Tcl_RestoreInterpState(shell->tcl, state);
}
