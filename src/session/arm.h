/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Building and undoing, side by side: the steps of attach and detach, `malloc on` and `malloc off`.
 *
 *	build						undo
 *	target, its modules, its rows; the plan		(nothing in the target yet)
 *	  what an earlier mdbg left is taken out
 *	all threads seized				released
 *	region (journal, log)		(a short stop)	unmapped last
 *	areas, the agent's state	(a short stop)	after all threads have left them
 *	SIGTRAP handler, text		(a short stop)	text first
 *							before it: forked children (children.h)
 */
#ifndef SESSION_ARM_H
#define SESSION_ARM_H

#include <stdbool.h>

#include "base/err.h"

struct session;

/* --- tracer thread --- */

/* Which functions, and how. Nothing of it is in the target yet. */
struct err *arm_plan(struct session *session) MUST_CHECK;
/*
 * All that can be done before the stop in which the text is changed. What takes remote calls comes
 * in short stops of its own; what is mdbg's own work, and what is large, is done while the target
 * runs on. New modules are looked for last: what they still do until that stop, the tick sees.
 */
struct err *arm_prepare(struct session *session) MUST_CHECK;
/* All threads are stopped. */
struct err *arm_put_in(struct session *session) MUST_CHECK;
/*
 * Take out what is in, as far as it is; stopped before and after. The first error is returned, the
 * rest is done all the same. *left_ret: a thread stays inside.
 */
struct err *arm_undo(struct session *session, bool *left_ret) MUST_CHECK;

#endif
