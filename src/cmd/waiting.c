/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Waiting while events are served. */

#include "cmd/waiting.h"

#include <tcl.h>
#include <time.h>

#include "base/cancel.h"
#include "cmd/shell.h"

#define TICK_MS	50

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Only there to end Tcl_DoOneEvent. */
static void on_tick(ClientData data)
{
	(void)data;
}

static void serve(uint64_t left_ns)
{
	uint64_t ms = left_ns / 1000000 + 1;
	Tcl_TimerToken timer =
		Tcl_CreateTimerHandler((int)MIN(ms, (uint64_t)TICK_MS), on_tick, NULL);

	Tcl_DoOneEvent(TCL_ALL_EVENTS);
	Tcl_DeleteTimerHandler(timer);
}

struct err *waiting(struct shell *shell, uint64_t ns, bool (*done)(void *ctx, struct err **err_ret),
		    void *ctx)
{
	uint64_t start = now_ns(), spent;
	struct err *err = NULL;

	for (;;) {
		if (done(ctx, &err) || err)
			return err;
		err = cancel_check();
		if (err)
			return err;
		if (!shell->depth)
			shell_check_ending(shell);
		spent = now_ns() - start;
		if (spent >= ns)
			return err_create(ERR_TIMEOUT, "time is over");
		serve(ns - spent);
	}
}
