/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Taking a target on (order of building in arm.h). Tracer thread. */
#ifndef SESSION_ATTACH_H
#define SESSION_ATTACH_H

#include <sys/types.h>

#include "base/err.h"

struct session;

/*
 * A program at its PTRACE_EVENT_EXEC: it runs to where its libraries are mapped, and is armed there.
 * On failure it is let go.
 */
struct err *attach_from_exec(struct session *session, pid_t pid) MUST_CHECK;

#endif
