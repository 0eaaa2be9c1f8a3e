/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a script that failed. */

#include "cmd/shell/result.h"

#include <stdlib.h>
#include <string.h>
#include <tcl.h>

#include "base/cleanup.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/suggest.h"

static Tcl_Obj *option(Tcl_Obj *options, const char *name)
{
	Tcl_Obj *key = Tcl_NewStringObj(name, -1), *value = NULL;

	Tcl_IncrRefCount(key);
	if (Tcl_DictObjGet(NULL, options, key, &value) != TCL_OK)
		value = NULL;
	Tcl_DecrRefCount(key);
	return value;
}

/*
 * The line of the script that failed: errorInfo names the file once for each level, and the last
 * time is the outermost. 0 if it is not named.
 */
static int error_line(Tcl_Obj *info, const char *origin)
{
	static const char in_file[] = "(file \"", end[] = "\" line ";
	const char *at = info ? Tcl_GetString(info) : "";
	int line = 0;

	while ((at = strstr(at, in_file))) {
		at += sizeof(in_file) - 1;
		if (!strncmp(at, origin, strlen(origin)) &&
		    !strncmp(at + strlen(origin), end, sizeof(end) - 1))
			line = atoi(at + strlen(origin) + sizeof(end) - 1);
	}
	return line;
}

static const char *hint_of(Tcl_Obj *code, Tcl_Obj *info, const char *message, struct str *hint)
{
	Tcl_Obj **words;
	int nr;

	if (!suggest_for(message, info ? Tcl_GetString(info) : "", hint) && hint->len)
		return str_text(hint);
	if (code && Tcl_ListObjGetElements(NULL, code, &nr, &words) == TCL_OK && nr > 2 &&
	    !strcmp(Tcl_GetString(words[0]), "MDBG"))
		return Tcl_GetString(words[2]);
	return NULL;
}

void result_report(struct shell *shell, int code, const char *origin)
{
	Tcl_Obj *options = Tcl_GetReturnOptions(shell->tcl, code);
	AUTO_STR struct str text = STR_INIT;
	AUTO_STR struct str hint = STR_INIT;
	const char *message = Tcl_GetStringResult(shell->tcl);
	struct err *err = NULL;
	int line;

	Tcl_IncrRefCount(options);
	if (shell->cancelled && strstr(message, "limit exceeded"))
		message = "interrupted";
	line = origin ? error_line(option(options, "-errorinfo"), origin) : 0;
	if (line)
		err = str_addf(&text, "%s:%d: ", origin, line);
	else if (origin && !suggest_is_unread(message))
		err = str_addf(&text, "%s: ", origin);
	if (!err)
		err = str_add(&text, message);
	terminal_lines(&shell->terminal, err ? message : str_text(&text),
		       hint_of(option(options, "-errorcode"), option(options, "-errorinfo"),
			       message, &hint));
	Tcl_DecrRefCount(options);
}
