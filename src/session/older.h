/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the process holds of blocks from before the attach, without a walk of its own: the last walk
 * has found them all, and what was freed of them since is counted (struct log_older). Main thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "log/log.h"

struct heaps;
struct session;

/* In struct session: what the last whole walk has found. */
struct older_found {
	uint64_t bytes, blocks;
	struct log_older freed;		/* up to then */
	uint64_t log_start;		/* identifies the log; 0: there was no walk */
	pid_t pid;
};

struct older_held {
	uint64_t bytes, blocks;
	bool at_most;			/* blocks of unknown size were freed since */
};

/* False: no walk has been made that tells it. */
bool session_older_held(const struct session *session, struct older_held *ret);

/* False: no walk can tell it: the log samples, or there are several processes. */
bool session_older_knowable(const struct session *session);

/* For the session only: a walk was made; freed is what the log had at its moment. */
void older_note(struct session *session, const struct heaps *heap, const struct log_older *freed);
