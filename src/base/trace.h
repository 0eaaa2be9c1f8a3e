/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mdbg's own log file, for those who look for a fault in mdbg: nothing unless the environment names
 * a file in MDBG_TRACE. Any thread may write; a line is written whole.
 */
#pragma once

#include "base/compiler.h"

/* Open the file that MDBG_TRACE names, if any. Once, from main, before threads. */
void trace_open(void);
/* One line: time, thread and the text. Costs one load while no file is open. */
void trace_line(const char *fmt, ...) PRINTF(1, 2);
