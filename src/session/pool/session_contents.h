/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What the blocks of the target are (heap/block_types.h), in a stop or in a snapshot
 * (session/look.h). Nothing of the target's code runs for it. Main thread.
 */
#pragma once

#include "heap/block_like.h"
#include "heap/block_types.h"
#include "heap/type_spread.h"
#include "inspect/leak_marks.h"

struct session;

struct session_contents_ask {
	bool timed;		/* blocks have times and threads */
	const struct type_layouts *layouts;	/* to be followed; NULL: none are */
	/* As in struct block_like_source; nr_stacks 0: what blocks are like is not looked for. */
	const uint32_t *site_of_stack;
	size_t nr_stacks;
};

struct session_contents {
	struct block_types types;	/* names that only files have are there, too */
	struct type_spread spread;	/* empty without layouts */
	struct block_like like;
	struct leak_marks blocks;	/* where the blocks are from; pause_ns, no_snapshot */
	uint32_t generation;		/* of the module map */
};

/* The caller frees *ret, also after an error. ERR_STATE, ERR_CANCELLED, ERR_GONE. */
struct err *session_contents(struct session *session, const struct session_contents_ask *ask,
			     struct session_contents *ret) MUST_CHECK;
void session_contents_free(struct session_contents *types);
