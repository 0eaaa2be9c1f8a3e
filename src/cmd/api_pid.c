/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::pid: which process it is. */

#include "cmd/cmd.h"
#include "cmd/shell.h"

static struct err *get_pid(struct call *call, Tcl_Obj **ret)
{
	*ret = Tcl_NewIntObj(
		session_state(call->session) == SESSION_NONE ? 0 : session_pid(call->session));
	return NULL;
}

const struct cmd cmd_api_pid = {
	.name		= "mdbg::pid",
	.brief		= "the process id of the target, 0 if there is none",
	.help		= "It stays after the process has ended.\n",
	.value		= get_pid,
};
