/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc on, off, reset: start or stop the recording in the process, and forget the records. */

#include "cmd/shell/cmd.h"
#include "session/session.h"

const struct cmd cmd_malloc_on = {
	.name		= "malloc on",
	.brief		= "put the probes in: record from now on",
	.help		= "It is no error if they are in already. Earlier records are kept. Blocks\n"
			  "that were allocated and freed while the probes were out are not known.\n",
	.need		= call_need_target,
	.act		= session_recording_arm,
};

const struct cmd cmd_malloc_off = {
	.name		= "malloc off",
	.brief		= "take the probes out; the records are kept",
	.help		= "Blocks that are freed while the probes are out stay in the log.\n",
	.need		= call_need_target,
	.act		= session_recording_disarm,
};

const struct cmd cmd_malloc_reset = {
	.name		= "malloc reset",
	.brief		= "forget all records, and go on",
	.need		= call_need_target,
	.act		= session_recording_reset,
};
