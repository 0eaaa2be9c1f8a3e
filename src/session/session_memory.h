/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `memory`: the memory of the session's process by kind, and which of it grows
 * (growth/memory_use.h, growth/memory_verdict.h). Main thread.
 *
 * Nothing is stopped for it. /proc has the figures; the allocator's heaps and the control blocks of
 * threads are read in the process' memory while it runs on, and say which anonymous mapping is
 * whose. What they say is compared with the mappings: a torn read makes a mapping `anonymous`, and
 * never changes a sum.
 */
#pragma once

#include "growth/memory_verdict.h"

struct session;

/* A mapping as it was when it was last asked for. */
struct memory_seen {
	uint64_t start, end, inode, rsize;
};

/* In struct session: what the last `memory` and `memory maps` have shown, of which process. */
struct memory_last {
	pid_t pid;
	uint64_t start_time;
	bool has_look, has_maps;
	struct memory_look look;
	VEC(struct memory_seen) maps;	/* in order of address */
};

/* From so many resident bytes on, smaps is only read if it is asked for: memory_use.quick. */
#define SESSION_MEMORY_LARGE	(2ull << 30)

/* What to look at beside the mappings. */
enum session_memory_flags {
	SESSION_MEMORY_ALL	= 1 << 0,	/* read smaps however long it takes */
	/* What a verdict needs: objects of shared memory, descriptors, the family. */
	SESSION_MEMORY_JUDGE	= 1 << 1,
};

/* Look at the process' memory now. A core file has only MEMORY_VSIZE. ERR_GONE; ERR_PERM. */
struct err *session_memory_use(struct session *session, unsigned flags,
			       struct memory_use *ret) MUST_CHECK;
/* The look of the last `memory`; NULL: there was none at this process. */
const struct memory_look *session_memory_last(struct session *session);
/* Remember this look as the one that `memory` has shown. */
void session_memory_keep(struct session *session, const struct memory_look *look);
/*
 * Compare a look with an earlier one (NULL: none) or, without that, with the history of the log. If
 * nothing grows, or free memory does, the heaps are asked what is free: now->free.
 */
void session_memory_verdict(struct session *session, const struct memory_look *before,
			    struct memory_look *now, struct memory_verdict *ret);

/* How the resident bytes of mappings have changed since `memory maps` was last asked. */
struct memory_changes {
	bool known;		/* false: it was not asked before */
	VEC(int64_t) vec;	/* as many as there are mappings, in their order */
};

/* Get the changes, and remember these mappings for the next time. */
struct err *session_memory_changes(struct session *session, const struct memory_use *use,
				   struct memory_changes *ret) MUST_CHECK;

/* For the session only. */
void session_memory_forget(struct session *session);
