/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forked children: cleaned and let go, or followed (theory in process.h). Tracer thread. */
#ifndef SESSION_FOLLOW_H
#define SESSION_FOLLOW_H

#include <sys/types.h>

struct process;

/* A child that parent has forked, stopped: clean it and let it go, or follow it, as configured. */
void follow_fork_child(struct process *parent, pid_t pid);

#endif
