/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Programs that the user asked for: shell commands, the pager. They get default signals and none of
 * mdbg's descriptors.
 */
#pragma once

#include <sys/types.h>

#include "base/err.h"

/* `sh -c command` with stdin_fd (-1: mdbg's) as its standard input. */
struct err *spawn_shell(const char *command, int stdin_fd, pid_t *ret) MUST_CHECK;
/*
 * Wait for its end, however long it takes (Ctrl-C reaches it from the terminal); status as of
 * wait(2).
 */
int spawn_wait(pid_t pid);
