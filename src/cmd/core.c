/* SPDX-License-Identifier: GPL-3.0-or-later */
/* core, mdbg::core: look at a core file. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/target_commands.h"
#include "cmd/shell/shell.h"

static struct err *run(struct call *call)
{
	return target_command_open_core(call->shell, call->argv[0], call->argc > 1 ? call->argv[1] :
					NULL);
}

const struct cmd cmd_core = {
	.name		= "core",
	.usage		= "CORE ?EXE?",
	.brief		= "look at a core file: its heaps, leaks, threads",
	.help		= "EXE is the program of the core, if that is no longer where it was.\n"
			  "\n"
			  "These commands answer for a core as they would have for the process: malloc,\n"
			  "malloc allocations, freespace, leaks, check, find; where, thread, registers,\n"
			  "map, proc, status. A core has no records.\n"
			  "\n"
			  "Parts that the core has left out because they are in files (text, constants)\n"
			  "are read from those files, if they are the ones that were mapped. `detach`\n"
			  "closes the core.\n"
			  "\n"
			  "Errors: FORMAT, UNSUPPORTED; STATE if there is a process already.\n",
	.example	= "core core.4711 ./server\n",
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
	.help		= "It does what `core` does. Errors: {MDBG FORMAT HINT}, {MDBG UNSUPPORTED\n"
			  "HINT}; {MDBG STATE} if there is a process already.\n",
	.value		= value,
	.min_args	= 1,
	.max_args	= 2,
};
