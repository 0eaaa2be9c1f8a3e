/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finishes the stacks that the agent has deferred (log/log_deferred.h): those that reached a
 * library before the agent's module map had it.
 *
 *	look	which copies are ready, and is there one whose code is in no module that is known?
 *		Then the modules are read once more, whatever the loader's list says
 *	finish	those that were ready before that: the module is known now, and the walk goes on
 *		over the copy, by the map of now; the whole stack is of this generation. Or there is
 *		none: the code is a JIT's, and what the agent has found by frame pointers is the
 *		stack. Its mapping is marked, so that it is not deferred again. Or nothing is mapped
 *		there any more: the library has gone, and the stack ends where the agent's walk did
 *
 * mdbg does this with each poll, before each answer (untraced.c), before the probes are taken out
 * or left, and when the process has ended (with the modules that were known then). Stacks that are
 * not finished at `detach -keep` wait for the next mdbg. While an answer adds up by stacks it is
 * not done (session_deferred_fix), since one stack would appear as two. Another library may be in
 * that place by then, so the return address is believed only if a call instruction ends there.
 */
#pragma once

#include <stdbool.h>

#include "log/log_deferred.h"

struct session;

/* --- tracer thread --- */

/* True: some of them are of code in no known module. Without a log there are none. */
bool deferred_look(const struct session *session, struct deferred_seen *ret);
void deferred_finish(struct session *session, const struct deferred_seen *seen);
/*
 * Look and finish; the modules are read in between if necessary. The agent does not get the new
 * module map.
 */
void deferred_settle(struct session *session);
/* The process has no memory any more: finish the stacks whose module is known. */
void deferred_end(struct session *session);
