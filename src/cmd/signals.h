/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Signals of mdbg itself. A handler only notes the signal, asks the command at work to end
 * (base/cancel.h) and wakes the event loop by a pipe; what is to be done is done there.
 *
 *	SIGINT			ends the command at work; without a prompt, mdbg (after a detach)
 *	SIGTERM SIGHUP		detach and end with 128 + N; one that comes 5 s later ends mdbg at once
 *	SIGPIPE SIGTSTP		nothing: writes fail with EPIPE, and a stopped mdbg would stop its target
 *	SIGTTIN SIGTTOU		ignored: reading the terminal from the background is an end of input,
 *				not a stop
 */
#pragma once

#include "base/err.h"

/* Once, from the main thread. */
struct err *signals_setup(void) MUST_CHECK;
/* Readable when a signal has come; signals_drain empties it. */
int signals_fd(void);
void signals_drain(void);
/* SIGTERM or SIGHUP has come: its number, else 0. */
int signals_ending(void);
/* How many SIGINTs have come since this was last asked. */
int signals_take_interrupts(void);

/* "SIGTERM", "TERM", "15" → 15; 0: no such signal. */
int signal_number(const char *text);
/* "SIGTERM"; "signal 42" for one without a name. Static. */
const char *signal_name(int number);
