/* SPDX-License-Identifier: GPL-3.0-or-later */
/* kill: end the target. */

#include "cmd/fail_on_leak.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"

static struct err *run(struct call *call)
{
	struct err *err;

	fail_on_leak_search(call->shell);
	err = session_kill(call->session);
	if (!err)
		events_pump(call->shell);
	return err;
}

const struct cmd cmd_kill = {
	.name		= "kill",
	.brief		= "end the process by SIGKILL",
	.help		= "The records stay readable.\n",
	.need		= call_need_target,
	.run		= run,
};
