/* SPDX-License-Identifier: GPL-3.0-or-later */
/* cont, interrupt: let a stopped target run on, and stop it. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/signals.h"

static struct err *run(struct call *call)
{
	int number = 0;

	if (call->argc) {
		number = signal_number(call->argv[0]);
		if (!number)
			return err_create(ERR_USAGE, "'%s' is no signal", call->argv[0]);
	}
	return session_cont(call->session, number);
}

const struct cmd cmd_cont = {
	.name		= "cont",
	.usage		= "?SIGNAL?",
	.brief		= "let a stopped process run on, with a signal if given one",
	.help		= "SIGNAL is a name (SIGUSR1, usr1) or a number; it is delivered to the\n"
			  "process as by kill(2).\n",
	.need		= call_need_target,
	.run		= run,
	.max_args	= 1,
	.complete	= COMPLETE_SIGNALS,
};

const struct cmd cmd_interrupt = {
	.name		= "interrupt",
	.brief		= "stop all threads of the process until `cont`",
	.help		= "It sends no signal, and no system call fails because of it.\n",
	.need		= call_need_target,
	.act		= session_interrupt,
};
