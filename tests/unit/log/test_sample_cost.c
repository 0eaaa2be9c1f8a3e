/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rate that keeps a bound on the cost, for processes that are made up. */

#include "log/sample_cost.h"

#include "log/sample.h"
#include "unit.h"

#define SECOND	1e9

/* A process that has so many pairs of calls in a second of its processor time. */
struct process {
	double pairs;			/* of blocks of `size` bytes */
	uint64_t size;
	double slow_ns, fast_ns;	/* a record, and a pair that is passed by */
	double thunk_ns;		/* a pair's, beyond what the agent measures */
	bool clocked;
	struct sample_cost_look look;
	double truth;			/* ns that recording took */
};

/* Let it run for so much processor time. */
static void run(struct process *is, double ns, uint8_t rate)
{
	uint64_t mean = sample_rate_mean(rate);
	double pairs = is->pairs * ns / SECOND;
	double recorded = mean ? pairs * SAMPLE_ONE / (double)sample_weight(is->size, mean) : pairs;
	struct log_accounts *accounts = &is->look.accounts;
	double took = recorded * is->slow_ns + pairs * (is->fast_ns + is->thunk_ns);

	accounts->allocs += (uint64_t)recorded;
	accounts->frees += (uint64_t)recorded;
	accounts->unsampled += (uint64_t)(pairs - recorded);
	accounts->unsampled_frees += (uint64_t)(pairs - recorded);
	accounts->slow_ticks += (uint64_t)(recorded * is->slow_ns * 2);
	accounts->timed_calls += 1000;
	accounts->timed_ticks += (uint64_t)(1000 * is->fast_ns);	/* a call is half a pair */
	is->look.tick_ns = 0.5;
	is->look.process_ns += (uint64_t)ns;
	if (is->clocked) {
		is->look.watched_ns += (uint64_t)ns;
		is->look.ours_ns += (uint64_t)took;
	}
	is->truth += took;
}

/* Returns the percent that the last half of the time took. */
static double keep(struct process *is, struct sample_cost *cost, unsigned looks, uint32_t bound,
		   uint8_t *rate)
{
	double from = 0;

	for (unsigned i = 0; i < looks; i++) {
		if (i == looks / 2)
			from = is->truth;
		*rate = sample_cost_look(cost, &is->look, bound, *rate);
		run(is, SECOND / 10, *rate);
	}
	return 100 * (is->truth - from) / (SECOND / 10 * (looks - looks / 2));
}

/* It settles below the bound, near it, whether there is a clock or the agent's measure is right. */
TEST("keeps")
{
	static const struct process processes[] = {
		{ .pairs = 100000, .size = 100, .slow_ns = 300, .fast_ns = 4, .thunk_ns = 6 },
		{ .pairs = 500000, .size = 40, .slow_ns = 200, .fast_ns = 4, .thunk_ns = 6 },
		{ .pairs = 300000, .size = 4000, .slow_ns = 900, .fast_ns = 3, .thunk_ns = 12 },
	};

	for (unsigned i = 0; i < 3 * ARRAY_SIZE(processes); i++) {
		struct process is = processes[i / 3];
		struct sample_cost cost = { .begun = false };
		uint8_t rate = SAMPLE_RATE_FIRST;
		uint32_t bound = (uint32_t[]){ 100, 200, 500 }[i % 3];
		double took;

		is.clocked = true;
		took = keep(&is, &cost, 400, bound, &rate);
		CU_ASSERT(took <= bound / 100.0);
		CU_ASSERT(took >= bound / 150.0 || rate == SAMPLE_RATE_ALL);
		CU_ASSERT(!cost.fails);
		/* What is said is what it took. */
		CU_ASSERT(sample_cost_percent(&cost.lately) >= took / 1.2);
		CU_ASSERT(sample_cost_percent(&cost.lately) <= took * 1.2);
	}
}

/* A busy process has only a few windows in which nearly all is recorded. */
TEST("begins")
{
	struct process is = { .pairs = 500000, .size = 100, .slow_ns = 300, .fast_ns = 4,
			      .thunk_ns = 6, .clocked = true };
	struct sample_cost cost = { .begun = false };
	uint8_t rate = SAMPLE_RATE_FIRST;
	double from;

	keep(&is, &cost, 3, 200, &rate);
	from = is.truth;
	keep(&is, &cost, 5, 200, &rate);
	CU_ASSERT(is.truth - from <= 0.02 * 1.5 * 5 * SECOND / 10);
	CU_ASSERT(is.truth - from >= 0.02 / 2 * 5 * SECOND / 10);
}

/* What the slow path takes while nearly all is recorded says little of the fast one. */
TEST("clock of the fast path")
{
	struct process is = { .pairs = 500000, .size = 100, .slow_ns = 3000, .fast_ns = 4,
			      .thunk_ns = 6, .clocked = true };
	struct sample_cost cost = { .begun = false };
	uint8_t rate = SAMPLE_RATE_FIRST;

	keep(&is, &cost, 2, 200, &rate);
	CU_ASSERT_EQUAL(cost.clock.seen, 0);
	CU_ASSERT_EQUAL(sample_cost_factor(&cost.clock), 2.5);
	keep(&is, &cost, 100, 200, &rate);
	CU_ASSERT(cost.clock.seen > 0);
}

