/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The commands as Tcl's. */
#pragma once

#include "base/err.h"

struct cmd;
struct shell;

/* Make these the commands that there are (cmd_table), each one of the shell's interpreter. */
struct err *cmd_register(struct shell *shell, const struct cmd *const *commands) MUST_CHECK;
