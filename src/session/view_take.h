/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Views (inspect/memory_view.h) of a session's target. For the tracer thread. */
#pragma once

#include "inspect/memory_view.h"

struct session;

/*
 * Take a view of the live process, with the target stopped; it is valid until the target runs on.
 * deep: with the vector registers and the starts of the stacks.
 */
struct err *view_take(struct session *session, bool deep, struct memory_view *ret) MUST_CHECK;
/* The same without `maps`, which a snapshot has, too: there may be 65,000. */
struct err *view_take_unmapped(struct session *session, bool deep,
			       struct memory_view *ret) MUST_CHECK;

/*
 * Let only the threads that are inside the allocator run until they have come out, for at most
 * *budget nanoseconds; the time that was used is subtracted. The target is stopped before and
 * after.
 */
struct err *view_take_drain(struct session *session, uint64_t *budget) MUST_CHECK;
