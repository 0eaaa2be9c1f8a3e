/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate at which a log samples, by what the agent takes (theory in sample_cost.h). */

#include "log/sample_cost.h"

#include "log/sample.h"

#define WINDOW_NS	100000000u	/* of processor time */
#define SPARE		0.9		/* of the bound is used */
#define FINER		0.8		/* below this part of what is left, the rate gets finer */
#define LEAST		0.1		/* of the bound is left to the slow path */
#define DOUBLING	4u		/* rates */
#define FADES		0.9		/* in a window */
#define CALLED		2.5		/* thunk and agent, by the agent alone, as measured once */
#define DOUBT_NS	20e6		/* of the fast path: from there on, the task clock counts more */
#define ENOUGH_NS	400e6		/* of the task clock: older ones fade */

/* Every call of the agent's is in one of these. */
static double calls_of(const struct log_accounts *is)
{
	return (double)is->allocs + (double)is->frees + (double)is->unsampled +
	       (double)is->unsampled_frees + (double)is->null_frees + (double)is->nested +
	       (double)is->failed;
}

/* How much more than before; an account that was taken back, or reset, has not grown. */
static double grown(double before, double now)
{
	return MAX(now - before, 0.0);
}

#define GROWN(account)	grown((double)before->account, (double)now->account)

double sample_cost_factor(const struct sample_cost_clock *clock)
{
	double ours = MAX(clock->ours - clock->slow, clock->fast);

	return (ours + CALLED * DOUBT_NS) / (clock->fast + DOUBT_NS);
}

/* The task clock was read in this window, of process_ns: what did it say, and what the stamps? */
static void add_clock(struct sample_cost_clock *clock, const struct sample_cost_look *from,
		      const struct sample_cost_look *to, double slow, double fast,
		      double process_ns)
{
	double watched = grown((double)from->watched_ns, (double)to->watched_ns);
	double keep = clock->ours > ENOUGH_NS ? 0.5 : 1;

	if (watched <= 0 || process_ns <= 0)
		return;
	clock->ours = clock->ours * keep + grown((double)from->ours_ns, (double)to->ours_ns);
	clock->slow = clock->slow * keep + slow * watched / process_ns;
	clock->fast = clock->fast * keep + fast * watched / process_ns;
}

/* What happened between two looks. *slow_ret and *fast_ret are ns. */
static struct sample_cost_sums between(struct sample_cost *cost, const struct sample_cost_look *to,
				       double *slow_ret, double *fast_ret)
{
	const struct sample_cost_look *from = &cost->last;
	const struct log_accounts *before = &from->accounts, *now = &to->accounts;
	double calls = grown(calls_of(before), calls_of(now));
	double process = grown((double)from->process_ns, (double)to->process_ns);

	*slow_ret = GROWN(slow_ticks) * to->tick_ns;
	*fast_ret = now->timed_calls ? calls * (double)now->timed_ticks /
				       (double)now->timed_calls * to->tick_ns : 0;
	add_clock(&cost->clock, from, to, *slow_ret, *fast_ret, process);
	*fast_ret *= sample_cost_factor(&cost->clock);
	return (struct sample_cost_sums){
		.agent_ns = *slow_ret + *fast_ret,
		.process_ns = process,
		.blocks = GROWN(allocs) + GROWN(unsampled),
		.recorded = GROWN(allocs),
	};
}

/* The rate that is `steps` coarser. From a rate that records all, the finest one is next. */
static uint8_t coarser(uint8_t rate, unsigned steps)
{
	unsigned from = MAX((unsigned)rate, SAMPLE_RATE_FINEST - 1);

	return (uint8_t)MIN(from + steps, SAMPLE_RATE_COARSEST);
}

static uint8_t finer(uint8_t rate, unsigned steps)
{
	if (rate < SAMPLE_RATE_FINEST + steps)
		return rate > SAMPLE_RATE_FINEST ? SAMPLE_RATE_FINEST : SAMPLE_RATE_ALL;
	return (uint8_t)(rate - steps);
}

/* The least number of rates by which the mean grows `times` or more. */
static unsigned steps_for(double times)
{
	unsigned steps = 0;

	while (times >= 2 && steps < SAMPLE_RATE_COARSEST) {
		times /= 2;
		steps += DOUBLING;
	}
	return steps + (times > 1.75) + (times > 1.5) + (times > 1.25) + (times > 1);
}

static uint8_t next_rate(struct sample_cost *cost, double slow, double fast, double budget,
			 uint8_t rate)
{
	double left = MAX(budget - fast, LEAST * budget);

	cost->fails = fast > budget || (slow > left && rate >= SAMPLE_RATE_COARSEST);
	if (slow > left)
		return coarser(rate, steps_for(slow / left));
	if (slow < FINER * left && rate >= SAMPLE_RATE_FINEST)
		return finer(rate, slow > 0 ? MIN(steps_for(left / slow), DOUBLING) : DOUBLING);
	return rate;
}

static void add(struct sample_cost_sums *to, double keep, const struct sample_cost_sums *is)
{
	to->agent_ns = to->agent_ns * keep + is->agent_ns;
	to->process_ns = to->process_ns * keep + is->process_ns;
	to->blocks = to->blocks * keep + is->blocks;
	to->recorded = to->recorded * keep + is->recorded;
}

uint8_t sample_cost_look(struct sample_cost *cost, const struct sample_cost_look *look,
			 uint32_t bound, uint8_t rate)
{
	struct sample_cost_sums sums;
	double slow, fast;

	if (!cost->begun) {
		cost->last = *look;
		cost->begun = true;
		return rate;
	}
	if (look->process_ns < cost->last.process_ns + WINDOW_NS)
		return rate;
	sums = between(cost, look, &slow, &fast);
	cost->last = *look;
	add(&cost->all, 1, &sums);
	add(&cost->lately, FADES, &sums);
	if (!bound || !rate)
		return rate;
	return next_rate(cost, slow, fast,
			 SPARE * sums.process_ns * bound / SAMPLE_COST_MOST, rate);
}

double sample_cost_percent(const struct sample_cost_sums *sums)
{
	return sums->process_ns > 0 ? 100 * sums->agent_ns / sums->process_ns : -1;
}
