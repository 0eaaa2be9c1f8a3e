/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finishing what the agent has deferred (log/deferred.h): the stacks that came to a library before
 * its module map had it.
 *
 *	look	which copies are ready, and is there one whose code is in no module that is known?
 *		Then the modules are read once more, whatever the loader's list says
 *	finish	those that were ready before that: the module is known now, and the walk goes on
 *		over the copy, by the map of now; the whole stack is of this generation. Or there is
 *		none: the code is a JIT's, and what the agent has found by frame pointers is the
 *		stack. Its mapping is marked, so that it is not deferred again. Or nothing is mapped
 *		there any more: the library has gone, and the stack ends where the agent's walk did
 *
 * Done with each poll and before each answer (untraced.c), before the probes are taken out or left,
 * and when the process has ended, with the modules that were known then. What is not finished at
 * `detach -keep` waits for the next mdbg. Not while an answer adds up by stacks
 * (session_fix_stacks): one stack would be two in it. Another library may be in that place by then;
 * so the return address is believed only where a call instruction ends there.
 */
#pragma once

#include <stdbool.h>

#include "log/deferred.h"

struct process;
struct session;

/* --- tracer thread --- */

/* True: some are of code that is in no module known. No log: none. */
bool deferred_look(const struct session *session, struct deferred_seen *ret);
void deferred_finish(struct session *session, const struct deferred_seen *seen);
/* Both, and the modules are read in between if need be. The agent is not told of them. */
void deferred_settle(struct session *session);
/* The process has no memory any more: those whose module is known. */
void deferred_end(struct session *session);
