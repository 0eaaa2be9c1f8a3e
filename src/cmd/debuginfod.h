/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * set debuginfod: debug files from a server, for names and lines that this machine has not. Off, no
 * library of it is loaded and nothing is asked, whatever the environment says. On, a file is asked
 * for when a line of its module is to be shown, by the main thread, while the process runs or has
 * ended; while it stands (`interrupt`, --stop) nothing is asked.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct shell;

/* `set debuginfod`; a server that did not answer is asked again. Nothing changes on an error. */
struct err *debuginfod_switch(struct shell *shell, bool on) MUST_CHECK;
/* There are new symbols. */
void debuginfod_attached(struct shell *shell);
/* The process runs again: what was not asked for meanwhile may be. */
void debuginfod_continued(struct shell *shell);
/* At the prompt, once: lines were missing in an answer. */
void debuginfod_hint(struct shell *shell);
