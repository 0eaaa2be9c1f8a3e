/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::on: scripts that run at the target's events. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"

static Tcl_Obj *all(const struct shell *shell)
{
	Tcl_Obj *dict = Tcl_NewDictObj();
	unsigned i;

	for (i = 0; i < EVENT_SCRIPTS; i++) {
		if (shell->on[i])
			Tcl_DictObjPut(NULL, dict, Tcl_NewStringObj(event_name(i), -1),
				       shell->on[i]);
	}
	return dict;
}

static struct err *on(struct call *call, Tcl_Obj **ret)
{
	struct shell *shell = call->shell;
	enum session_event_kind kind;
	Tcl_Obj *script = NULL;

	if (!call->argc) {
		*ret = all(shell);
		return NULL;
	}
	if (!event_kind(call->argv[0], &kind))
		return err_create(ERR_USAGE, "'%s' is not one of exit, exec, fork, signal, thread, death",
				  call->argv[0]);
	if (call->argc == 1) {
		*ret = shell->on[kind];
		return NULL;
	}
	if (*call->argv[1]) {
		script = call->objv[1];
		Tcl_IncrRefCount(script);
	}
	if (shell->on[kind])
		Tcl_DecrRefCount(shell->on[kind]);
	shell->on[kind] = script;
	events_want(shell);
	return NULL;
}

const struct cmd cmd_api_on = {
	.name		= "mdbg::on",
	.usage		= "?exit|exec|fork|signal|thread|death ?SCRIPT??",
	.brief		= "run a script at each event of a kind",
	.help		= "SCRIPT is evaluated at global level while mdbg waits (at the prompt, in\n"
			  "`wait`, in vwait). $mdbg::event is a dict then. It has: event pid, and for\n"
			  "    exit      status (a number) or signal (its name), if it is known\n"
			  "    exec      program\n"
			  "    fork      pid is the child's\n"
			  "    signal    thread signal (about to be delivered)\n"
			  "    thread    thread created (1: it starts, 0: it ends)\n"
			  "    death     thread signal detail: the process is about to die of a signal\n"
			  "              whose default is a core. It is held while SCRIPT runs, and then\n"
			  "              dies as it would have (`set hold-at-death` holds it longer)\n"
			  "\n"
			  "There is one script for each kind. An empty SCRIPT removes it; without SCRIPT\n"
			  "it is returned. An error in it is reported and counts as a failed command.\n",
	.example	= "mdbg::on exit {puts \"ended: $mdbg::event\"}\n",
	.value		= on,
	.max_args	= 2,
	.complete	= COMPLETE_EVENTS,
};
