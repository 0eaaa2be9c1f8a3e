/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Events (the target's, and mdbg's own signals), in Tcl's event loop. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "session/session.h"

struct shell;

struct err *events_init(struct shell *shell) MUST_CHECK;
/* Call this before the session is destroyed. */
void events_end(struct shell *shell);
/* Show all events that wait, and run their scripts. */
void events_pump(struct shell *shell);
/* The kind of "exit", "exec", ...; false if no script may be set for it. */
bool event_kind(const char *name, enum session_event_kind *ret);
const char *event_name(enum session_event_kind kind);
/* Tell the session for which kinds there are scripts. */
void events_want(struct shell *shell);
/*
 * Call this when a line or a script has ended. What the answers of the outermost one lacked is
 * reported.
 */
void events_script_ended(struct shell *shell);
/* Serve events (timers, the target's, signals) once; it waits for at least one. */
void events_wait(struct shell *shell);
/* Leave if SIGTERM or SIGHUP (or, without a prompt, SIGINT) has come. */
void events_check_ending(struct shell *shell);
/* Leave with the exit status that says whether a command or script has failed. */
void events_quit(struct shell *shell) NORETURN;
