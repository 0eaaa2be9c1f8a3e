/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --fail-on-leak: are blocks definitely lost at the end?
 *
 * The end is whatever comes first of a target's own end (its memory is looked at before it is gone:
 * `set leaks-at-end`), and mdbg's letting go of it: detach, kill, the end of mdbg. What was lost is
 * reported on standard error then. Of several targets each counts. One that could not be looked at
 * is a failure, too: nobody knows.
 */
#ifndef CMD_GATE_H
#define CMD_GATE_H

#include <stdbool.h>

#include "base/err.h"

struct shell;

struct gate {
	bool on;
	bool looked;		/* at the target that there is */
	bool leaked, unknown;	/* some target */
};

/* From now on. */
struct err *gate_close(struct shell *shell) MUST_CHECK;
/* There is a new target. */
void gate_begin(struct shell *shell);
/* Its end has come: look, once. */
void gate_look(struct shell *shell);
/* What mdbg's exit status becomes. */
int gate_status(const struct shell *shell, int status);

#endif
