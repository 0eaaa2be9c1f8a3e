/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The ring of references: calls of functions by which a program takes or gives back a reference to
 * an object, one event each, as the agent or the tracer has seen them at their entry (`probe ref`,
 * `probe unref`). session/pool/session_refs.h adds them up.
 *
 * It takes no memory until the first event. The newest events are kept, as many as there is room
 * for. Numbers go up by one for each event and are never used again, not after log_reset either, so
 * that a reader counts what was overwritten before it came.
 *
 * Protocol of slots: ring.h. An event whose slot another writer is still filling (a whole ring
 * behind) is lost, and its number stays missing.
 *
 * Freestanding.
 */
#pragma once

#include "log/log.h"

struct ref_event {
	uint64_t object;		/* its address and process, as in a record */
	uint64_t time;
	uint32_t thread, stack;		/* stacks begin with the function called */
	bool gives;
};

struct log_ref_slot {
	uint64_t ticket;
	uint64_t object;		/* with REF_SLOT_GIVES */
	uint64_t time;
	uint64_t who;			/* thread << 32 | stack */
};

#define REF_SLOT_GIVES	(1ull << 63)

void ref_ring_put(struct log *log, const struct ref_event *event);

/*
 *	REF_READ	*ret is the event of this number
 *	REF_NOT_YET	its writer has not finished, or has given up
 *	REF_GONE	a newer one has its slot
 */
enum ref_read { REF_READ, REF_NOT_YET, REF_GONE };
enum ref_read ref_ring_get(const struct log *log, uint64_t number, struct ref_event *ret);
/* The number of the next event; log->nr_refs of those before it may be read, at most. */
uint64_t ref_ring_next(const struct log *log);
