/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals of mdbg itself. A handler only notes the signal, asks the command at work to end
 * (base/cancel.h) and wakes the event loop by a pipe. The event loop does the rest.
 *
 *	SIGINT			ends the command at work; without a prompt, mdbg (after a detach)
 *	SIGTERM SIGHUP		detach and end with 128 + N; one that comes 5 s later ends mdbg at once
 *	SIGPIPE SIGTSTP		nothing: writes fail with EPIPE, and a stopped mdbg would stop its target
 *	SIGTTIN SIGTTOU		ignored: reading the terminal from the background is an end of input,
 *				not a stop
 */
#pragma once

#include "base/err.h"

/* Call this once, from the main thread. */
struct err *signals_setup(void) MUST_CHECK;
/* The descriptor is readable when a signal has come; signals_drain empties it. */
int signals_fd(void);
void signals_drain(void);
/* The number of the SIGTERM or SIGHUP that has come, else 0. */
int signals_ending(void);
/* Returns how many SIGINTs have come since the last call. */
int signals_take_interrupts(void);

/* "SIGTERM", "TERM", "15" → 15; 0: no such signal. */
int signal_number(const char *text);
/* "SIGTERM"; "signal 42" for one without a name. The text is static. */
const char *signal_name(int number);
