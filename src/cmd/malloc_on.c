/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc on, off, reset: start or stop the recording in the process, and forget the records. */

#include "cmd/cmd.h"
#include "session/session.h"

const struct cmd cmd_malloc_on = {
	.name		= "malloc on",
	.brief		= "put the probes in: record from now on",
	.help		= "No error if they are in. What was recorded before is kept; what was\n"
			  "allocated and freed meanwhile is not known.\n",
	.need		= call_need_target,
	.act		= session_arm,
};

const struct cmd cmd_malloc_off = {
	.name		= "malloc off",
	.brief		= "take the probes out, keeping what was recorded",
	.help		= "Blocks that are freed while they are out stay in the log.\n",
	.need		= call_need_target,
	.act		= session_disarm,
};

const struct cmd cmd_malloc_reset = {
	.name		= "malloc reset",
	.brief		= "forget what was recorded, and go on",
	.need		= call_need_target,
	.act		= session_reset,
};
