/* SPDX-License-Identifier: GPL-3.0-or-later */
/* registers: show the registers of one thread. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "cmd/thread.h"
#include "report/stood_text.h"
#include "symbol/symbol.h"

static void print(const struct call *call, const struct regs *regs)
{
	const struct arch *arch = session_arch(call->session);
	uint8_t i;

	for (i = 0; i < arch->regs_words; i++) {
		out_column(call->out, arch->reg_names[i], 10);
		out_address(call->out, regs_get(regs, i));
		if (i == arch->pc)
			out_f(call->out, "  %s",
			      symbols_text(session_symbols(call->session), regs_get(regs, i),
					   session_generation(call->session), false,
					   session_naming(call->session)->names));
		else
			out_f(call->out, "  %lld", (long long)regs_get(regs, i));
		out_text(call->out, "\n");
	}
}

static struct err *run(struct call *call)
{
	pid_t lwp = thread_current(call->shell);
	struct err *err = NULL;
	struct regs regs;

	if (call->argc)
		err = call_thread(call, call->argv[0], &lwp);
	if (!err)
		err = session_thread_registers(call->session, lwp, &regs);
	if (err)
		return err;
	print(call, &regs);
	stood_text_print(call->out, session_stood(call->session), "");
	return NULL;
}

const struct cmd cmd_registers = {
	.name		= "registers",
	.usage		= "?THREAD?",
	.brief		= "the registers of the current thread or of one",
	.help		= "A running thread is stopped for a moment.\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= 1,
	.complete	= COMPLETE_THREADS,
};
