/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Files that the user names and that are read whole: suppressions, scripts. They may be FIFOs and
 * pipes, as a shell's <(COMMAND) is; none is waited for without limit, and Ctrl-C ends each wait.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

#define INPUT_SILENCE_S	10	/* so long a pipe may be silent */

/*
 * Append the file's text to *ret, at most so many bytes (ERR_RANGE). ERR_USAGE: it is no file,
 * pipe or character device, or a FIFO that nobody writes to; ERR_TIMEOUT; ERR_CANCELLED. The
 * messages do not name the path.
 */
struct err *input_read(const char *path, uint64_t most, struct str *ret) MUST_CHECK;
/* Is it something that may be waited for when it is opened or read? */
bool input_may_wait(const char *path);
