/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The shell: making it, and evaluating lines and scripts. */

#include "cmd/shell/shell.h"

#include <errno.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/shell/alias.h"
#include "cmd/shell/debuginfod.h"
#include "cmd/shell/embedded.h"
#include "cmd/shell/line.h"
#include "cmd/shell/script_file.h"
#include "cmd/shell/settings.h"
#include "cmd/shell/signals.h"
#include "cmd/shell/suggest.h"
#include "cmd/shell/tcl_paths.h"
#include "report/out.h"
#include "report/progress.h"

#define WATCH_US	100000

/*
 * End all scripts at work, past every catch. A limit of 0 commands does that, and it can be lifted.
 * Tcl_CancelEval cannot be taken back when it comes at the very end of a script.
 */
void shell_end_scripts(struct shell *shell)
{
	shell->cancelled = true;
	Tcl_LimitSetCommands(shell->tcl, 0);
	Tcl_LimitSetGranularity(shell->tcl, TCL_LIMIT_COMMANDS, 1);
	Tcl_LimitTypeSet(shell->tcl, TCL_LIMIT_COMMANDS);
	Tcl_LimitCheck(shell->tcl);
}

bool shell_is_cancelled(const struct shell *shell)
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

	if (shell_is_cancelled(shell))
		shell->cancelled = true;
	else
		watch(shell);
}

/*
 * Code may end the process through Tcl (`exit` of a child interpreter, a panic); mdbg must not stay
 * attached then.
 */
static void on_tcl_exit(ClientData data)
{
	shell_detach(data);
}

/* Tcl gives its panic handler no context. */
static struct shell *panicking;

/*
 * Tcl panics when it has no memory. If this returned, Tcl would go on with memory that it does not
 * have; and exit() would run Tcl's handlers. So it ends with _exit.
 */
static NORETURN void on_panic(const char *format, ...)
{
	struct shell *shell = take(panicking);
	va_list ap;

	fputs("mdbg: Tcl: ", stderr);
	va_start(ap, format);
	vfprintf(stderr, format, ap);
	va_end(ap);
	fputs("\n", stderr);
	if (shell)
		shell_detach(shell);
	_exit(EXIT_FAILURE);
}

static struct err *init_tcl(struct shell *shell, const char *program)
{
	struct err *err;

	panicking = shell;
	Tcl_SetPanicProc(on_panic);
	Tcl_FindExecutable(program);
	shell->tcl = Tcl_CreateInterp();
	Tcl_SetSystemEncoding(NULL, "utf-8");
	Tcl_SetVar(shell->tcl, "auto_noexec", "1", TCL_GLOBAL_ONLY);
	tcl_paths_fix_library(shell->tcl);
	if (embedded_tcl_init(shell->tcl) != TCL_OK)
		report_note(shell, "Tcl's library is missing, its plain commands are there: %s",
			    Tcl_GetStringResult(shell->tcl));
	tcl_paths_clean(shell->tcl);
	Tcl_LimitAddHandler(shell->tcl, TCL_LIMIT_TIME, on_watch, shell, NULL);
	Tcl_CreateExitHandler(on_tcl_exit, shell);
	err = cmd_register(shell);
	if (!err)
		err = alias_defaults(shell);
	if (!err)
		err = settings_init(shell);
	return err ? err : events_init(shell);
}

struct err *shell_create(const char *program, void (*leave)(struct shell *shell, int status),
			 struct shell **ret)
{
	struct shell *shell = calloc(1, sizeof(*shell));
	struct err *err;

	if (!shell)
		return err_nomem;
	shell->leave = leave;
	shell->pager = true;
	err = session_create(&shell->session);
	if (!err)
		err = init_tcl(shell, program);
	if (err)
		return err;	/* the process ends with it */
	*ret = shell;
	return NULL;
}

static void fail(struct shell *shell, const struct err *err)
{
	report_err(shell, err);
	shell->failed = true;
}

