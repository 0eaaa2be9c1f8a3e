/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors and notes on standard error, and standard output's own. */

#include <errno.h>

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/prompt.h"
#include "cmd/shell/redirect.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/suggest.h"
#include "report/progress.h"

static struct err *add_line(struct str *to, const char *start, const char *text,
			    enum outside_lines lines)
{
	struct err *err = str_add(to, start);

	if (!err)
		err = outside_add(to, text, strlen(text), lines);
	return err ? err : str_add(to, "\n");
}

/*
 * Everything that mdbg writes to standard error goes through here, in one write, so that no other
 * output to the terminal comes in between. Only text of a script (own) may have several lines.
 */
static void print(struct shell *shell, const char *text, const char *hint, enum outside_lines own)
{
	AUTO_STR struct str lines = STR_INIT;
	struct err *err = add_line(&lines, "mdbg: ", text, own);

	if (!err && hint && *hint)
		err = add_line(&lines, "hint: ", hint, OUTSIDE_ONE_LINE);
	if (shell)
		prompt_hide(shell);
	progress_hide();
	fflush(stderr);
	/* If standard error is broken there is no place to report that. */
	if (write(STDERR_FILENO, err ? "mdbg: out of memory\n" : lines.at, err ? 20 : lines.len) <
	    0)
		errno = 0;
	progress_show();
	if (shell)
		prompt_show(shell);
}

void report_err(struct shell *shell, const struct err *err)
{
	print(shell, err->msg, err->hint, OUTSIDE_ONE_LINE);
}

void report_warning(struct shell *shell, const char *text, const char *hint)
{
	print(shell, text, hint, OUTSIDE_ONE_LINE);
}

void report_note(struct shell *shell, const char *fmt, ...)
{
	AUTO_FREE char *text = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	print(shell, text ? text : "out of memory", NULL, OUTSIDE_ONE_LINE);
}

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

void report_result(struct shell *shell, int code, const char *origin)
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
	print(shell, err ? message : str_text(&text),
	      hint_of(option(options, "-errorcode"), option(options, "-errorinfo"), message, &hint),
	      OUTSIDE_LINES);
	Tcl_DecrRefCount(options);
}

struct err *report_write_err(const struct shell *shell)
{
	errno = Tcl_GetErrno();
	return err_recode(out_write_err(redirect_name(shell)), ERR_SYS);
}

struct err *report_flush(struct shell *shell)
{
	Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDOUT);

	if (!channel || Tcl_Flush(channel) == TCL_OK)
		return NULL;
	if (Tcl_GetErrno() == EPIPE && redirect_reader_may_leave(shell))
		return NULL;
	return report_write_err(shell);
}

bool report_colors(const struct shell *shell, int fd)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");

	if (shell->color != COLOR_AUTO)
		return shell->color == COLOR_ALWAYS;
	return isatty(fd) && !(no_color && *no_color) && term && strcmp(term, "dumb");
}
