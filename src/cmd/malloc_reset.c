/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc reset: forget what was recorded. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/shell.h"

static struct err *run(struct call *call)
{
	struct err *err = call_need_target(call);

	return err ? err : session_reset(call->session);
}

const struct cmd cmd_malloc_reset = {
	.name		= "malloc reset",
	.usage		= "",
	.brief		= "forget what was recorded, and go on",
	.run		= run,
};
