/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Letting a target go (order of undoing in arm.h). Tracer thread. */
#ifndef SESSION_LEAVE_H
#define SESSION_LEAVE_H

#include "base/err.h"

struct session;
struct target;

/*
 * A thread that is about to execute another program (ERR_BUSY) soon does, or fails to: the target runs
 * meanwhile. Where nothing of ours is in it yet it need not be waited for: who is traced still is let go with
 * mdbg's end, or at his next stop.
 */
struct err *leave_stop(struct target *target) MUST_CHECK;
/* All threads go on; nothing is to be taken out any more. */
void leave_target(struct session *session);
/* One that is held for follow-exec is not followed: it goes on. */
void leave_held(struct session *session);
/* Take everything out of the target, whose child takes its place. It may be gone already. */
struct err *leave_parent(struct session *session) MUST_CHECK;

#endif
