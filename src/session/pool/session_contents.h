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

struct memory_view;
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

/*
 * What the blocks are of a view that another look has taken, so that both are of one moment:
 * session_contents_begin before it; session_contents_find in it, on any thread, once for each time
 * that it looks, with the blocks and their walk, which stay the caller's; session_contents_end.
 * After all of it, or an error, session_contents_rest, and the caller frees *ret.
 */
struct session_contents_look {
	struct session *session;
	const struct session_contents_ask *ask;
	struct block_types_source source;
	struct session_contents *ret;
};

struct err *session_contents_begin(struct session *session, const struct session_contents_ask *ask,
				   struct session_contents_look *look,
				   struct session_contents *ret) MUST_CHECK;
struct err *session_contents_find(struct session_contents_look *look, const struct memory_view *view,
				  const struct leak_marks *blocks,
				  const struct heaps *heap) MUST_CHECK;
struct err *session_contents_end(struct session_contents_look *look) MUST_CHECK;
/* It may be called on zeros. */
void session_contents_rest(struct session_contents_look *look);
/*
 * All of that, with a look of its own. The caller frees *ret, also after an error. ERR_STATE,
 * ERR_CANCELLED, ERR_GONE.
 */
struct err *session_contents(struct session *session, const struct session_contents_ask *ask,
			     struct session_contents *ret) MUST_CHECK;
void session_contents_free(struct session_contents *types);
