/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a script that failed. */
#pragma once

struct shell;

/*
 * Report the interpreter's result, after a code that is not TCL_OK. origin is the script, or NULL;
 * its line is named if it is known.
 */
void result_report(struct shell *shell, int code, const char *origin);
