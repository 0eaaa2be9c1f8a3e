/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The target's events and mdbg's own signals, in Tcl's event loop. */

#include "cmd/shell/events.h"

#include <sys/wait.h>

#include "base/cancel.h"
#include "cmd/fail_on_leak.h"
#include "cmd/query/query_owners.h"
#include "cmd/sampling.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/debuginfod.h"
#include "cmd/shell/dict.h"
#include "cmd/shell/evaluate.h"
#include "cmd/shell/listener.h"
#include "cmd/shell/result.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/signals.h"
#include "cmd/trimming.h"

static const char *const names[EVENT_SCRIPTS + 1] = {
	[SESSION_EVENT_EXIT]	= "exit",
	[SESSION_EVENT_EXEC]	= "exec",
	[SESSION_EVENT_FORK]	= "fork",
	[SESSION_EVENT_SIGNAL]	= "signal",
	[SESSION_EVENT_THREAD]	= "thread",
	[SESSION_EVENT_DEATH]	= "death",
};

bool event_kind(const char *name, enum session_event_kind *ret)
{
	int kind = call_word_index(name, names);

	if (kind < 0)
		return false;
	*ret = (enum session_event_kind)kind;
	return true;
}

const char *event_name(enum session_event_kind kind)
{
	return kind < EVENT_SCRIPTS ? names[kind] : NULL;
}

void events_want(struct shell *shell)
{
	uint32_t kinds = 0;
	unsigned i;

	for (i = 0; i < EVENT_SCRIPTS; i++) {
		if (shell->on[i])
			kinds |= 1u << i;
	}
	session_want_events(shell->session, kinds);
}

static void show_exit(struct shell *shell, const struct session_event *event)
{
	int status = event->status;
	bool known;

	session_exit_status(shell->session, &known);
	if (!known)
		terminal_note(&shell->terminal, "process %d ended (its status is not known)", event->pid);
	else if (WIFSIGNALED(status))
		terminal_note(&shell->terminal, "process %d was ended by %s (%s)%s", event->pid,
			      signal_name(WTERMSIG(status)), strsignal(WTERMSIG(status)),
			      WCOREDUMP(status) ? ", core dumped" : "");
	else
		terminal_note(&shell->terminal, "process %d ended with status %d", event->pid,
			      WEXITSTATUS(status));
}

/*
 * A process that is held before its death is held for as long as somebody may ask about it: at the
 * prompt, and while a handler runs. A script that waits for a time, and has no handler, goes on at
 * once with the process held. Everybody else waits for what comes behind the death.
 */
static bool stays_held(const struct shell *shell)
{
	bool handled = shell->on[SESSION_EVENT_DEATH];

	if (!session_config(shell->session)->hold_at_death || shell->waits == WAITS_FOR_END)
		return false;
	return shell->interactive || !shell->depth || (shell->waits == WAITS_FOR_TIME && !handled);
}

static void show_death(struct shell *shell, const struct session_event *event)
{
	terminal_note(&shell->terminal,
		      "process %d is about to die of %s (%s%s%s) in thread %d, and is held%s",
		      event->pid, signal_name(event->signal), strsignal(event->signal),
		      *event->text ? ", " : "", event->text, event->tid,
		      stays_held(shell) ? ": `malloc check`, `where`; `cont` lets it die" : "");
}

/* The script may have let it go already. */
static void after_death(struct shell *shell)
{
	struct session_event death;
	struct err *err;

	if (!shell->session || !session_dying(shell->session, &death))
		return;
	shell->held = stays_held(shell);
	if (shell->held)
		return;
	err = session_cont(shell->session, 0);
	if (err)
		terminal_err(&shell->terminal, err);
}

static void show(struct shell *shell, const struct session_event *event)
{
	if (event->kind == SESSION_EVENT_WARNING)
		terminal_warning(&shell->terminal, event->text, event->hint);
	else if (event->kind == SESSION_EVENT_EXIT && !shell->quiet)
		show_exit(shell, event);
	else if (event->kind == SESSION_EVENT_EXEC && !shell->quiet)
		terminal_note(&shell->terminal, "process %d executes %s now", event->pid, event->text);
	else if (event->kind == SESSION_EVENT_DEATH && !shell->quiet)
		show_death(shell, event);
}

/* The dict that a script finds in mdbg::event. */
static Tcl_Obj *event_dict(struct shell *shell, const struct session_event *event)
{
	Tcl_Obj *dict = Tcl_NewDictObj();
	bool known;

	dict_text(dict, "event", names[event->kind]);
	dict_number(dict, "pid", (uint64_t)event->pid);
	switch (event->kind) {
	case SESSION_EVENT_EXIT:
		session_exit_status(shell->session, &known);
		if (known && WIFEXITED(event->status))
			dict_number(dict, "status", (uint64_t)WEXITSTATUS(event->status));
		else if (known)
			dict_text(dict, "signal", signal_name(WTERMSIG(event->status)));
		break;
	case SESSION_EVENT_EXEC:
		dict_text(dict, "program", event->text);
		break;
	case SESSION_EVENT_SIGNAL:
		dict_number(dict, "thread", (uint64_t)event->tid);
		dict_text(dict, "signal", signal_name(event->signal));
		break;
	case SESSION_EVENT_DEATH:
		dict_number(dict, "thread", (uint64_t)event->tid);
		dict_text(dict, "signal", signal_name(event->signal));
		dict_text(dict, "detail", event->text);
		break;
	case SESSION_EVENT_THREAD:
		dict_number(dict, "thread", (uint64_t)event->tid);
		dict_number(dict, "created", event->created);
		break;
	default:
		break;
	}
	return dict;
}

