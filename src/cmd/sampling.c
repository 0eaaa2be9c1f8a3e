/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The timer of samples. It runs in Tcl's event loop, at the prompt, in `wait` and in vwait, so no
 * sample is taken while another command works.
 */

#include "cmd/sampling.h"

#include <limits.h>

#include "cmd/shell/shell.h"
#include "session/history.h"

static void on_timer(ClientData data)
{
	struct shell *shell = data;
	uint64_t ms = session_history_poll(shell->session) / 1000000 + 1;

	shell->sampling = Tcl_CreateTimerHandler((int)MIN(ms, (uint64_t)INT_MAX), on_timer, shell);
}

void sampling_begin(struct shell *shell)
{
	on_timer(shell);
}

void sampling_end(struct shell *shell)
{
	Tcl_DeleteTimerHandler(shell->sampling);
	shell->sampling = NULL;
}

void sampling_attached(struct shell *shell)
{
	sampling_end(shell);
	sampling_begin(shell);
}
