/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The history of the prompt's lines, kept from one run to the next in
 * $XDG_STATE_HOME/mdbg/history (~/.local/state). It is read and written only where nobody but root
 * and mdbg's own user has a say in what that path leads to, and never through a symbolic link: mdbg
 * often runs as root in somebody else's environment. Lines are written to a file beside it, mode
 * 0600, that then takes its place.
 */
#ifndef CMD_HISTORY_H
#define CMD_HISTORY_H

#include "base/err.h"

/*
 * Read what is there into readline's list. *file_ret: where history_save is to write, malloc'ed;
 * NULL, also with an error: nowhere. An error says why, and is no failure.
 */
struct err *history_load(char **file_ret) MUST_CHECK;
struct err *history_save(const char *file) MUST_CHECK;

#endif
