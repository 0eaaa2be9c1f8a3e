/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errors and notes on standard error: "mdbg: WHAT: WHY", and a hint where there is a way out. */
#ifndef CMD_REPORT_H
#define CMD_REPORT_H

#include "base/err.h"

struct shell;

/* shell may be NULL: there is none yet. */
void report_err(struct shell *shell, const struct err *err);
/* hint: "" if there is none. */
void report_warning(struct shell *shell, const char *text, const char *hint);
/*
 * The interpreter's result, after code (no TCL_OK). origin: the script, or NULL; a line in it is
 * named if it is known.
 */
void report_result(struct shell *shell, int code, const char *origin);

#endif
