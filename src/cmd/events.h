/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The target's events and mdbg's own signals, in Tcl's event loop. */
#ifndef CMD_EVENTS_H
#define CMD_EVENTS_H

#include "base/err.h"
#include "session/session.h"

struct shell;

struct err *events_init(struct shell *shell) MUST_CHECK;
/* Before the session goes. */
void events_end(struct shell *shell);
/* Show all that wait and run their scripts. */
void events_pump(struct shell *shell);
/* "exit", "exec", ... → kind; false if it is none that a script may be for. */
bool event_kind(const char *name, enum session_event_kind *ret);
const char *event_name(enum session_event_kind kind);
/* Tell the session which kinds scripts are there for. */
void events_want(struct shell *shell);

#endif
