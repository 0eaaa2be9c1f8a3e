/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Some things are done less well than asked for, and are therefore not in an answer. None of it may
 * be silent, but the user must not be warned of normal things either:
 *
 *				warned of		lacks in answers
 *	not watched		at the attach		yes
 *	by a breakpoint		where a jump was to	no: slow, but all is there
 *				be had
 *	the log samples		at the attach		yes
 *	the log is smaller	at the attach		no: until it is full
 *	the log is full		when it is seen		yes: blocks, or stacks
 *	no room for stacks of	no			yes (log/deferred.h)
 *	new libraries
 *	probes out for a while	by `malloc on` and	yes, until `malloc reset`
 *				others (arm_target.c)
 *	no call is seen		at an answer		yes (blind.h)
 *
 * A function is not watched if its patch could not be put in, or has been written over. Benign, and
 * only in `malloc -v`, are a function whose blocks are recorded elsewhere (probe.elsewhere: a throwing
 * operator new that gets them from malloc), one that the user has deleted, and one whose module has
 * gone. The loader's own malloc and the operators of libstdc++ are no probes at all. A followed child
 * has breakpoints by design, and so has a session with --engine breakpoint.
 */
#pragma once

#include "base/vec.h"

struct probes;
struct session;

struct session_lack {
	char function[96];	/* that is not watched; "": it is about all of them */
	char why[320];
};

struct session_lacks {
	VEC(struct session_lack) vec;
};

/* The session has a log; a core file lacks nothing. Free with vec_free. */
struct err *session_lacks(struct session *session, struct session_lacks *ret) MUST_CHECK;

/* From here on all runs on the tracer thread. */

/* Warn of what was not warned of before: of all functions of probes, which are the session's. */
void lacks_tell_probes(struct session *session, struct probes *probes);
/* Warn of the log: that it samples, and that it is full. Cheap while there is nothing to tell. */
void lacks_tell_log(struct session *session);
/*
 * After probes_arm, whatever it has said: an error, with its reason, if no function at all is
 * watched, or one is not where --engine jump was asked for. ERR_ATTACH, with a hint.
 */
struct err *lacks_refuse(const struct session *session) MUST_CHECK;
