/* SPDX-License-Identifier: GPL-3.0-or-later */
/* These do all that goes with a session's attach and detach. */

#include "cmd/shell/target_commands.h"

#include <limits.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/fail_on_leak.h"
#include "cmd/query/query_owners.h"
#include "cmd/sampling.h"
#include "cmd/shell/debuginfod.h"
#include "cmd/shell/events.h"
#include "cmd/shell/shell.h"
#include "cmd/shell/suggest.h"
#include "cmd/trimming.h"
#include "heap/filter.h"
#include "os/processes.h"
#include "os/tracer.h"
#include "report/pool/pool_text.h"
#include "report/progress.h"
#include "session/replay/session_replay.h"
#include "symbol/symbol.h"

#define POLL_MS		50
#define PIDS_SHOWN	8

static struct err *offer_pools(struct shell *shell)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = shell->quiet ? NULL : pool_text_offer(shell->session, &text);

	if (!err && text.len)
		terminal_note(&shell->terminal, "%s", str_text(&text));
	return err;
}

/*
 * Tell the user at once what was found, what is missing and what is not as it was asked for, also
 * if the attach failed. --fail-on-leak begins before that, because one of these events may be the
 * end of the process.
 */
static struct err *after(struct shell *shell, struct err *err)
{
	if (!err) {
		shell_choose_thread(shell, 0);
		query_owners_forget(shell);
		sampling_attached(shell);
		recording_attached(shell);
		trimming_end(shell);
		fail_on_leak_begin(shell);
		err = debuginfod_new_symbols(shell);
		if (!err)
			err = offer_pools(shell);
	}
	events_pump(shell);
	return err;
}

struct err *target_command_attach(struct shell *shell, pid_t pid)
{
	struct err *err;

	progress_begin("attach");
	err = after(shell, session_attach(shell->session, pid));
	progress_end();
	return err;
}

struct err *target_command_open_core(struct shell *shell, const char *path, const char *exe)
{
	struct session_core core;
	struct err *err;

	progress_begin("core");
	err = after(shell, session_core_open(shell->session, path, exe));
	progress_end();
	/* The signal was for this thread, so it is the one that the user wants to see. */
	if (!err && session_core(shell->session, &core))
		shell_choose_thread(shell, core.first);
	return err ? suggest_file_hint(err, path) : NULL;
}

struct err *target_command_split_recording(char *name, uint64_t *time_ret)
{
	char *at = access(name, F_OK) ? strrchr(name, '@') : NULL;
	struct err *err;

	if (!at)
		return NULL;
	if (*time_ret)
		return err_create(ERR_USAGE, "%s: another recording has a time already", name);
	*at = '\0';
	err = parse_time(at + 1, time_ret);
	return err ? err_wrap(err, "%s@", name) : NULL;
}

struct err *target_command_open_recordings(struct shell *shell, const char *const *names, size_t nr)
{
	AUTO_FREE char **folders = calloc(nr, sizeof(*folders));
	struct err *err = folders ? NULL : err_nomem;
	uint64_t time_ns = 0;

	for (size_t i = 0; !err && i < nr; i++) {
		folders[i] = strdup(names[i]);
		err = folders[i] ? target_command_split_recording(folders[i], &time_ns) : err_nomem;
	}
	progress_begin("replay");
	if (!err)
		err = after(shell, session_replay_open(shell->session,
						       (const char *const *)folders, nr, time_ns));
	progress_end();
	for (size_t i = 0; folders && i < nr; i++)
		free(folders[i]);
	return err;
}

struct err *target_command_run(struct shell *shell, char *const *argv)
{
	return after(shell, session_attach_program(shell->session, argv, !shell->interactive,
						   shell->interactive));
}

static struct err *too_many(const char *name, const struct process_names *found)
{
	AUTO_STR struct str list = STR_INIT;
	struct err *err = NULL;

	for (size_t i = 0; i < found->vec.nr && i < PIDS_SHOWN && !err; i++)
		err = str_addf(&list, "%s%d", i ? ", " : "", found->vec.at[i].pid);
	if (!err && found->vec.nr > PIDS_SHOWN)
		err = str_add(&list, ", ...");
	return err ? err : err_hint(err_create(ERR_ATTACH, "%zu processes have the name '%s': %s",
					       found->vec.nr, name, str_text(&list)),
				    "choose one by its process id");
}

static struct err *find_named(const char *name, pid_t *ret)
{
	struct process_names found;
	struct err *err = processes_named(name, &found);

	if (err)
		return err;
	if (!found.vec.nr)
		err = err_hint(err_create(ERR_NOTFOUND, "no process has the name '%s'", name),
			       "`ps -e` lists the processes with their ids and names");
	else if (found.vec.nr > 1)
		err = too_many(name, &found);
	else
		*ret = found.vec.at[0].pid;
	vec_free(&found.vec);
	return err;
}

struct err *target_command_find_pid(const char *text, pid_t *ret)
{
	char *end;
	long number = strtol(text, &end, 10);

	if (*text && *end)
		return find_named(text, ret);
	if (number <= 0 || number > INT_MAX)
		return err_create(ERR_USAGE, "'%s' is no process id", text);
	*ret = (pid_t)number;
	return NULL;
}

/* The timer is there only to end Tcl_DoOneEvent. */
static void on_poll(ClientData data UNUSED)
{
}

static void serve(uint64_t left_ns)
{
	uint64_t ms = left_ns / 1000000 + 1;
	Tcl_TimerToken timer =
		Tcl_CreateTimerHandler((int)MIN(ms, (uint64_t)POLL_MS), on_poll, NULL);

	Tcl_DoOneEvent(TCL_ALL_EVENTS);
	Tcl_DeleteTimerHandler(timer);
}

struct err *target_command_wait(struct shell *shell, uint64_t ns,
				bool (*done)(void *ctx, struct err **err_ret), void *ctx)
{
	uint64_t start = tracer_now(), spent;
	struct err *err = NULL;

	for (;;) {
		if ((done && done(ctx, &err)) || err)
			return err;
		err = cancel_check();
		if (err)
			return err;
		if (!shell->depth)
			events_check_ending(shell);
		spent = tracer_now() - start;
		if (spent >= ns)
			return err_create(ERR_TIMEOUT, "time is over");
		serve(ns - spent);
	}
}

static bool has_ended(void *ctx, struct err **err_ret UNUSED)
{
	struct shell *shell = ctx;
	enum session_state state = session_state(shell->session);

	return state == SESSION_ENDED || state == SESSION_NONE;
}

struct err *target_command_wait_end(struct shell *shell, uint64_t ns)
{
	enum waits before = shell->waits;
	struct session_event death;
	struct err *err = NULL;

	shell->waits = WAITS_FOR_END;
	if (session_dying(shell->session, &death))
		err = session_cont(shell->session, 0);
	if (!err)
		err = target_command_wait(shell, ns, has_ended, shell);
	shell->waits = before;
	/* Another command may have found the end of the process, and its events may still wait. */
	if (!err)
		events_pump(shell);
	return err;
}
