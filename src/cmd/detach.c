/* SPDX-License-Identifier: GPL-3.0-or-later */
/* detach, mdbg::detach: leave the target as it was. */

#include "cmd/fail_on_leak.h"
#include "cmd/query/query_owners.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"

static struct err *run(struct call *call)
{
	bool keep = call->argc > 0;
	struct err *err;

	if (keep && strcmp(call->argv[0], "-keep"))
		return call_bad_word(call->argv[0]);
	/* mdbg has detached already from a process that has ended. */
	if (session_state(call->session) == SESSION_ENDED)
		return NULL;
	if (keep || session_state(call->session) == SESSION_NONE)
		err = call_need_target(call);
	else
		err = NULL;
	if (!err)
		fail_on_leak_search(call->shell);
	if (!err)
		err = keep ? session_keep(call->session) : session_detach(call->session);
	if (!err)
		query_owners_forget(call->shell);
	events_pump(call->shell);	/* this says now what had to stay in the process */
	return err;
}

const struct cmd cmd_detach = {
	.name		= "detach",
	.usage		= "?-keep?",
	.brief		= "take everything out of the process and let it go",
	.help		= "The records stay readable until the next attach. It is no error if the process\n"
			  "has ended. A core file or a recording is closed.\n"
			  "\n"
			  "-keep: probes and log stay in the process, which goes on recording; attach\n"
			  "again, with any mdbg of this version, to see all records. All probes must be\n"
			  "jumps (`malloc -v`), and none may be made by `probe`.\n",
	.run		= run,
	.max_args	= 1,
};

static struct err *detach(struct call *call, Tcl_Obj **ret UNUSED)
{
	if (session_state(call->session) == SESSION_NONE)
		return call_need_target(call);
	if (session_state(call->session) == SESSION_ENDED)
		return NULL;
	fail_on_leak_search(call->shell);
	return session_detach(call->session);
}

const struct cmd cmd_api_detach = {
	.name		= "mdbg::detach",
	.brief		= "detach; what was recorded stays readable",
	.value		= detach,
};
