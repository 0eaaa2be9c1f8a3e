/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where in the target's memory some bytes are. Only what is there is read: no page is made, and
 * nothing is read from a file. What mdbg has mapped in the process is left out.
 *
 * A process that runs goes on meanwhile, so what it moves may be found twice, or not at all; a
 * snapshot is of one moment (session/look.h). The snapshot has the memory that belongs to the
 * process alone; files that it does not write, and memory that it shares, are read as they are.
 */
#pragma once

#include "base/memory_search.h"

struct session;

struct session_search {
	struct memory_search of;
	uint64_t start, end;		/* where: what is mapped there */
	bool snapshot;			/* of a process that runs: as it is at one moment */
	/* Results: */
	uint64_t mapped;		/* bytes in all; of.searched were there to be read */
	uint64_t pause_ns;
	char no_snapshot[256];		/* as in struct look */
};

/* Main thread. ERR_STATE, ERR_GONE, ERR_CANCELLED. The caller frees of.places, also after an error. */
struct err *session_search(struct session *session, struct session_search *search) MUST_CHECK;
