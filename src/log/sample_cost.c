/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate at which a log samples, by what the agent takes (theory in sample_cost.h). */

#include "log/sample_cost.h"

#include "log/sample.h"

#define WINDOW_NS	100000000u	/* of processor time */
#define SHORT_NS	10000000u	/* ditto, at least */
#define SPARE		0.9		/* of the bound is used */
#define FINER		0.8		/* below this part of what is left, the rate gets finer */
#define LEAST		0.1		/* of the bound is left to the slow path */
#define DOUBLING	4u		/* rates */
#define HARDLY_ANY	1e-6		/* of all blocks have a record */
#define NEARLY_ALL	0.9999
#define SIZES		24u		/* times the mean: all are recorded */
#define FADES		0.9		/* in a window */
#define CALLED		2.5		/* thunk and agent, by the agent alone, as measured once */
#define DOUBT_NS	5e6		/* of the fast path: from there on, the task clock counts more */
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

/*
 * The task clock was read in this window: what did it say, and what the stamps? It says little of the
 * fast path where most blocks are recorded.
 */
static void add_clock(struct sample_cost_clock *clock, const struct sample_cost_look *from,
		      const struct sample_cost_look *to, const struct sample_cost_sums *sums,
		      double slow, double fast)
{
	double watched = grown((double)from->watched_ns, (double)to->watched_ns);
	double keep = clock->ours > ENOUGH_NS ? 0.5 : 1;

	if (watched <= 0 || sums->process_ns <= 0 || sums->recorded > sums->blocks / 2)
		return;
	clock->ours = clock->ours * keep + grown((double)from->ours_ns, (double)to->ours_ns);
	clock->slow = clock->slow * keep + slow * watched / sums->process_ns;
	clock->fast = clock->fast * keep + fast * watched / sums->process_ns;
	clock->seen += fast * watched / sums->process_ns;
}

/* What a call takes by the stamps of the last seconds; 0: there are none. */
static double ticks_of_call(struct sample_cost *cost, const struct log_accounts *before,
			    const struct log_accounts *now)
{
	struct sample_cost_timed *timed = &cost->timed;

	timed->calls = timed->calls * FADES + GROWN(timed_calls);
	timed->ticks = timed->ticks * FADES + GROWN(timed_ticks);
	return timed->calls > 0 ? timed->ticks / timed->calls : 0;
}

/* What happened between two looks. *slow_ret and *fast_ret are ns. */
static struct sample_cost_sums between(struct sample_cost *cost, const struct sample_cost_look *to,
				       double *slow_ret, double *fast_ret)
{
	const struct sample_cost_look *from = &cost->last;
	const struct log_accounts *before = &from->accounts, *now = &to->accounts;
	double calls = grown(calls_of(before), calls_of(now));
	struct sample_cost_sums sums = {
		.process_ns = grown((double)from->process_ns, (double)to->process_ns),
		.blocks = GROWN(allocs) + GROWN(unsampled),
		.recorded = GROWN(allocs),
	};

	*slow_ret = GROWN(slow_ticks) * to->tick_ns;
	*fast_ret = calls * ticks_of_call(cost, before, now) * to->tick_ns;
	add_clock(&cost->clock, from, to, &sums, *slow_ret, *fast_ret);
	*fast_ret *= sample_cost_factor(&cost->clock);
	sums.agent_ns = *slow_ret + *fast_ret;
	return sums;
}

/* The size of blocks of which this part is recorded with this mean. */
static uint64_t size_recorded(uint64_t mean, double part)
{
	double weight = (double)SAMPLE_ONE / MIN(MAX(part, HARDLY_ANY), NEARLY_ALL);
	uint64_t low = 1, high = SIZES * mean;

	while (low + 1 < high) {
		uint64_t size = low + (high - low) / 2;

		*((double)sample_weight(size, mean) >= weight ? &low : &high) = size;
	}
	return low;
}

/* The finest rate that records only one in `times` of what is recorded now, a `part` of all blocks. */
static uint8_t coarser(uint8_t rate, double times, double part)
{
	uint8_t to = MAX(rate, (uint8_t)SAMPLE_RATE_FINEST);
	uint64_t size = size_recorded(sample_rate_mean(to), part);
	double weight = times * (double)sample_weight(size, sample_rate_mean(to));

	while (to < SAMPLE_RATE_COARSEST && (double)sample_weight(size, sample_rate_mean(to)) < weight)
		to++;
	return to;
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
			 double part, uint8_t rate)
{
	double left = MAX(budget - fast, LEAST * budget);

	cost->fails = fast > budget || (slow > left && rate >= SAMPLE_RATE_COARSEST);
	if (slow > left)
		return coarser(rate, slow / left, part);
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

/* May what happened since the last look that counted be judged? */
static bool counts(const struct sample_cost *cost, const struct sample_cost_look *look,
		   uint32_t bound)
{
	const struct log_accounts *before = &cost->last.accounts, *now = &look->accounts;
	double process = grown((double)cost->last.process_ns, (double)look->process_ns);

	return process >= WINDOW_NS ||
	       (bound && process >= SHORT_NS && GROWN(slow_ticks) * look->tick_ns >=
			(double)WINDOW_NS * bound / SAMPLE_COST_MOST);
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
	if (!counts(cost, look, bound))
		return rate;
	sums = between(cost, look, &slow, &fast);
	cost->last = *look;
	add(&cost->all, 1, &sums);
	add(&cost->lately, FADES, &sums);
	if (!bound || !rate)
		return rate;
	return next_rate(cost, slow, fast,
			 SPARE * sums.process_ns * bound / SAMPLE_COST_MOST,
			 sums.blocks > 0 ? sums.recorded / sums.blocks : 0, rate);
}

double sample_cost_percent(const struct sample_cost_sums *sums)
{
	return sums->process_ns > 0 ? 100 * sums->agent_ns / sums->process_ns : -1;
}
