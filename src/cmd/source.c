/* SPDX-License-Identifier: GPL-3.0-or-later */
/* source: run a Tcl script. */

#include "cmd/cmd.h"
#include "cmd/shell.h"

/* With options (-encoding), and under its own name for Tcl's library, `source` is Tcl's. */
static bool for_tcl(int argc, const char *const *argv)
{
	return !argc || argc == 1 || argv[0][0] == '-';
}

/* This runs only if there is a redirection, which the shell has opened already. */
static struct err *run(struct call *call)
{
	return Tcl_FSEvalFile(call->shell->tcl, call->objv[0]) == TCL_ERROR ? err_in_script : NULL;
}

const struct cmd cmd_source = {
	.name		= "source",
	.usage		= "FILE",
	.brief		= "run a Tcl script",
	.help		= "In the script every command of mdbg is a Tcl command. An error ends the\n"
			  "script. Redirections are words of a command:\n"
			  "malloc allocations > dump.txt\n",
	.run		= run,
	.for_tcl	= for_tcl,
	.min_args	= 1,
	.max_args	= 1,
	.flags		= CMD_SILENT,
	.complete	= COMPLETE_FILES,
};
