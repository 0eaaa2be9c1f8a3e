/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A visit: a process that is no target of the session is stopped for a moment, as a target that lives no
 * longer than that (a forked child that is cleaned; the program that the target has executed).
 */
#ifndef SESSION_VISIT_H
#define SESSION_VISIT_H

#include <sys/types.h>

#include "base/err.h"

struct session;
struct target;

/*
 * Tracer thread. Stop all threads of pid, which nobody traces, call fn, and let them go, whatever it
 * returns. ERR_GONE: it has ended, or executed another program meanwhile.
 */
struct err *visit_process(struct session *session, pid_t pid,
			  struct err *(*fn)(struct target *target, void *ctx),
			  void *ctx) MUST_CHECK;

#endif
