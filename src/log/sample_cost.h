/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A bound on what recording costs a process: at which rate its log samples (log/sample.h), so that
 * the agent takes no more than a given part of the process's own processor time.
 *
 * Theory of operation
 *
 * What it costs. The agent measures itself in the process (struct log_accounts): the whole of its
 * slow path, and one in 256 calls of the fast path. The mean of these in the last second or so, times
 * the number of all calls, and the time of the slow path are the agent's time; of which the process's processor time
 * has a part. Not in it is what thunks do around the agent, which is more than the fast path itself:
 * 3 ns of a pair were measured by stamps, where the process took 9 ns longer.
 *
 * So a factor corrects the fast path. For some seconds after the attach, and now and then later, the
 * kernel's task clock says how much of its time the process is in code of mdbg's (os/code_share.h):
 * this less the slow path, by what the fast path has measured of itself in the same time. Windows in
 * which most blocks are recorded, as the first ones, say too little of the fast path, and are left out.
 * Until there is enough, it counts little beside a factor of CALLED, as where the kernel permits
 * no clock.
 *
 * Not in it are cache lines of the program's that the agent has displaced, and the stops of
 * breakpoints.
 *
 * Windows. A look is taken ten times a second, and counts once the process has used WINDOW_NS of
 * processor time since the last one that did, so an idle process changes nothing, and a busy one is
 * answered in a tenth of a second. One in which the slow path alone takes in less time what it may in
 * all of that counts at once. The fast path takes what it takes; what the slow path takes follows the
 * part of the blocks that is recorded, which is in inverse proportion to the mean only where that is
 * small. With F for the fast path, S for the slow one, B for nine
 * tenths of the bound, and L = B - F for what is left to the slow path:
 *
 *	S > L			the mean at which S / L times less is recorded, at once
 *	S < 4/5 L		the mean divided by L / S, but by 2 at most
 *	otherwise		the rate stays
 *
 * If F alone takes all, no rate keeps the bound, and the answer says so. L is a tenth of B at least:
 * a log of nothing would cost hardly less.
 *
 * The first rate is the finest, which records nearly all: of a process that is quiet, what it holds is
 * what it has allocated at its start, and there may be no window that counts for hours. A busy one is
 * recorded as a whole for a window or two, which also pays later, when these blocks are freed. Where the slow path
 * has much that no rate changes (resizes, blocks of SAMPLE_LARGE), the next windows find the rest of
 * the way.
 *
 * What it took. `all` has the sums since the log began, or was reset, or the bound was set.
 * `lately` has the same with half of it from the last seven windows or so.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "log/log.h"

#define SAMPLE_COST_MOST	10000u	/* of a bound, in hundredths of a percent: all of it */

/* A look at the log and at the process. */
struct sample_cost_look {
	struct log_accounts accounts;
	double tick_ns;			/* nanoseconds of a tick of log_now */
	uint64_t process_ns;		/* processor time of the process, ever */
	/* By the task clock, ever: how long it was in code of mdbg's, of how long it was watched. */
	uint64_t ours_ns, watched_ns;
};

struct sample_cost_sums {
	double agent_ns, process_ns;
	double blocks, recorded;	/* given out, and how many of them have a record */
};

/* The same, while the task clock was read: all in ns. */
struct sample_cost_clock {
	double ours;			/* by the task clock */
	double slow, fast;		/* by the stamps of the agent */
	double seen;			/* `fast`, of which nothing fades */
};

/* Calls of the fast path that were measured; older ones fade. */
struct sample_cost_timed {
	double calls, ticks;
};

struct sample_cost {
	struct sample_cost_look last;	/* the last look that counted */
	bool begun;			/* false: there is none that the next one may be compared with */
	bool fails;			/* the bound cannot be kept at any rate */
	struct sample_cost_sums all, lately;
	struct sample_cost_clock clock;
	struct sample_cost_timed timed;
};

/*
 * Take a look into account. bound is in hundredths of a percent; 0: none, and only the sums are made.
 * Returns the rate at which to sample from now on, where `rate` is that of now.
 */
uint8_t sample_cost_look(struct sample_cost *cost, const struct sample_cost_look *look,
			 uint32_t bound, uint8_t rate);
/* By what the time of the fast path is multiplied. */
double sample_cost_factor(const struct sample_cost_clock *clock);
/* Part of the processor time, in percent; -1: not known yet. */
double sample_cost_percent(const struct sample_cost_sums *sums);
