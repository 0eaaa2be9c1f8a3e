/* SPDX-License-Identifier: GPL-3.0-or-later */
/* interrupt: stop the target. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/shell.h"

static struct err *run(struct call *call)
{
	struct err *err = call_need_target(call);

	return err ? err : session_interrupt(call->session);
}

const struct cmd cmd_interrupt = {
	.name		= "interrupt",
	.usage		= "",
	.brief		= "stop all threads of the process until `cont`",
	.help		= "No signal is sent and no system call fails for it.\n",
	.run		= run,
};
