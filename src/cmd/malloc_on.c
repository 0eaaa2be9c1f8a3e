/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc on: put the probes in. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/shell.h"

static struct err *run(struct call *call)
{
	struct err *err = call_need_target(call);

	return err ? err : session_arm(call->session);
}

const struct cmd cmd_malloc_on = {
	.name		= "malloc on",
	.usage		= "",
	.brief		= "put the probes in: record from now on",
	.help		= "No error if they are in. What was recorded before is kept; what was\n"
			  "allocated and freed meanwhile is not known.\n",
	.run		= run,
};
