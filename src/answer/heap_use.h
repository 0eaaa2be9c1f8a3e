/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The heaps of a process at one moment, with all that is needed to say why their free memory is
 * resident: which of their pages are, and whose blocks are on them (heap/pins.h).
 */
#pragma once

#include "heap/packed.h"
#include "heap/pins.h"
#include "inspect/heaps.h"
#include "os/page_runs.h"

struct session;

struct heap_use {
	struct heaps heap;
	struct page_runs pages;
	struct packed_list held;	/* of the log */
	const struct log *log;		/* NULL: there is none */
	uint64_t until;			/* as in struct session_heap_moment */
};

#define HEAP_USE_INIT	{ .heap = HEAPS_INIT, .pages = { VEC_INIT }, .held = PACKED_INIT }

/*
 * Look at them, in a stop or a snapshot (session/heap.h). timed: the blocks have times and threads.
 * The caller frees *ret, which is empty before, also after an error. ERR_UNSUPPORTED: there are no
 * heaps to walk, or they are those of a core file, which does not say what was resident.
 */
struct err *heap_use_take(struct session *session, bool timed, struct heap_use *ret) MUST_CHECK;
void heap_use_free(struct heap_use *use);
/* For pins_build; without filter, by stack. It points into *use. */
struct pins_source heap_use_source(const struct heap_use *use);
