/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A look at the target as it is at one moment, by what takes longer than a process should stand
 * still: a walk of its heaps, a search for leaks, for pointers, for damage.
 *
 * Theory of operation
 *
 * A small process stands for all of it. A larger one stands for the fork of a snapshot
 * (tracee/snapshot.h), and is looked at while it runs on: in the child, with what had to be read in
 * the stop (struct memory_view), and in the log, which goes on and is asked what it had then.
 *
 *	look_run
 *	   |
 *	   +-- it stands anyhow, a stop was asked for, or lasts no longer than a fork -----+
 *	   |                                                                               |
 *	   +-- it may not be forked (tracee/forkable.h): no_snapshot says why ---------+   |
 *	   |                                                                           |   |
 *	   +-- the fork takes longer than max-pause: refused                           |   |
 *	   |                                                                           |   |
 *	   |   +------------------------------------------------------------------+    |   |
 *	   v   v                                                                  |    |   |
 *	 stop: those inside the allocator come out; view; copies of what a        |    |   |
 *	 fork leaves out; fork; go on                                             |    |   |
 *	   |                                                                      |    |   |
 *	 walked(): the heaps of the snapshot; the target runs                     |    |   |
 *	   |                                                                      |    |   |
 *	   +-- not sure: threads were inside the allocator, and it can move ------+    |   |
 *	   |   (a few times)                                                           |   |
 *	   +-- torn, each time ---------------------------------------------------+    |   |
 *	   v                                                                      |    |   |
 *	 found(): all that is left to be done with the snapshot                   v    v   |
 *	   |                                           longer than max-pause: refused  |   |
 *	 the snapshot is ended                                                         v   v
 *	                                                                  stop: stopped(); go on
 *
 * How long a stop would be is estimated before (session/stop_estimate.h). What the user asks for
 * expressly (`malloc leaks -stop`), and what stands anyhow, has no limit.
 *
 * What a fork does not copy is read in the stop. A walk of the heaps needs only their memory for
 * it; a search for pointers all that is a root. If it is too much for a stop there is no snapshot.
 */
#pragma once

#include "inspect/memory_view.h"
#include "os/smaps.h"
#include "session/stop_estimate.h"
#include "tracee/snapshot.h"

enum look_how { LOOK_AUTO, LOOK_STOP, LOOK_SNAPSHOT };

enum look_sure {
	LOOK_SURE,
	LOOK_UNSURE,	/* the next snapshot may be better; the last one is good enough */
	LOOK_TORN,	/* of no use */
};

struct look {
	struct session *session;
	enum look_how how;
	bool deep;	/* view_take; and the estimate is that of a search */
	bool bytes;	/* no heap is walked: the estimate is that of reading */
	/* Added to the estimate: what else is done with each page of the process's own. */
	unsigned page_ns;
	/*
	 * Is the memory of this mapping needed? Asked about those that a fork does not copy, and, for
	 * the estimate of a search, about those that are not the process's own.
	 */
	bool (*wants)(const struct session *session, const struct proc_map *map);
	/* Tracer thread, stopped: may the snapshot be made now? NULL: at any time. */
	struct err *(*settled)(void *ctx, bool *done_ret);
	/* Tracer thread: all of it, in a stop. stood: the target was stopped before. */
	struct err *(*stopped)(struct session *session, bool stood, void *ctx);
	/*
	 * Main thread, while the target runs: `view` is of the snapshot. walked may be called again,
	 * with another one; what it had made before is of no use then.
	 */
	struct err *(*walked)(void *ctx, enum look_sure *sure_ret);
	struct err *(*found)(void *ctx);	/* NULL: nothing is left to be done */
	void *ctx;

	/* Results */
	uint64_t pause_ns;	/* the longest for which the target stood still; 0: it stood anyhow */
	bool snapshot;
	char no_snapshot[256];	/* why there was none, though a stop takes longer; or "" */
	bool refused;		/* the error is that of max-pause */

	/* These are of a snapshot, and valid as long as it is. */
	struct memory_view view;
	struct smaps smaps;
	struct snapshot child;
	bool has_child;
	bool stale;		/* there were other mappings in the stop than smaps has */
	/* every thread is in a group stop: another look would find the same */
	bool cannot_move;
	uint64_t drain;		/* how long others may still wait for those inside the allocator */
	uint64_t deadline;	/* of waiting until it has settled */
};

#define LOOK_INIT	.view = MEMORY_VIEW_INIT, .smaps = SMAPS_INIT

/*
 * Main thread; there is a target, or a core file. ERR_STATE: it would stand still for longer than
 * max-pause. ERR_CANCELLED, ERR_GONE, and those of the functions above.
 */
struct err *look_run(struct look *look) MUST_CHECK;
void look_free(struct look *look);
/* May the target, which is to be stopped for a walk of its heaps, stand still for so long? */
struct err *look_check_walk(struct session *session) MUST_CHECK;
