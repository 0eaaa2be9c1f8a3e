/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Probes that see nothing. All are in, and not one event was ever counted: either the process
 * does not allocate, or it executes other code than that in which they are (a translator that
 * tracee/translator.h does not know, a copy of the allocator's code, a jump behind the patch).
 * The heap tells: bins, tops and sums of glibc's arenas (heap/heap_walk.h) are read when the probes
 * go in, and again at answers, as long as no event was counted. Where they differ something was
 * given out or taken back.
 *
 * That alone is no proof. Who was inside the allocator when the probes went in ends his call
 * unseen, one for each thread; the program may call malloc_trim, which is no event; and a read
 * that is not in a stop may come in the middle of a change, and see one call twice. So it is said
 * only when more changes were seen than there were threads, and SPARE more, at moments that are
 * POLL_NS apart; and only as long as no event was counted at all, by any probe: the first one
 * takes it back. A process that does not allocate is never accused. What goes to and from
 * threads' caches alone, and what other allocators do, is not seen.
 *
 * It costs nothing where events come. Where there are none an answer reads some KB, without a
 * stop; only where these have changed it reads them again, POLL_NS apart, up to POLLS times or
 * until QUIET of them are the same.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct session;

struct blind {
	bool known;		/* pulse is */
	uint64_t pulse;
	uint32_t changes;	/* seen since the probes went in */
	uint32_t threads;	/* that there were then */
	bool told;
};

/* Tracer thread: begin anew, with what the heap is now. */
void blind_begin(struct session *session);
/* Main thread: is the allocator at work, and no probe sees it? May take half a second. */
struct err *blind_check(struct session *session, bool *ret) MUST_CHECK;
