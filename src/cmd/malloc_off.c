/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc off: take the probes out. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/shell.h"

static struct err *run(struct call *call)
{
	struct err *err = call_need_target(call);

	return err ? err : session_disarm(call->session);
}

const struct cmd cmd_malloc_off = {
	.name		= "malloc off",
	.usage		= "",
	.brief		= "take the probes out, keeping what was recorded",
	.help		= "Blocks that are freed while they are out stay in the log.\n",
	.run		= run,
};
