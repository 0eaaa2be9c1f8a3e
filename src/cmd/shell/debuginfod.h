/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * set debuginfod: get debug files from a server, for names and lines that this machine does not
 * have.
 *
 * While it is off, its library is not loaded and no server is asked, whatever the environment says.
 * While it is on, the main thread asks for a file when a line of its module is to be shown, while
 * the process runs or after it has ended. While the process is stopped (`interrupt`, --stop) no
 * server is asked.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct shell;

/*
 * Turn it on or off. A server that did not answer before is asked again. After an error nothing has
 * changed.
 */
struct err *debuginfod_switch(struct shell *shell, bool on) MUST_CHECK;
/* Call this when there are new symbols: they look for debug files where the settings say. */
struct err *debuginfod_new_symbols(struct shell *shell) MUST_CHECK;
/*
 * Call this before a command: if the process is not stopped any more, files that were not asked for
 * while it was may be asked for now.
 */
void debuginfod_look_again(struct shell *shell);
/* At the prompt, say once that an answer lacked lines. */
void debuginfod_hint(struct shell *shell);
