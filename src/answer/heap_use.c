/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Takes the heaps of a process with their pages and blocks (heap_use.h). */

#include "answer/heap_use.h"

#include "inspect/heap_pages.h"
#include "session/heap.h"

struct taking {
	struct heap_use *use;
	bool timed;
};

static struct err *take(void *ctx, const struct heaps *heap,
			const struct session_heap_moment *moment)
{
	const struct taking *taking = ctx;
	struct heap_use *use = taking->use;
	const struct packed_source blocks = {
		.log = moment->log, .in_hand = moment->in_hand, .until = moment->until,
		.process = heap->process, .timed = taking->timed,
	};
	struct err *err;

	/* An earlier look was of no use. */
	page_runs_free(&use->pages);
	packed_free(&use->held);
	if (!heap->walked)
		return NULL;
	use->log = moment->log;
	use->until = moment->until;
	use->held = (struct packed_list){ .process = heap->process, .timed = taking->timed };
	err = heap_pages_read(&heap->walk, moment->pages_of, false, &use->pages);
	return err || !moment->log ? err : packed_from_log(&blocks, &use->held);
}

struct err *heap_use_take(struct session *session, bool timed, struct heap_use *ret)
{
	struct taking taking = { ret, timed };
	const struct session_heap_look at = { take, &taking };
	struct err *err = session_heap(session, SESSION_HEAP_WALK, &at, &ret->heap);

	if (!err && !ret->heap.walked)
		err = err_create(ERR_UNSUPPORTED, "%s", ret->heap.why);
	return err;
}

void heap_use_free(struct heap_use *use)
{
	heaps_free(&use->heap);
	page_runs_free(&use->pages);
	packed_free(&use->held);
}

struct pins_source heap_use_source(const struct heap_use *use)
{
	return (struct pins_source){
		.walk = &use->heap.walk, .pages = &use->pages, .brk = use->heap.brk,
		.held = &use->held,
		.moment = { .log = use->log, .process = use->heap.process,
			    .complete = use->heap.complete, .until = use->until },
	};
}
