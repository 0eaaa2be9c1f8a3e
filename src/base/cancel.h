/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ctrl-C. The signal handler (cmd) sets one flag; loops of the main thread that may take long ask
 * for it. A process-wide flag, since a signal handler has no context to reach it by.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

void cancel_request(void);	/* async-signal-safe */
void cancel_clear(void);	/* before a command starts */
bool cancel_requested(void);
/* NULL, or ERR_CANCELLED. */
struct err *cancel_check(void) MUST_CHECK;
