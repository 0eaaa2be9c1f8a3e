/* SPDX-License-Identifier: GPL-3.0-or-later */
/* source: run a Tcl script. */

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/script_file.h"
#include "cmd/shell/shell.h"

/* With options (-encoding) `source` is Tcl's. */
static bool for_tcl(int argc, const char *const *argv)
{
	return !argc || argv[0][0] == '-';
}

static struct err *run(struct call *call)
{
	CLEANUP(script_file_free) struct script script = SCRIPT_INIT;
	struct err *err = script_file_find(call->shell, call->argv[0], &script);

	return err ? err : script_file_call(call, &script);
}

const struct cmd cmd_source = {
	.name		= "source",
	.usage		= "FILE",
	.brief		= "run a Tcl script",
	.help		= "FILE without a slash is one of mdbg's own scripts, or else a file in the\n"
			  "current folder that nobody but you and root could have written.\n"
			  "\n"
			  "In the script every command of mdbg is a Tcl command. An error ends the\n"
			  "script. Redirections are words of a command: malloc allocations > dump.txt.\n",
	.example	= "source report-at-exit.tcl\n",
	.run		= run,
	.for_tcl	= for_tcl,
	.min_args	= 1,
	.max_args	= 1,
	.flags		= CMD_SILENT,
	.complete	= COMPLETE_FILES,
};
