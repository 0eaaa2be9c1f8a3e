/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What mdbg does not watch or record is missing in answers. The user must always be told, but must
 * not be warned of normal things:
 *
 *				warned of		lacks in answers
 *	not watched		at the attach		yes
 *	by a breakpoint		where a jump was to	no: slow, but all is there
 *				be had
 *	the log samples		at the attach		yes
 *	the log is smaller	at the attach		no: until it is full
 *	the log is full		when it is seen		yes: blocks, or stacks
 *	no room for stacks of	no			yes (log/log_deferred.h)
 *	new libraries
 *	probes out for a while	by `malloc on` and	yes, until `malloc reset`
 *				others (arm_target.c)
 *	sizes that cannot be	no			yes (user_sizes.h)
 *	no call is seen		at an answer		yes (blind.h)
 *
 * A function is not watched if its patch could not be put in, or was overwritten. Three cases are
 * harmless and shown only by `malloc -v`: a function whose blocks are recorded elsewhere
 * (probe.elsewhere: a throwing operator new that gets them from malloc), one that the user has
 * deleted, and one whose module has gone. The loader's own malloc and the operators of libstdc++
 * never get probes. A followed child has breakpoints by design, and so has a session with --engine
 * breakpoint.
 */
#pragma once

#include "base/vec.h"

struct probes;
struct session;

struct session_lack {
	char function[96];	/* that is not watched; "": all functions */
	char why[320];
};

struct session_lacks {
	VEC(struct session_lack) vec;
};

/* The session must have a log; for a core file the list is empty. Free it with vec_free. */
struct err *session_lacks(struct session *session, struct session_lacks *ret) MUST_CHECK;

/* The functions below run on the tracer thread. */

/* Warn of functions that were not warned of before; probes are the session's. */
void lacks_tell_probes(struct session *session, struct probes *probes);
/* Warn if the log samples, or is full. This is cheap while there is nothing to warn of. */
void lacks_tell_log(struct session *session);
/*
 * To be called after probes_arm, whatever that has returned. ERR_ATTACH, with the reason and a
 * hint, if no function at all is watched, or if one is not watched under --engine jump.
 */
struct err *lacks_refuse(const struct session *session) MUST_CHECK;
