/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A command that prints a reading at once, and then every SECONDS (`malloc watch`, `memory watch`):
 * COUNT times in all, or until q, Ctrl-C (which is no error), or the end of the process.
 *
 * On a terminal readings are drawn in place (report/screen.h). At the end the text of before comes
 * back, and the last reading is printed below it. Elsewhere, and on a dumb terminal, each reading
 * is printed below the one before, and there are no escapes.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cmd/terminal/keys.h"
#include "report/screen.h"

struct call;
struct out;

struct watch_kind {
	/*
	 * Take a reading. It sets loop.ended, and nothing is printed, if the process has ended; and
	 * loop.waits, if there is none yet, and the last one stays.
	 */
	struct err *(*read)(void *ctx);
	/* Print the last reading: for the screen if loop.in_place, else as lines. */
	struct err *(*print)(void *ctx, struct out *out);
	/* A key was pressed, q and Ctrl-D among them; the reading is printed again. NULL: none. */
	void (*key)(void *ctx, int key);
};

struct watch_loop {
	struct call *call;
	const struct watch_kind *kind;
	void *ctx;
	uint64_t every_ns, count, readings;
	bool over;
	bool waits;
	bool ended;			/* a reading has found so; the session may not know it yet */
	bool in_place;
	bool was_in_place;		/* what is printed last stands below the text of before */
	struct screen screen;
	struct keys keys;
};

/* The words of the call are SECONDS and perhaps COUNT. ERR_USAGE. */
struct err *watch_loop_parse(struct call *call, struct watch_loop *loop) MUST_CHECK;
/*
 * Run the loop. There is no progress to be shown for it, and no pager: it takes as long as the user
 * wants.
 */
struct err *watch_loop_run(struct watch_loop *loop) MUST_CHECK;
/* Has the process of the call's session ended? */
bool watch_loop_is_gone(const struct watch_loop *loop);
