/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What recording costs the process, and the bound on it (`--cost`, `set cost`): log/sample_cost.h,
 * applied to a session. The tracer thread takes the looks; the processes of the log are taken
 * together. A process that has ended keeps the processor time that it had at the last look. The task
 * clock is read of the current one, if there is a bound, for CLOCK_NS of its processor time or until the
 * fast path has taken CLOCK_FAST_NS of it, and again each CLOCK_EACH_NS.
 *
 * The bound is a property of the log, as sampling is: it is in its header, so that a later mdbg goes
 * on to keep it. A log that was begun without one records all for ever.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "log/sample_cost.h"

struct code_share;
struct session;

/* In struct session; under its lock. */
struct session_cost_state {
	struct sample_cost cost;
	uint64_t log_start;		/* identifies its log; 0: none yet */
	uint32_t bound;			/* with which `cost` was made */
	uint64_t process_ns[LOG_PROCESSES];	/* processor time as last seen */
	uint64_t polled;		/* ns, when: not while the probes are out */
	struct sample_cost_look now;	/* with the sums of the task clock */
	struct code_share *clock;	/* NULL: it is not read now */
	uint64_t clock_from;		/* of the processor time: it is read then; UINT64_MAX: never */
	double clock_seen;		/* when this reading began */
	uint64_t clock_watched;
};

/* What is said of the cost. */
struct session_cost {
	uint32_t bound;			/* hundredths of a percent; 0: none */
	bool moves;			/* the rate may change: the log was begun with a bound */
	bool fails;			/* the bound cannot be kept at any rate */
	double lately, since;		/* percent of its processor time; -1: not known (yet) */
	double one_of;			/* one of so many blocks is recorded; 0: not known (yet) */
	bool clocked;			/* the kernel permits its task clock: else it is an estimate */
};

/*
 * Set the bound, in hundredths of a percent of the process's processor time, at most
 * SAMPLE_COST_MOST; 0: none. It is of all later attaches, and holds at once if the log of this one
 * has a bound; without one that log then records all. A warning says so if this log has none.
 */
struct err *session_cost_set(struct session *session, uint32_t bound) MUST_CHECK;
/* False: there is no log, or it does not sample, and costs are not measured. */
bool session_cost(struct session *session, struct session_cost *ret);
/* Take a look, and change the rate. Tracer thread. */
void session_cost_poll(struct session *session);
/* The target is gone, or let go: read its clock no more. Tracer thread, or without one. */
void session_cost_forget(struct session *session);
