/* SPDX-License-Identifier: GPL-3.0-or-later */
/* attach, mdbg::attach: take a running process as the target. */

#include "cmd/shell/cmd.h"
#include "cmd/shell/target_commands.h"
#include "cmd/shell/settings.h"
#include "cmd/shell/shell.h"
#include "heap/filter.h"

static struct err *run(struct call *call)
{
	pid_t pid;
	struct err *err = target_command_find_pid(call->argv[0], &pid);

	return err ? err : target_command_attach(call->shell, pid);
}

const struct cmd cmd_attach = {
	.name		= "attach",
	.usage		= "PID|NAME",
	.brief		= "attach to a running process and record its allocations",
	.help		= "NAME is the name of the process or of its program's file; only one process may\n"
			  "have it. The process runs on. Records of an earlier process are dropped.\n"
			  "\n"
			  "Some settings belong to an attach, so `set` them before it: stack-depth,\n"
			  "sample, cost, log-limit, engine, free-history.\n"
			  "\n"
			  "Errors: ATTACH with the reason; STATE if there is a process already.\n",
	.example	= "attach 4711\n"
			  "attach redis-server\n",
	.run		= run,
	.min_args	= 1,
	.max_args	= 1,
	.complete	= COMPLETE_PROCESSES,
};

static struct err *attach_option(struct session_config *config, const char *name, const char *value)
{
	static const char *const options[] = { "-cost", "-engine", "-freehistory", "-loglimit", "-sample",
					       "-stackdepth", NULL };
	static const char *const settings[] = { "cost", "engine", "free-history", "log-limit", "sample",
						"stack-depth" };
	int setting = call_word_index(name, options);
	uint64_t number = 0;

	if (setting >= 0)
		return settings_store(config, settings[setting], value);
	if (parse_number(value, &number))
		return err_create(ERR_USAGE, "%s: '%s' is no number", name, value);
	if (!strcmp(name, "-stop"))
		config->stop = number;
	else if (!strcmp(name, "-arm"))
		config->arm = number;
	else if (!strcmp(name, "-started"))
		config->started = number;
	else
		return err_create(ERR_USAGE, "no option %s %s", name, value);
	return NULL;
}

static struct err *attach(struct call *call, Tcl_Obj **ret)
{
	struct session_config *config = session_config(call->session), saved = *config;
	struct err *err;
	pid_t pid;
	int i;

	err = target_command_find_pid(call->argv[0], &pid);
	for (i = 1; !err && i < call->argc; i += 2) {
		if (i + 1 == call->argc)
			err = err_create(ERR_USAGE, "a value is missing after %s", call->argv[i]);
		else
			err = attach_option(config, call->argv[i], call->argv[i + 1]);
	}
	if (!err)
		err = target_command_attach(call->shell, pid);
	*config = saved;
	if (!err)
		*ret = Tcl_NewIntObj(pid);
	return err;
}

const struct cmd cmd_api_attach = {
	.name		= "mdbg::attach",
	.usage		= "PID|NAME ?-stop 0|1? ?-arm 0|1? ?-engine auto|jump|breakpoint? "
			  "?-stackdepth N? ?-loglimit SIZE? ?-sample BYTES? ?-cost PERCENT? ?-freehistory N? "
			  "?-started TICKS?",
	.brief		= "attach; returns PID",
	.help		= "The options hold for this attach only. TICKS is when the process began, as in\n"
			  "/proc/PID/stat: if another one has its id by now, that is left alone.\n"
			  "\n"
			  "Errors: {MDBG ATTACH HINT}, {MDBG STATE} if there is a process already.\n",
	.value		= attach,
	.min_args	= 1,
	.max_args	= CMD_ANY,
};
