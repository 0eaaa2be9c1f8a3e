/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The timer of `malloc trim every` (trimming.h). */

#include "cmd/trimming.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>

#include "cmd/shell/shell.h"
#include "report/out.h"
#include "session/trim/trim.h"

static bool has_process(const struct shell *shell)
{
	enum session_state state = session_state(shell->session);

	return state == SESSION_RUNNING || state == SESSION_STOPPED;
}

static void on_timer(ClientData data);

static void set_timer(struct shell *shell)
{
	uint64_t ms = shell->trimming.every_ns / 1000000;

	shell->trimming.timer = Tcl_CreateTimerHandler((int)MIN(ms, (uint64_t)INT_MAX), on_timer,
						       shell);
}

static void trim(struct shell *shell)
{
	struct trimming *trimming = &shell->trimming;
	struct session_trim did;
	struct err *err = trim_run(shell->session, &did);

	/* It is no pause of the next answer's. */
	session_stood(shell->session);
	if (err) {
		trimming->missed++;
		snprintf(trimming->why, sizeof(trimming->why), "%.255s", err->msg);
		return;
	}
	trimming->times++;
	trimming->given_kb += did.before_kb > did.after_kb ? did.before_kb - did.after_kb : 0;
	trimming->longest_ns = MAX(trimming->longest_ns, did.pause_ns);
}

static void on_timer(ClientData data)
{
	struct shell *shell = data;

	shell->trimming.timer = NULL;
	if (!has_process(shell)) {
		trimming_end(shell);
		return;
	}
	trim(shell);
	set_timer(shell);
}

struct err *trimming_begin(struct shell *shell, uint64_t every_ns)
{
	if (every_ns < TRIMMING_LEAST_NS)
		return err_create(ERR_USAGE, "the shortest time is 1s");
	if (!has_process(shell))
		return err_create(ERR_STATE, "no process");
	trimming_end(shell);
	shell->trimming.every_ns = every_ns;
	set_timer(shell);
	return NULL;
}

void trimming_end(struct shell *shell)
{
	Tcl_DeleteTimerHandler(shell->trimming.timer);
	shell->trimming = (struct trimming){ .timer = NULL };
}

void trimming_print(const struct shell *shell, struct out *out)
{
	const struct trimming *is = &shell->trimming;
	char every[32], longest[32];

	if (!is->every_ns) {
		out_text(out, "The heaps are trimmed when `malloc trim` is typed\n");
		return;
	}
	number_text_duration(every, sizeof(every), is->every_ns);
	number_text_duration(longest, sizeof(longest), is->longest_ns);
	out_f(out, "The heaps are trimmed every %s: %" PRIu64 " times so far, %" PRIu64
		   " KB given back in all", every, is->times, is->given_kb);
	if (is->times)
		out_f(out, ", the process stood still for %s at most", longest);
	out_text(out, "\n");
	if (is->missed)
		out_f(out, "%" PRIu64 " times it was not possible, last: %s\n", is->missed, is->why);
}
