/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that the user asked for: shell commands and the pager. They start with default signals
 * and get none of mdbg's descriptors.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* Start `sh -c command` with stdin_fd as its standard input; -1: mdbg's. */
struct err *spawn_shell(const char *command, int stdin_fd, pid_t *ret) MUST_CHECK;
/*
 * Wait until it ends, however long it takes (the terminal sends Ctrl-C to it, too). Returns a
 * status as of wait(2).
 */
int spawn_wait(pid_t pid);
