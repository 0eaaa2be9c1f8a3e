/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The recorder of the shell. Its timer runs in Tcl's event loop, as that of the history does
 * (sampling.c).
 */

#include "cmd/recording/recording.h"

#include <limits.h>

#include "answer/recorder.h"
#include "base/cleanup.h"
#include "cmd/shell/shell.h"
#include "heap/filter.h"
#include "session/cost/session_cost.h"

#define COST	100u	/* hundredths of a percent: `--cost 1` */

struct err *recording_limits(const char *keep, const char *size, struct record_limits *limits)
{
	struct err *err = keep ? parse_duration(keep, &limits->keep_ns) : NULL;

	if (!err && !limits->keep_ns)
		err = err_create(ERR_USAGE, "'%s': an age is more than 0", keep);
	if (!err && size)
		err = parse_size(size, &limits->size);
	if (!err && size && limits->size < RECORD_FRAME_MOST)
		err = err_create(ERR_USAGE, "'%s': a recording takes 16M at least", size);
	return err;
}

/* What cannot be recorded is said once, and is no failure of a command. */
static void tell(struct shell *shell, const struct err *err)
{
	const char *news = recorder_news(shell->recording.recorder);

	if (news)
		terminal_warning(&shell->terminal, news, "");
	if (err)
		terminal_warning(&shell->terminal, err->msg, err->hint);
}

static void on_timer(ClientData data)
{
	struct shell *shell = data;
	struct recording *recording = &shell->recording;
	uint64_t ns, ms;

	tell(shell, recorder_poll(recording->recorder, &ns));
	ms = ns / 1000000;
	recording->timer = Tcl_CreateTimerHandler((int)MIN(ms, (uint64_t)INT_MAX), on_timer, shell);
}

void recording_mark(struct shell *shell)
{
	if (shell->recording.recorder)
		tell(shell, recorder_now(shell->recording.recorder));
}

struct err *recording_begin(struct shell *shell, const char *dir,
			    const struct record_limits *limits)
{
	struct recording *recording = &shell->recording;
	enum session_state state = session_state(shell->session);
	struct err *err;

	if (recording->recorder)
		return err_hint(err_create(ERR_STATE, "it is recorded to %s already",
					   recorder_state(recording->recorder).path), "`record off` ends that");
	err = recorder_create(shell->session, dir, limits, "mdbg " VERSION, &recording->recorder);
	if (err)
		return err;
	if (state == SESSION_RUNNING || state == SESSION_STOPPED)
		recording_attached(shell);
	on_timer(shell);
	return NULL;
}

void recording_attached(struct shell *shell)
{
	struct recording *recording = &shell->recording;

	if (!recording->recorder)
		return;
	tell(shell, recorder_attached(recording->recorder, recording->ended));
	recording->ended = session_pid(shell->session);
}

void recording_event(struct shell *shell, const struct session_event *event)
{
	if (shell->recording.recorder)
		tell(shell, recorder_event(shell->recording.recorder, event));
}

struct err *recording_end(struct shell *shell, const char *why)
{
	struct recorder *recorder = take(shell->recording.recorder);

	Tcl_DeleteTimerHandler(shell->recording.timer);
	shell->recording = (struct recording){ .recorder = NULL };
	return recorder ? recorder_end(recorder, why) : NULL;
}

struct err *recording_check(const struct recording_options *options, bool other)
{
	struct record_limits limits = RECORDING_LIMITS;

	if (!options->dir && (options->keep || options->size || options->group))
		return err_create(ERR_USAGE, "this option needs --record: %s", options->keep ? "--keep" :
				  options->size ? "--size" : "--group");
	if (!options->dir)
		return NULL;
	if (other || !options->process == !options->group)
		return err_create(ERR_USAGE, "--record needs one of -p and --group");
	return recording_limits(options->keep, options->size, &limits);
}

struct err *recording_bound_cost(struct shell *shell, const struct recording_options *options)
{
	const struct session_config *config = session_config(shell->session);

	return options->dir && !config->cost && !config->sample ?
		session_cost_set(shell->session, COST) : NULL;
}

struct err *recording_begin_by(struct shell *shell, const struct recording_options *options)
{
	struct record_limits limits = RECORDING_LIMITS;
	struct err *err;

	/* Those of a group are recorded by others. */
	if (!options->dir || options->group)
		return NULL;
	err = recording_limits(options->keep, options->size, &limits);
	return err ? err : recording_begin(shell, options->dir, &limits);
}
