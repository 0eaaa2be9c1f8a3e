/* SPDX-License-Identifier: GPL-3.0-or-later */
/* interrupt: stop the target. */

#include "cmd/cmd.h"
#include "session/session.h"

const struct cmd cmd_interrupt = {
	.name		= "interrupt",
	.brief		= "stop all threads of the process until `cont`",
	.help		= "No signal is sent and no system call fails for it.\n",
	.need		= call_need_target,
	.act		= session_interrupt,
};
