/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines: redirected, evaluated, and read from a channel. */

#include "cmd/shell/lines.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/outside.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/evaluate.h"
#include "cmd/shell/events.h"
#include "cmd/shell/line.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/suggest.h"
#include "cmd/terminal/redirect.h"

static void echo(struct shell *shell)
{
	const char *result = Tcl_GetStringResult(shell->tcl);
	Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDOUT);
	AUTO_STR struct str shown = STR_INIT;

	if (!*result || !channel)
		return;
	if (outside_add(&shown, result, strlen(result), OUTSIDE_LINES))
		return;
	Tcl_WriteChars(channel, str_text(&shown), -1);
	Tcl_WriteChars(channel, "\n", 1);
}

/* Does text begin with the name of a variable of Tcl's? What has braces or (index) is one of Tcl's. */
static bool is_variable(struct shell *shell, const char *text)
{
	size_t len = 0;
	char name[256];

	while (isalnum((unsigned char)text[len]) || text[len] == '_')
		len++;
	if (!len || text[len] == '(' || text[len] == ':' || len >= sizeof(name))
		return true;
	memcpy(name, text, len);
	name[len] = '\0';
	return Tcl_GetVar2Ex(shell->tcl, name, NULL, 0);
}

/* Of an expression nothing but variables is Tcl's. $rip is a register, where Tcl has no such variable. */
static bool run_expression(struct shell *shell, const struct line *line, const char *text)
{
	Tcl_Obj *meant = Tcl_NewObj();
	bool ok;

	Tcl_IncrRefCount(meant);
	while (text && *text) {
		const char *end = text + 1 + strcspn(text + 1, "$"), *value = text;
		bool is = *text == '$' && is_variable(shell, text + 1);

		if (is)
			value = Tcl_ParseVar(shell->tcl, text, &end);
		if (value)
			Tcl_AppendToObj(meant, value, is ? -1 : (int)(end - text));
		text = value ? end : NULL;
	}
	ok = text ? evaluate_words(shell, 2, (const char *const[]){ line->raw->name,
								    Tcl_GetString(meant) },
				   NULL) :
		    evaluate_finish(shell, TCL_ERROR, NULL);
	Tcl_DecrRefCount(meant);
	return ok;
}

static bool run_raw(struct shell *shell, const struct line *line)
{
	const struct cmd *cmd = line->raw;
	const char *const words[] = {
		cmd->tcl_name ? cmd->tcl_name : cmd->name, line->rest + strspn(line->rest, " \t"),
	};

	if (cmd->flags & CMD_FORMAT && strchr(words[1], '$'))
		return run_expression(shell, line, words[1]);
	return evaluate_words(shell, *words[1] ? 2 : 1, words, NULL);
}

/* The name of a file is one Tcl word, in which variables, quotes and braces work. */
static struct err *open_line_redirect(struct shell *shell, const struct line *line)
{
	Tcl_Obj *names, *name = NULL;
	int nr = 0;

	if (line->kind == REDIRECT_PIPE)
		return redirect_open(&shell->terminal, line->kind, line->rest);
	if (evaluate(shell, Tcl_ObjPrintf("list %s", line->rest)) != TCL_OK)
		return err_create(ERR_USAGE, "'%s' is no file name: %s", line->rest,
				  Tcl_GetStringResult(shell->tcl));
	names = Tcl_GetObjResult(shell->tcl);
	Tcl_ListObjLength(NULL, names, &nr);
	if (nr > 1)
		return err_create(ERR_USAGE, "one file name goes after >");
	Tcl_ListObjIndex(NULL, names, 0, &name);
	return redirect_open(&shell->terminal, line->kind, name ? Tcl_GetString(name) : "");
}

/*
 * Explain that `puts` could not write to where the line goes. If the reader of a pipe has stopped
 * reading, that is no error; otherwise the message names the file as those of our own commands do.
 */
static int explain_write(struct shell *shell, int code)
{
	const char *error_code = Tcl_GetVar(shell->tcl, "errorCode", TCL_GLOBAL_ONLY);

	if (code != TCL_ERROR || !error_code || strncmp(error_code, "POSIX ", 6) ||
	    strncmp(Tcl_GetStringResult(shell->tcl), "error writing \"stdout\"", 22))
		return code;
	if (evaluate_reader_left(shell, code))
		return TCL_OK;
	return cmd_fail(shell->tcl, redirect_write_err(&shell->terminal));
}

static bool run_line(struct shell *shell, const char *text, const struct line *line)
{
	struct err *err;
	int code;

	if (line->kind) {
		err = open_line_redirect(shell, line);
		if (err)
			return evaluate_fail(shell, err);
	}
	suggest_settings(shell, text, line->head_len);
	code = evaluate(shell, Tcl_NewStringObj(text, (int)line->head_len));
	if (code == TCL_OK && shell->echo)
		echo(shell);
	code = explain_write(shell, code);
	if (line->kind) {
		err = redirect_close(&shell->terminal);
		if (err && code == TCL_OK)
			code = cmd_fail(shell->tcl, err);
	}
	return evaluate_finish(shell, code, NULL);
}

bool shell_line(struct shell *shell, const char *text)
{
	struct line line;
	struct err *err = line_parse(shell, text, &line);
	bool ok;

	if (err)
		return evaluate_fail(shell, err);
	ok = line.raw ? run_raw(shell, &line) : run_line(shell, text, &line);
	events_script_ended(shell);
	return ok;
}

bool shell_line_is_whole(const struct shell *shell, const char *text)
{
	struct line line;
	struct err *err = line_parse(shell, text, &line);

	if (err)
		return true;	/* shell_line reports it */
	return line.raw || line.kind || Tcl_CommandComplete(text);
}

/* These wait for a line, and serve events meanwhile. */
static void readable(ClientData data, int mask UNUSED)
{
	bool *ready = data;

	*ready = true;
}

static void wait_readable(struct shell *shell, Tcl_Channel channel)
{
	ClientData handle;
	bool ready = false;

	if (Tcl_InputBuffered(channel) ||
	    Tcl_GetChannelHandle(channel, TCL_READABLE, &handle) != TCL_OK)
		return;
	Tcl_CreateFileHandler((int)(intptr_t)handle, TCL_READABLE, readable, &ready);
	while (!ready)
		events_wait(shell);
	Tcl_DeleteFileHandler((int)(intptr_t)handle);
}

bool shell_lines(struct shell *shell, Tcl_Channel channel, const char *name)
{
	AUTO_STR struct str text = STR_INIT;
	Tcl_Obj *line = Tcl_NewObj();
	struct err *err = NULL;
	bool ok = true;

	Tcl_IncrRefCount(line);
	for (;;) {
		wait_readable(shell, channel);
		Tcl_SetObjLength(line, 0);
		if (Tcl_GetsObj(channel, line) < 0) {
			events_check_ending(shell);
			if (!Tcl_Eof(channel) && errno == EINTR)
				continue;
			break;
		}
		err = str_addf(&text, "%s%s", text.len ? "\n" : "", Tcl_GetString(line));
		if (err)
			break;
		if (!shell_line_is_whole(shell, str_text(&text)))
			continue;
		ok &= shell_line(shell, str_text(&text));
		str_clear(&text);
		events_check_ending(shell);
	}
	Tcl_DecrRefCount(line);
	if (!err && text.len)
		err = err_create(ERR_USAGE, "%s: the last command has no end", name);
	if (err)
		evaluate_fail(shell, err);
	return ok && !err;
}
