/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --record without a prompt. When its process has ended mdbg looks each second for one of the same
 * name, or in the same control group, and attaches to it. Of several of one name it takes the one
 * that has run longest, of those of a group the one with most memory.
 */

#include "base/cleanup.h"
#include "cmd/recording/recording.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/target_commands.h"
#include "cmd/terminal/signals.h"
#include "os/memory_groups.h"
#include "os/processes.h"
#include "os/procfs.h"

#define LOOK_NS		1000000000ull	/* between two looks for the next process */

/* Which process is recorded when the one before has ended. */
struct wanted {
	const char *name;	/* NULL: by group */
	const char *group;
};

/* Is this process in the group, or in one below it? */
static bool is_in_group(pid_t pid, const char *group)
{
	char path[MEMORY_GROUP_PATH];
	AUTO_FREE char *text = NULL;
	size_t len;

	if (procfs_file(pid, "cgroup", &text, &len) || !memory_groups_parse(text, path))
		return false;
	return memory_groups_below(path, group);
}

/* What the best of several has most of: memory in a group, and time since its start otherwise. */
static uint64_t rank_of(pid_t pid, const struct wanted *wanted)
{
	struct proc_stat stat;
	struct err *err = procfs_stat(pid, &stat);

	if (err)
		return 0;
	return wanted->group ? stat.rss_pages + 1 : UINT64_MAX - stat.start_time;
}

static struct err *find_process(const struct wanted *wanted, pid_t *ret)
{
	struct process_names found;
	struct err *err = processes_named(wanted->group ? NULL : wanted->name, &found);
	uint64_t most = 0;

	if (err)
		return err;
	vec_each(process, &found.vec) {
		uint64_t rank;

		if (wanted->group && !is_in_group(process->pid, wanted->group))
			continue;
		rank = rank_of(process->pid, wanted);
		if (rank > most) {
			most = rank;
			*ret = process->pid;
		}
	}
	vec_free(&found.vec);
	if (most)
		return NULL;
	return wanted->group ?
		err_create(ERR_NOTFOUND, "no process is in the control group '%s'", wanted->group) :
		err_create(ERR_NOTFOUND, "no process has the name '%s'", wanted->name);
}

static void attach_next(struct shell *shell, const struct wanted *wanted)
{
	struct recording *recording = &shell->recording;
	struct err *err;
	pid_t pid = 0;

	if (find_process(wanted, &pid))
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

static void serve(struct shell *shell, const struct wanted *wanted)
{
	struct err *err = NULL;

	while (!signals_ending() && !(err && err->code == ERR_CANCELLED)) {
		if (!has_target(shell))
			attach_next(shell, wanted);
		if (has_target(shell))
			err = target_command_wait(shell, WAIT_FOREVER, is_over, shell);
		else
			err = target_command_wait(shell, LOOK_NS, NULL, NULL);
		events_pump(shell);
	}
}

void recording_serve(struct shell *shell, const struct recording_options *options, pid_t pid)
{
	struct wanted wanted = { .name = options->process, .group = options->group };
	struct proc_status status;

	/* The next one is that of the same name. */
	if (pid && !procfs_status(pid, &status))
		wanted.name = status.name.bytes;
	serve(shell, &wanted);
	shell->leave(shell, shell->failed ? 1 : 0);
	__builtin_unreachable();
}
