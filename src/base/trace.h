/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mdbg's own log file, for those who look for a fault in mdbg. It is written only if the
 * environment variable MDBG_TRACE names a file. Any thread may write; a line is written whole.
 */
#pragma once

#include "base/compiler.h"

/* From now on lines are written to fd. main calls this once, before it starts threads. */
void trace_to(int fd);
/* Write one line: time, thread and the text. It costs one load while no file is open. */
void trace_line(const char *fmt, ...) PRINTF(1, 2);
