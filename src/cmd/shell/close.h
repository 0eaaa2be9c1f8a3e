/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of the session. */
#pragma once

struct shell;

/*
 * Detach if there is a target, and report what could not be undone. This is done once; after it
 * there is no session.
 */
void shell_close(struct shell *shell);
