/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processes that share a target's memory, and are none of its children (theory in sharers.c). */
#pragma once

#include "base/err.h"

struct target;

/*
 * All threads of the target are traced. Look for the others in a thread of its own; sharers_hold or
 * sharers_end must follow.
 */
void sharers_begin(struct target *target);
void sharers_end(struct target *target);
/*
 * Trace all processes that share the memory, to be called before the stop in which text is changed or
 * something is unmapped. A target that stands still stays so. ERR_ATTACH: one cannot be traced, so that nothing
 * may be changed. Errors of seize_retrace.
 */
struct err *sharers_hold(struct target *target) MUST_CHECK;
