/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Hands off between commands.
 *
 * A tracee pays for each of its signals and threads with a stop, and cannot be looked at by strace
 * or gdb. So mdbg is the target's tracer only while it acts, and otherwise only where something
 * needs a tracer:
 *
 *	breakpoint probes	their traps are its business
 *	set follow-fork, -exec	children and programs must be caught before they run
 *	set leaks-at-end	its memory must be looked at before it is gone
 *	mdbg::on thread, signal, fork, exec
 *	a program that mdbg started, up to its end (its status is to be waited for)
 *	interrupt		the target stands still
 *
 * Everything that needs a stop goes through session_hold and session_let_go: the first takes the
 * hands on (target_stop traces all threads anew), the second off again. Meanwhile a tick on the
 * tracer thread looks, ten times a second, for what else would be a stop: the target's end (by
 * pidfd), an exec (the memory that is held is gone), modules that came or went (the loader's list
 * of them, and the patches themselves: probe/lost.h); and it has the log's next pages faulted in.
 *
 * A child that is forked while the hands are off keeps the jumps, and its agent, whose state reads
 * as zeros there, lets everything pass. It is cleaned at the detach (children.h).
 */
#ifndef SESSION_HANDS_H
#define SESSION_HANDS_H

#include "base/err.h"

struct session;

/* --- tracer thread --- */

/*
 * A target is watched from now on; its modules have been read. Its pidfd is taken and the tick
 * starts.
 */
struct err *hands_begin(struct session *session) MUST_CHECK;
void hands_end(struct session *session);
/* The same when there is no tracer thread any more. */
void hands_forget(struct session *session);

/* --- main thread --- */

/*
 * Before an answer that names code: modules that came since the last tick are known after this.
 */
struct err *hands_look(struct session *session) MUST_CHECK;

/* What needs a tracer has changed: events that are wanted, follow-fork, follow-exec. */
struct err *hands_update(struct session *session) MUST_CHECK;

#endif
