/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ctrl-C. The signal handler (cmd) sets one flag, and loops of the main thread that may take long
 * check it. The flag is process-wide, since a signal handler has no context through which it could
 * reach it.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

void cancel_request(void);	/* async-signal-safe */
void cancel_clear(void);	/* before a command starts */
bool cancel_requested(void);
/* Returns NULL, or ERR_CANCELLED. */
struct err *cancel_check(void) MUST_CHECK;
