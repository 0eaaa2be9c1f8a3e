/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds probes that see nothing. If all probes are in and no event was ever counted, either the
 * process does not allocate, or it executes other code than the probed one (a translator that
 * tracee/translator.h does not know, a copy of the allocator's code, a jump behind the patch). The
 * heap shows which: mdbg reads the bins, tops and sums of glibc's arenas (heap/heap_walk.h) when
 * the probes go in, and again at answers as long as no event was counted. If they differ, a block
 * was allocated or freed in between.
 *
 * One change is no proof. A thread that was inside the allocator when the probes went in ends its
 * call unseen; the program may call malloc_trim, which is no event; and a read without a stop may
 * come in the middle of a change and see one call twice. So mdbg warns only if it has seen SPARE
 * more changes than there were threads, at moments that are POLL_NS apart; and only as long as no
 * probe has counted any event. The first event ends the warning. A process that does not allocate
 * never causes it. Blocks that only go to and from the caches of threads are not seen, nor is what
 * other allocators do.
 *
 * This costs nothing if events come. If there are none, an answer reads some KB without a stop.
 * Only if these have changed it reads them again, POLL_NS apart, up to POLLS times or until QUIET
 * reads give the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "heap/heap_walk.h"

struct session;

struct blind {
	bool known;		/* the pulse is known */
	struct heap_pulse pulse;
	uint32_t changes;	/* of the heap, which were seen since the probes went in */
	uint32_t threads;	/* their number when the probes went in */
	bool told;
};

/* Tracer thread: begin anew with the heap as it is now. */
void blind_begin(struct session *session);
/* Main thread: is the allocator at work while no probe sees it? This may take half a second. */
struct err *blind_check(struct session *session, bool *ret) MUST_CHECK;
