/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `-each VAR BODY` (theory in each.h). */

#include "cmd/shell/each.h"

#include <string.h>

#include "base/cancel.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/dict.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/suggest.h"
#include "report/progress.h"

#define OPTION	"-each"
#define WORDS	3	/* with VAR and BODY */

/* The value of a condition may be any word, `-each` too. */
static bool is_value(const char *const *argv, int at)
{
	const char *before = at ? argv[at - 1] : "";

	return *before && before[strlen(before) - 1] == '=';
}

static struct err *check_misspelt(const struct call *call)
{
	for (int i = 0; i < call->argc; i++)
		if (call->argv[i][0] == '-' && !is_value(call->argv, i) &&
		    suggest_is_near(call->argv[i], OPTION))
			return err_hint(err_create(ERR_USAGE, "'%s' is no option", call->argv[i]),
					"near it: " OPTION " VAR BODY");
	return NULL;
}

static struct err *check_place(const struct call *call, int at)
{
	int behind = at + WORDS;

	if (behind > call->argc)
		return err_create(ERR_USAGE, "VAR and BODY go after " OPTION);
	if (behind == call->argc)
		return NULL;
	for (int i = at + 1; i < call->argc; i++)
		if (!strcmp(call->argv[i], OPTION))
			return err_create(ERR_USAGE, OPTION " is there twice");
	return err_create(ERR_USAGE, OPTION " VAR BODY are the last words: '%s' is behind them",
			  call->argv[behind]);
}

struct err *each_take(struct call *call, const char **argv)
{
	int at = 0;
	struct err *err;

	while (at < call->argc && (strcmp(argv[at], OPTION) || is_value(argv, at)))
		at++;
	if (at == call->argc)
		return check_misspelt(call);
	err = check_place(call, at);
	if (err)
		return err;
	call->each_var = call->objv[at + 1];
	call->each_body = call->objv[at + 2];
	call->argc = at;
	argv[at] = NULL;
	return NULL;
}

static struct err *set_variable(const struct call *call, Tcl_Obj *value)
{
	Tcl_Interp *tcl = call->shell->tcl;
	Tcl_Obj *set;

	/* BODY may change the value in place, so no one else may hold a reference then. */
	Tcl_IncrRefCount(value);
	set = Tcl_ObjSetVar2(tcl, call->each_var, NULL, value, TCL_LEAVE_ERR_MSG);
	Tcl_DecrRefCount(value);
	if (set)
		return NULL;
	Tcl_AppendObjToErrorInfo(tcl, Tcl_ObjPrintf("\n    (setting %s loop variable \"%s\")",
						    call->cmd->name,
						    Tcl_GetString(call->each_var)));
	return err_in_script;
}

/* *done_ret is set if the loop ends here. */
static struct err *run_body(struct call *call, bool *done_ret)
{
	Tcl_Interp *tcl = call->shell->tcl;
	int code = Tcl_EvalObjEx(tcl, call->each_body, 0);

	*done_ret = code != TCL_OK && code != TCL_CONTINUE;
	if (code == TCL_ERROR) {
		Tcl_AppendObjToErrorInfo(tcl, Tcl_ObjPrintf("\n    (\"%s\" body line %d)",
							    call->cmd->name,
							    Tcl_GetErrorLine(tcl)));
		return err_in_script;
	}
	if (*done_ret && code != TCL_BREAK)
		call->code = code;	/* the caller must see return and codes of its own */
	return NULL;
}

static struct err *run_for_each(struct call *call, struct answer *rows, struct dicts *dicts)
{
	struct err *err;
	const void *row;
	bool done = false;

	/*
	 * The command has done its own part, so its progress line ends here: BODY may write to the
	 * terminal, and its commands may take long.
	 */
	progress_end();
	err = answer_next(rows, &row);
	while (!err && row && !done) {
		err = set_variable(call, dicts_row(dicts, row));
		if (!err)
			err = run_body(call, &done);
		if (!err)
			err = cancel_check();
		if (!err)
			err = answer_next(rows, &row);
	}
	progress_begin(call->cmd->name);
	if (!err && call->code == TCL_OK)
		Tcl_ResetResult(call->shell->tcl);
	return err;
}

static struct err *make_list(struct answer *rows, struct dicts *dicts, Tcl_Obj *list)
{
	const void *row;
	struct err *err = answer_next(rows, &row);

	while (!err && row) {
		Tcl_ListObjAppendElement(NULL, list, dicts_row(dicts, row));
		err = cancel_check();
		if (!err)
			err = answer_next(rows, &row);
	}
	return err;
}

struct err *each_give(struct call *call, struct answer *rows, Tcl_Obj **ret)
{
	struct dicts dicts;
	struct err *err = dicts_init(&dicts, rows->of);

	if (!err && call->each_body) {
		err = run_for_each(call, rows, &dicts);
	} else if (!err) {
		*ret = Tcl_NewObj();
		err = make_list(rows, &dicts, *ret);
	}
	dicts_free(&dicts);
	answer_free(rows);
	return err;
}
