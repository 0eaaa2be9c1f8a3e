/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The prompt: it runs readline's callback interface inside of Tcl's event loop, so that the
 * target's events are shown and scripts run while it waits.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct shell;

/* Read lines and run them until the end of input (Ctrl-D, or Ctrl-C twice). */
struct err *prompt_run(struct shell *shell) MUST_CHECK;
/* Put the terminal back and write the history. This may be called if there was no prompt. */
void prompt_end(struct shell *shell);
