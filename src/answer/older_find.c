/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the process holds of blocks from before the attach (older_find.h). */

#include "answer/older_find.h"

#include <stdio.h>

#include "session/heap.h"
#include "session/session.h"

static struct err *walk_now(struct session *session, struct older_look *ret)
{
	struct session_config *config = session_config(session);
	uint64_t most = config->max_pause_ns;
	struct heaps heap = HEAPS_INIT;
	struct err *err;

	config->max_pause_ns = most ? MIN(most, OLDER_PAUSE_NS) : OLDER_PAUSE_NS;
	err = session_heap(session, SESSION_HEAP_WALK, NULL, &heap);
	config->max_pause_ns = most;
	if (err && err->code == ERR_STATE) {
		snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
		return NULL;
	}
	if (err)
		return err;
	ret->pause_ns = heap.pause_ns;
	snprintf(ret->why, sizeof(ret->why), "%s", heap.why);
	heaps_free(&heap);
	return NULL;
}

struct err *older_find(struct session *session, struct older_look *ret)
{
	struct err *err;

	*ret = (struct older_look){ .why = "" };
	ret->known = session_older_held(session, &ret->held);
	if (ret->known || !session_older_knowable(session))
		return NULL;
	err = walk_now(session, ret);
	ret->known = !err && session_older_held(session, &ret->held);
	return err;
}
