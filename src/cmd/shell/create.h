/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Making the shell. */
#pragma once

#include "base/err.h"

struct cmd;
struct shell;

/*
 * commands are all that there are, and NULL (cmd/commands.h). leave detaches and ends the process;
 * it does not return.
 */
struct err *shell_create(const char *program, const struct cmd *const *commands,
			 void (*leave)(struct shell *shell, int status),
			 struct shell **ret) MUST_CHECK;
