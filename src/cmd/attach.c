/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attach: take a running process as the target. */

#include "cmd/cmd.h"
#include "cmd/life.h"
#include "cmd/list.h"
#include "cmd/shell.h"

static struct err *run(struct call *call)
{
	pid_t pid;
	struct err *err = life_parse_pid(call->argv[0], &pid);

	return err ? err : life_attach(call->shell, pid);
}

const struct cmd cmd_attach = {
	.name		= "attach",
	.usage		= "PID",
	.brief		= "attach to a running process and record its allocations",
	.help		= "The process runs on. What was recorded of an earlier one is dropped.\n"
			  "Before it, `set` what belongs to an attach: stack-depth, log-limit,\n"
			  "engine, free-history.\n"
			  "Errors: ATTACH with the reason; STATE if there is a process already.\n",
	.run		= run,
	.min_args	= 1,
	.max_args	= 1,
};
