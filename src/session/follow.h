/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forked children: cleaned and let go, or followed (theory in process.h). Tracer thread. */
#ifndef SESSION_FOLLOW_H
#define SESSION_FOLLOW_H

#include <sys/types.h>

struct probes;
struct session;
struct target;

/*
 * A fork child of a target, stopped: clean it and let it go, or follow it, as configured. parent is
 * the target's probes (may be NULL).
 */
void follow_fork_child(struct session *session, struct target *target, struct probes *parent,
		       pid_t pid);

#endif
