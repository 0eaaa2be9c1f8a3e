/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --record without a prompt. When its process has ended mdbg looks each second for one of the same
 * name, and attaches to it. Of several it takes the one that has run longest.
 */

#include "cmd/recording/group.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/target_commands.h"
#include "cmd/terminal/signals.h"
#include "os/processes.h"
#include "os/procfs.h"

#define LOOK_NS		1000000000ull	/* between two looks for the next process */

/* The process of that name that has run longest; 0: there is none. */
static pid_t find_process(const char *name)
{
	struct process_names found;
	uint64_t first = UINT64_MAX;
	pid_t pid = 0;

	if (processes_named(name, &found))
		return 0;
	vec_each(process, &found.vec) {
		struct proc_stat stat;

		if (!procfs_stat(process->pid, &stat) && stat.start_time < first) {
			first = stat.start_time;
			pid = process->pid;
		}
	}
	vec_free(&found.vec);
	return pid;
}

static void attach_next(struct shell *shell, const char *name)
{
	struct recording *recording = &shell->recording;
	pid_t pid = find_process(name);
	struct err *err;

	if (!pid)
		return;
	err = target_command_attach(shell, pid);
	if (!err && !shell->quiet)
		terminal_note(&shell->terminal, "process %d is recorded", pid);
	else if (err && pid != recording->refused)
		terminal_warning(&shell->terminal, err->msg, err->hint);
	recording->refused = err ? pid : 0;
}

static bool has_target(const struct shell *shell)
{
	enum session_state state = session_state(shell->session);

	return state == SESSION_RUNNING || state == SESSION_STOPPED;
}

static bool is_over(void *ctx, struct err **err_ret UNUSED)
{
	const struct shell *shell = ctx;

	return signals_ending() || !has_target(shell);
}

static void serve(struct shell *shell, const char *name)
{
	struct err *err = NULL;

	while (!signals_ending() && !(err && err->code == ERR_CANCELLED)) {
		if (!has_target(shell))
			attach_next(shell, name);
		if (has_target(shell))
			err = target_command_wait(shell, WAIT_FOREVER, is_over, shell);
		else
			err = target_command_wait(shell, LOOK_NS, NULL, NULL);
		events_pump(shell);
	}
}

void recording_serve(struct shell *shell, const struct recording_options *options, pid_t pid)
{
	struct proc_status status;
	struct err *err = NULL;

	if (options->group)
		err = recording_group_serve(shell, options);
	else if (pid && !procfs_status(pid, &status))
		serve(shell, status.name.bytes);	/* the next one is that of the same name */
	else
		serve(shell, options->process);
	if (err)
		terminal_err(&shell->terminal, err);
	shell->leave(shell, err || shell->failed ? 1 : 0);
	__builtin_unreachable();
}
