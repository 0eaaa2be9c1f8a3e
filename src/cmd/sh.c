/* SPDX-License-Identifier: GPL-3.0-or-later */
/* sh: a shell command, or a shell. */

#include <sys/wait.h>

#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "cmd/terminal/redirect.h"
#include "cmd/terminal/signals.h"
#include "cmd/terminal/spawn.h"

static struct err *join(const struct call *call, struct str *ret)
{
	const char *shell = getenv("SHELL");
	struct err *err = NULL;

	if (!call->argc)
		return str_add(ret, shell && *shell ? shell : "/bin/sh");
	for (int i = 0; !err && i < call->argc; i++)
		err = str_addf(ret, "%s%s", i ? " " : "", call->argv[i]);
	return err;
}

static struct err *run(struct call *call)
{
	AUTO_STR struct str command = STR_INIT;
	struct err *err = join(call, &command);
	pid_t pid;
	int status;

	if (!err)
		err = redirect_flush(&call->shell->terminal);
	if (!err)
		err = spawn_shell(str_text(&command), -1, &pid);
	if (err)
		return err;
	status = spawn_wait(pid);
	if (WIFSIGNALED(status))
		return err_create(ERR_SYS, "ended by %s", signal_name(WTERMSIG(status)));
	if (WEXITSTATUS(status))
		return err_create(ERR_SYS, "ended with status %d", WEXITSTATUS(status));
	return NULL;
}

const struct cmd cmd_sh = {
	.name		= "sh",
	.usage		= "?COMMAND?",
	.brief		= "run a shell command, or a shell",
	.help		= "On a prompt line the rest of the line goes to the shell unchanged. A\n"
			  "status other than 0 is an error.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_RAW | CMD_SILENT,
	.complete	= COMPLETE_FILES,
};
