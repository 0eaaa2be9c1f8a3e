/* SPDX-License-Identifier: GPL-3.0-or-later */
/* wait: wait for a time, for the end of the target, or until an expression is true. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/target_commands.h"
#include "cmd/shell/shell.h"
#include "heap/filter.h"

/* A time that is waited for is over when the process is held before its death. */
static bool is_held(void *ctx, struct err **err_ret UNUSED)
{
	return ((struct call *)ctx)->shell->held;
}

static struct err *wait_time(struct call *call)
{
	uint64_t ns;
	struct err *err = parse_duration(call->argv[0], &ns);

	if (!err && call->argc > 1)
		err = call_bad_word(call->argv[1]);
	if (!err)
		err = target_command_wait(call->shell, ns, is_held, call);
	return err && err->code == ERR_TIMEOUT ? NULL : err;
}

static bool is_true(void *ctx, struct err **err_ret)
{
	struct call *call = ctx;
	int value = 0;

	if (Tcl_ExprBooleanObj(call->shell->tcl, call->objv[1], &value) != TCL_OK)
		*err_ret = err_in_script;
	else if (!value && call->shell->held)
		*err_ret = err_hint(err_create(ERR_STATE, "process %d is held before its death",
					       session_pid(call->session)), "`cont` lets it die");
	return value;
}

/* Parse `timeout SECONDS`, the words from `at` to the end; there may be none. */
static struct err *parse_timeout(struct call *call, int at, uint64_t *ret)
{
	*ret = WAIT_FOREVER;
	if (at >= call->argc)
		return NULL;
	if (strcmp(call->argv[at], "timeout"))
		return call_bad_word(call->argv[at]);
	if (at + 2 != call->argc)
		return err_create(ERR_USAGE, "seconds go after timeout");
	return parse_duration(call->argv[at + 1], ret);
}

static struct err *wait_for(struct call *call)
{
	bool until = !strcmp(call->argv[0], "until");
	uint64_t ns;
	struct err *err;

	if (!until && strcmp(call->argv[0], "exit"))
		return wait_time(call);
	if (until && call->argc < 2)
		return err_create(ERR_USAGE, "an expression goes after until");
	err = parse_timeout(call, until ? 2 : 1, &ns);
	if (err)
		return err;
	if (until)
		return target_command_wait(call->shell, ns, is_true, call);
	if (session_state(call->session) == SESSION_NONE ||
	    session_state(call->session) == SESSION_CORE)
		return call_need_target(call);
	return target_command_wait_end(call->shell, ns);
}

/* A script of mdbg::on may wait while another one does. */
static struct err *run(struct call *call)
{
	struct shell *shell = call->shell;
	enum waits before = shell->waits;
	struct err *err;

	shell->waits = WAITS_FOR_TIME;
	shell->held = false;
	err = wait_for(call);
	shell->waits = before;
	return err;
}

const struct cmd cmd_wait = {
	.name		= "wait",
	.usage		= "SECONDS | exit | until {EXPR}  ?timeout SECONDS?",
	.brief		= "let the process run: for a time, to its end, or until EXPR",
	.help		= "The process runs on, its events are shown and scripts of mdbg::on run. SECONDS\n"
			  "may have a fraction or a unit: 0.5, 90s, 5m, 2h. EXPR is a Tcl expression,\n"
			  "tried every 50 ms:\n"
			  "    wait until {[dict get [mdbg::malloc] bytes] > 1000000}\n"
			  "\n"
			  "A process that is held before its death (`set hold-at-death`) ends the wait;\n"
			  "that for EXPR with an error. `wait exit` lets it die.\n"
			  "\n"
			  "Errors: TIMEOUT when the time is over; CANCELLED on Ctrl-C.\n",
	.example	= "wait 60\n",
	.run		= run,
	.min_args	= 1,
	.max_args	= CMD_ANY,
	.flags		= CMD_SILENT,
	.complete	= COMPLETE_WAIT,
};
