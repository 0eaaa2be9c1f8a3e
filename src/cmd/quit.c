/* SPDX-License-Identifier: GPL-3.0-or-later */
/* quit and exit: detach and end. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"

#define STATUS_MAX	255	/* exit(-1) is 255, as in C */

static struct err *run_quit(struct call *call)
{
	events_quit(call->shell);
}

static struct err *run_exit(struct call *call)
{
	char *end;
	long status = 0;

	if (call->argc) {
		status = strtol(call->argv[0], &end, 0);
		/*
		 * The kernel would cut a larger status to its lowest byte, which could turn an
		 * error into 0.
		 */
		if (!*call->argv[0] || *end || status < -STATUS_MAX || status > STATUS_MAX)
			return err_create(ERR_USAGE, "'%s' is no number from 0 to %d",
					  call->argv[0], STATUS_MAX);
	}
	call->shell->leave(call->shell, (int)(status & 0xff));
	return NULL;
}

const struct cmd cmd_quit = {
	.name		= "quit",
	.brief		= "detach and end mdbg; the process runs on",
	.help		= "The exit status is 1 if a command or script has failed, else 0.\n",
	.run		= run_quit,
	.flags		= CMD_SILENT,
};

const struct cmd cmd_exit = {
	.name		= "exit",
	.usage		= "?STATUS?",
	.brief		= "detach and end mdbg with this exit status (0)",
	.run		= run_exit,
	.max_args	= 1,
	.flags		= CMD_SILENT,
};