static void run_script(struct shell *shell, const struct session_event *event)
{
	Tcl_Obj *script = event->kind < EVENT_SCRIPTS ? shell->on[event->kind] : NULL;

	if (!script)
		return;
	Tcl_SetVar2Ex(shell->tcl, "::mdbg::event", NULL, event_dict(shell, event), TCL_GLOBAL_ONLY);
	terminal_hide(&shell->terminal);
	evaluate_background(shell, script);
	events_script_ended(shell);
	terminal_show(&shell->terminal);
}

/* A program that was attached to at an exec has symbols of its own. */
static void on_exec(struct shell *shell)
{
	struct err *err = session_state(shell->session) == SESSION_ENDED ?
				  NULL : debuginfod_new_symbols(shell);

	query_owners_forget(shell);
	if (err)
		terminal_err(&shell->terminal, err);
}

void events_pump(struct shell *shell)
{
	struct session_event event;

	while (shell->session && session_next_event(shell->session, &event)) {
		show(shell, &event);
		recording_event(shell, &event);
		if (event.kind == SESSION_EVENT_EXEC)
			on_exec(shell);
		if (event.kind == SESSION_EVENT_EXIT) {
			fail_on_leak_search(shell);
			query_owners_forget(shell);
		}
		/* The thread that dies is the one that `where` is about. */
		if (event.kind == SESSION_EVENT_DEATH)
			shell_choose_thread(shell, event.tid);
		run_script(shell, &event);
		if (event.kind == SESSION_EVENT_DEATH)
			after_death(shell);
	}
}

void events_script_ended(struct shell *shell)
{
	if (shell->depth)
		return;
	if (shell->session && session_symbols_warned(shell->session))
		events_pump(shell);	/* this reports what the answer lacks */
	debuginfod_hint(shell);
}

static void on_session(ClientData data, int mask UNUSED)
{
	events_pump(data);
}

static void on_signal(ClientData data, int mask UNUSED)
{
	struct shell *shell = data;

	signals_drain();
	/* If no script is at work, the prompt sees to it. */
	if (shell->depth && evaluate_is_cancelled(shell))
		evaluate_end_all(shell);
}

/* Report errors of `after` scripts and the like, which nobody waits for. */
static int on_background_error(ClientData data, Tcl_Interp *tcl, int objc, Tcl_Obj *const objv[])
{
	struct shell *shell = data;

	/* If Ctrl-C ended a script, its line reports that. */
	if (objc != 3 || !strcmp(Tcl_GetString(objv[1]), "interrupted"))
		return TCL_OK;
	Tcl_SetReturnOptions(tcl, objv[2]);
	Tcl_SetObjResult(tcl, objv[1]);
	result_report(shell, TCL_ERROR, NULL);
	shell->failed = true;
	Tcl_ResetResult(tcl);
	return TCL_OK;
}

struct err *events_init(struct shell *shell)
{
	Tcl_CreateFileHandler(session_event_queue_fd(shell->session), TCL_READABLE, on_session,
			      shell);
	Tcl_CreateFileHandler(signals_fd(), TCL_READABLE, on_signal, shell);
	Tcl_CreateObjCommand(shell->tcl, "::mdbg::background_error", on_background_error, shell,
			     NULL);
	if (Tcl_EvalEx(shell->tcl, "interp bgerror {} ::mdbg::background_error", -1,
		       TCL_EVAL_GLOBAL) != TCL_OK)
		return err_create(ERR_STATE, "Tcl: %s", Tcl_GetStringResult(shell->tcl));
	sampling_begin(shell);
	return NULL;
}

void events_end(struct shell *shell)
{
	unsigned i;

	sampling_end(shell);
	trimming_end(shell);
	listener_end(shell);
	Tcl_DeleteFileHandler(session_event_queue_fd(shell->session));
	for (i = 0; i < EVENT_SCRIPTS; i++) {
		if (shell->on[i])
			Tcl_DecrRefCount(shell->on[i]);
		shell->on[i] = NULL;
	}
}

void events_wait(struct shell *shell)
{
	Tcl_DoOneEvent(TCL_ALL_EVENTS);
	events_check_ending(shell);
}

void events_check_ending(struct shell *shell)
{
	int number = signals_ending();

	/* While a script runs, the cancel flag ends that first. */
	if (shell->depth)
		return;
	if (number)
		shell->leave(shell, 128 + number);
	if (!shell->interactive && signals_take_interrupts())
		shell->leave(shell, 128 + SIGINT);
}

void events_quit(struct shell *shell)
{
	shell->leave(shell, shell->failed ? 1 : 0);
	__builtin_unreachable();
}