void shell_detach(struct shell *shell)
{
	struct session *session = shell->session;
	struct session_event warning;
	struct err *err;

	if (!session)
		return;
	events_end(shell);
	shell->session = NULL;
	cancel_clear();
	progress_begin("detach");
	err = session_leave(session);
	progress_end();
	while (session_next_warning(session, &warning))
		report_warning(shell, warning.text, warning.hint);
	if (err)
		fail(shell, err);
	session_destroy(session);
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
		shell_end_scripts(shell);
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
static int evaluate(struct shell *shell, Tcl_Obj *script)
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

/*
 * Has a script ended because nobody reads the output any more? The error ends it, so that one that
 * prints for ever does not outlive its reader; but as with other tools, it is not reported.
 */
static bool reader_left(const struct shell *shell, int code)
{
	const char *error_code = Tcl_GetVar(shell->tcl, "errorCode", TCL_GLOBAL_ONLY);
	/* This is read last: the look at a variable may move it. */
	const char *result = Tcl_GetStringResult(shell->tcl);
	int errnum = errno;
	const struct err *broken;

	if (code != TCL_ERROR || !redirect_reader_may_leave(shell))
		return false;
	errno = EPIPE;
	broken = out_write_err("standard output");
	errno = errnum;	/* report_write_err may yet need it */
	return !strcmp(result, broken->msg) ||
	       (error_code && !strncmp(error_code, "POSIX EPIPE", 11) &&
		!strncmp(result, "error writing \"stdout\"", 22));
}

static bool finish(struct shell *shell, int code, const char *origin)
{
	struct err *err = NULL;
	bool ok = code == TCL_OK || code == TCL_RETURN || reader_left(shell, code);

	if (!ok)
		report_result(shell, code, origin);
	err = report_flush(shell);
	if (err && ok) {
		report_err(shell, err);
		ok = false;
	}
	if (!ok)
		shell->failed = true;
	if (!shell->depth && shell->session && session_names_warned(shell->session))
		events_pump(shell);	/* this reports what the answer lacks */
	if (!shell->depth)
		debuginfod_hint(shell);
	return ok;
}

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

static bool run_words(struct shell *shell, int nr, const char *const *words, const char *origin)
{
	Tcl_Obj *script = Tcl_NewObj();

	for (int i = 0; i < nr; i++)
		Tcl_ListObjAppendElement(NULL, script, Tcl_NewStringObj(words[i], -1));
	return finish(shell, evaluate(shell, script), origin);
}

static bool run_raw(struct shell *shell, const struct line *line)
{
	const char *const words[] = { line->raw->name, line->rest + strspn(line->rest, " \t") };

	return run_words(shell, *words[1] ? 2 : 1, words, NULL);
}

/* The name of a file is one Tcl word, in which variables, quotes and braces work. */
static struct err *open_line_redirect(struct shell *shell, const struct line *line)
{
	Tcl_Obj *names, *name = NULL;
	int nr = 0;

	if (line->kind == REDIRECT_PIPE)
		return redirect_open(shell, line->kind, line->rest);
	if (evaluate(shell, Tcl_ObjPrintf("list %s", line->rest)) != TCL_OK)
		return err_create(ERR_USAGE, "'%s' is no file name: %s", line->rest,
				  Tcl_GetStringResult(shell->tcl));
	names = Tcl_GetObjResult(shell->tcl);
	Tcl_ListObjLength(NULL, names, &nr);
	if (nr > 1)
		return err_create(ERR_USAGE, "one file name goes after >");
	Tcl_ListObjIndex(NULL, names, 0, &name);
	return redirect_open(shell, line->kind, name ? Tcl_GetString(name) : "");
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
	if (reader_left(shell, code))
		return TCL_OK;
	return cmd_fail(shell->tcl, report_write_err(shell));
}

static bool run_line(struct shell *shell, const char *text, const struct line *line)
{
	struct err *err;
	int code;

	if (line->kind) {
		err = open_line_redirect(shell, line);
		if (err) {
			fail(shell, err);
			return false;
		}
	}
	suggest_settings(shell, text, line->head_len);
	code = evaluate(shell, Tcl_NewStringObj(text, (int)line->head_len));
	if (code == TCL_OK && shell->echo)
		echo(shell);
	code = explain_write(shell, code);
	if (line->kind) {
		err = redirect_close(shell);
		if (err && code == TCL_OK)
			code = cmd_fail(shell->tcl, err);
	}
	return finish(shell, code, NULL);
}

bool shell_line(struct shell *shell, const char *text)
{
	struct line line;
	struct err *err = line_parse(shell, text, &line);

	if (err) {
		fail(shell, err);
		return false;
	}
	return line.raw ? run_raw(shell, &line) : run_line(shell, text, &line);
}

bool shell_line_is_whole(const struct shell *shell, const char *text)
{
	struct line line;
	struct err *err = line_parse(shell, text, &line);

	if (err)
		return true;	/* shell_line reports it */
	return line.raw || line.kind || Tcl_CommandComplete(text);
}

static bool run_stdin(struct shell *shell)
{
	Tcl_Channel channel = Tcl_GetStdChannel(TCL_STDIN);
	Tcl_Obj *text = Tcl_NewObj();
	bool ok;

	Tcl_IncrRefCount(text);
	if (!channel || Tcl_ReadChars(channel, text, -1, 0) < 0) {
		fail(shell, err_sys("read standard input"));
		ok = false;
	} else {
		ok = finish(shell, evaluate(shell, text), "standard input");
	}
	Tcl_DecrRefCount(text);
	return ok;
}

bool shell_script(struct shell *shell, const char *name)
{
	CLEANUP(script_file_free) struct script script = SCRIPT_INIT;
	bool from_stdin = !strcmp(name, "-");
	struct err *err = from_stdin ? str_add(&script.path, name) :
				       script_file_find(shell, name, &script);
	const char *const words[] = { "::source", "-encoding", "utf-8", str_text(&script.path) };

	if (err) {
		fail(shell, err);
		return false;
	}
	Tcl_SetVar(shell->tcl, "argv0", words[3], TCL_GLOBAL_ONLY);
	return from_stdin ? run_stdin(shell) : run_words(shell, 4, words, words[3]);
}

void shell_background(struct shell *shell, Tcl_Obj *script)
{
	/* The script that waits has not failed, so its state is kept, as bgerror does. */
	Tcl_InterpState state = Tcl_SaveInterpState(shell->tcl, TCL_OK);

	finish(shell, evaluate(shell, script), NULL);
	Tcl_RestoreInterpState(shell->tcl, state);
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
		fail(shell, err);
	return ok && !err;
}
