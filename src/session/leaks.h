/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The leak search (inspect/leak_search.h) in a session's target. */
#pragma once

#include "inspect/find_address.h"
#include "inspect/leak_marks.h"
#include "inspect/owner_graph.h"
#include "session/look.h"

struct session;
struct session_contents_look;

/*
 * Looks at the target in a stop or in a snapshot (look.h). If the target has ended, the result is
 * that of the search at its end, if there was one (leaks_at_end of the configuration; there is none
 * if it was killed by SIGKILL or executed another program). ERR_STATE: neither a target nor such a
 * result, or no log. ERR_CANCELLED. timed: the blocks have times and threads, which take half as
 * much memory again.
 */
struct err *session_leaks(struct session *session, enum look_how how, bool timed,
			  struct leak_marks *ret) MUST_CHECK;

struct find_ask {
	uint64_t address;
	size_t limit;
	/*
	 * Begun: what the blocks are is found in the same look, if a block is at the address, and
	 * there are at most `most` of them. *found_ret says so. NULL: it is not asked.
	 */
	struct session_contents_look *contents;
	size_t most;
	bool *found_ret;
};

/*
 * What points to the block at an address (inspect/find_address.h). Looks at the target as
 * session_leaks does. At most `limit` firm places are listed, and as many others. ERR_STATE: there
 * is no memory to look at (call session_heap: the log still has the block). ERR_CANCELLED.
 */
struct err *session_leaks_find(struct session *session, const struct find_ask *ask,
			       struct find_address *ret) MUST_CHECK;

/*
 * All pointers of the target, and the ways to a block if they are asked for
 * (inspect/owner_graph.h). Looks at the target as session_leaks does. ERR_STATE: there is no memory
 * to look at. ERR_NOTFOUND: no block is at ask->address. ERR_CANCELLED.
 */
struct err *session_leaks_graph(struct session *session, const struct owner_ask *ask,
				struct owner_graph *ret) MUST_CHECK;