/* A short time counts, if the slow path has taken in it what it may in a whole window. */
TEST("short windows")
{
	struct process is = { .pairs = 500000, .size = 100, .slow_ns = 300, .fast_ns = 4 };
	struct sample_cost cost = { .begun = false };
	uint8_t rate = sample_cost_look(&cost, &is.look, 100, SAMPLE_RATE_FIRST);

	run(&is, SECOND / 50, rate);
	CU_ASSERT(sample_cost_look(&cost, &is.look, 100, rate) > rate + 12);
	cost = (struct sample_cost){ .begun = false };
	sample_cost_look(&cost, &is.look, 100, rate);
	is.pairs = 1000;
	run(&is, SECOND / 50, rate);
	CU_ASSERT_EQUAL(sample_cost_look(&cost, &is.look, 100, rate), rate);
}

/* The time of a call is that of the last seconds: a time long ago does not count. */
TEST("calls that were measured")
{
	struct process is = { .pairs = 100000, .size = 100, .slow_ns = 300, .fast_ns = 400 };
	struct sample_cost cost = { .begun = false };
	uint8_t rate = SAMPLE_RATE_FIRST;

	keep(&is, &cost, 100, 200, &rate);
	is.fast_ns = 4;
	keep(&is, &cost, 100, 200, &rate);
	CU_ASSERT(!cost.fails);
	CU_ASSERT(sample_cost_percent(&cost.lately) <= 2);
}

/* One that allocates little is recorded as a whole, and passes to sampling when it allocates more. */
TEST("surges")
{
	struct process is = { .pairs = 1000, .size = 100, .slow_ns = 400, .fast_ns = 4,
			      .thunk_ns = 6, .clocked = true };
	struct sample_cost cost = { .begun = false };
	uint8_t rate = SAMPLE_RATE_FIRST;

	CU_ASSERT(keep(&is, &cost, 100, 100, &rate) < 0.1);
	CU_ASSERT_EQUAL(rate, SAMPLE_RATE_ALL);
	CU_ASSERT(cost.lately.blocks < 1.02 * cost.lately.recorded);
	is.pairs = 500000;
	CU_ASSERT(keep(&is, &cost, 60, 100, &rate) <= 1);
	CU_ASSERT(rate > SAMPLE_RATE_FINEST);
	is.pairs = 1000;
	keep(&is, &cost, 100, 100, &rate);
	CU_ASSERT_EQUAL(rate, SAMPLE_RATE_ALL);
}

/* What passing blocks by takes is more than the bound: it says so, and still records some. */
TEST("fails")
{
	struct process is = { .pairs = 5000000, .size = 100, .slow_ns = 300, .fast_ns = 4,
			      .thunk_ns = 6, .clocked = true };
	struct sample_cost cost = { .begun = false };
	uint8_t rate = SAMPLE_RATE_FIRST;
	double took = keep(&is, &cost, 200, 100, &rate);

	CU_ASSERT(cost.fails);
	CU_ASSERT(took > 5 && took < 5.2);
	CU_ASSERT(rate < SAMPLE_RATE_COARSEST);
}

/* An idle process, one without a bound, and a reset of the log. */
TEST("stays")
{
	struct process is = { .pairs = 500000, .size = 100, .slow_ns = 300, .fast_ns = 4 };
	struct sample_cost cost = { .begun = false };
	uint8_t rate = 50;

	CU_ASSERT_EQUAL(sample_cost_percent(&cost.lately), -1);
	for (unsigned i = 0; i < 1000; i++) {
		CU_ASSERT_EQUAL(sample_cost_look(&cost, &is.look, 100, rate), rate);
		run(&is, 1000, rate);
	}
	CU_ASSERT_EQUAL(sample_cost_percent(&cost.lately), -1);
	keep(&is, &cost, 10, 0, &rate);
	CU_ASSERT_EQUAL(rate, 50);
	CU_ASSERT(sample_cost_percent(&cost.all) > 0);
	is.look.accounts = (struct log_accounts){ 0 };
	CU_ASSERT(keep(&is, &cost, 100, 100, &rate) <= 1);
	CU_ASSERT(sample_cost_percent(&cost.all) > 0);
}

/* Without a clock the factor is what was once measured; a clock soon has more weight. */
TEST("factor")
{
	struct sample_cost_clock clock = { .ours = 0 };

	CU_ASSERT_EQUAL(sample_cost_factor(&clock), 2.5);
	clock = (struct sample_cost_clock){ .ours = 500e6, .slow = 100e6, .fast = 100e6 };
	CU_ASSERT(sample_cost_factor(&clock) > 3.5 && sample_cost_factor(&clock) < 4);
	/* It is never less than 1 by much: what the agent has measured was there. */
	clock = (struct sample_cost_clock){ .ours = 1e6, .slow = 500e6, .fast = 1000e6 };
	CU_ASSERT(sample_cost_factor(&clock) >= 1 && sample_cost_factor(&clock) < 1.1);
}
