/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Keeps the log within what the process has to spare while mdbg is attached (log/budget.h,
 * tracee/room.h). Tracer thread only.
 *
 * Once a second, and at each poll at which the log has taken an eighth of what it could, the limits are
 * read anew (os/memory_limits.h), and the log may take a quarter of what they would leave without it. What
 * the log takes is what its file really has, with the pages that were faulted in ahead. If others
 * take what was left, the log keeps what it has and takes no more: what does not fit is counted, and
 * the user is told why. If there is room again, it goes on.
 *
 * A look takes 0.1 ms for a process four groups deep.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "os/memory_limits.h"

struct session;

struct log_budget {
	struct memory_limits limits;
	bool open;
	uint64_t looked;		/* ns, when */
	uint64_t taken, more;		/* by the log then; what it could take since */
	struct memory_limit limit;	/* that decides; its name is "" if none does */
	bool exhausted;			/* the log may take nothing more */
};

/* A log is about to be made, or was taken over: find the limits of the process. */
void log_budget_open(struct session *session);
/* Close them; also one that was never opened. */
void log_budget_close(struct session *session);
/* Move the budget, if it is time to. */
void log_budget_look(struct session *session);
/* Move it in any case: what is said of it is to be true now. */
void log_budget_look_now(struct session *session);
