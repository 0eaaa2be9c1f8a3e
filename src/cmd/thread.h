/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The thread that commands are about. */
#pragma once

#include <sys/types.h>

struct shell;

/* The thread that the user has chosen by `thread`, else the main one. */
pid_t thread_current(const struct shell *shell);
