/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core, mdbg::core: look at a core file. */

#include "cmd/cmd.h"
#include "cmd/target_commands.h"
#include "cmd/shell.h"

static struct err *run(struct call *call)
{
	return target_command_open_core(call->shell, call->argv[0], call->argc > 1 ? call->argv[1] :
					NULL);
}

const struct cmd cmd_core = {
	.name		= "core",
	.usage		= "CORE ?EXE?",
	.brief		= "look at a core file: its heaps, leaks, threads",
	.help		= "EXE is the program of which it is, if that is no longer where it was.\n"
			  "These commands answer of a core what they would have of the process:\n"
			  "malloc, malloc allocations, freespace, leaks, check, find; where,\n"
			  "thread, registers, map, proc, status. Nothing is recorded in it.\n"
			  "What it left out as it can be had from files (text, constants) is read\n"
			  "from them, if they are those that were mapped. `detach` closes it.\n"
			  "Errors: FORMAT, UNSUPPORTED; STATE if there is a process already.\n",
	.run		= run,
	.min_args	= 1,
	.max_args	= 2,
	.complete	= COMPLETE_FILES,
};

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	struct err *err = run(call);

	if (!err)
		*ret = Tcl_NewIntObj(session_pid(call->session));
	return err;
}

const struct cmd cmd_api_core = {
	.name		= "mdbg::core",
	.usage		= "CORE ?EXE?",
	.brief		= "open a core file; returns the PID that the process had",
	.help		= "It does what `core` does. Errors: {MDBG FORMAT HINT}, {MDBG UNSUPPORTED HINT}; {MDBG\n"
			  "STATE} if there is a process already.\n",
	.value		= value,
	.min_args	= 1,
	.max_args	= 2,
};
