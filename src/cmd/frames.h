/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads and frames, for `where`, `registers` and their Tcl forms. */
#ifndef CMD_FRAMES_H
#define CMD_FRAMES_H

#include <sys/types.h>

#define FRAMES_MAX	4096	/* of one stack, unless less is asked for */

struct shell;

/* The thread that was chosen by `thread`, else the main one. */
pid_t frames_current_thread(const struct shell *shell);

#endif
