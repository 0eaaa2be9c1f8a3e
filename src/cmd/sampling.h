/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A timer of Tcl's event loop that takes the samples of the history (session/history.h). */
#pragma once

struct shell;

/* Start the timer. */
void sampling_begin(struct shell *shell);
/* There is a new target: begin its history at once. */
void sampling_attached(struct shell *shell);
/* Stop the timer. Must be called before the session is destroyed. */
void sampling_end(struct shell *shell);
