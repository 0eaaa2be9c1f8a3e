/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sampling: about one block in `mean` bytes is recorded, and stands for those that are not.
 *
 * The samples are a Poisson process over the bytes that a thread allocates: the gaps between them
 * are exponentially distributed, and a block is recorded if one of them lies inside it, which has
 * probability 1 - exp(-size / mean), whatever was allocated before. So a recorded block stands for
 * 1 / (1 - exp(-size / mean)) blocks of its size, and all sums of these are right on average.
 *
 * Both are exact in their distribution, with integers alone, since the agent has no others: gaps by
 * von Neumann's comparisons of random numbers (Various Techniques Used in Connection with Random
 * Digits, 1951) instead of a logarithm; what a block stands for, to within 1e-6, is rounded up or
 * down by chance, so that it is right on average too. The chance is taken from the record's own
 * time: whoever computes it gets the same numbers, and what is added can be subtracted again.
 *
 * A mean that changes
 *
 * A log with a bound on its cost (sample_cost.h) changes its mean while the process runs. The mean
 * is then a rate, which fits in a byte of each record. Four rates are a doubling.
 *
 *	set		mdbg stores a rate in the header (log_set_rate). It is one word, and nobody
 *			waits for anybody.
 *	take over	A thread that draws for a block, and finds another rate than its own, takes it
 *			over and forgets its countdown: a new one begins with the new mean. A Poisson
 *			process has no memory, so what is left of the old countdown says nothing.
 *	draw		The block is recorded with the probability that the thread's rate gives it,
 *			and the record has that rate, whatever the header says by then. So its share
 *			is exactly one over the probability of its own draw, for ever, and a sum of
 *			shares is right on average however often the rate changes, and whenever: the
 *			rate of a draw depends only on what was before it.
 *	free		A record is taken out as it was put in, with its own share. A block that was
 *			not recorded is looked for in vain at any rate.
 *	two draws	A draw that is taken back (log/ledger.h, Sampling) by a thread that has taken
 *			over a rate since is drawn anew with that rate.
 *
 * A block of SAMPLE_LARGE bytes or more is always recorded, and at the rate SAMPLE_RATE_ALL all are:
 * such a record has that rate, stands for itself, and does not touch the countdown. (A process that
 * touches the pages of a megabyte spends some 25 us in the kernel, and mdbg less than half a
 * microsecond for its record.) Rate 0 is that of logs whose mean never changes.
 *
 * Rejected: a table of times at which the rate has changed, by which a reader finds a record's rate
 * (a thread may draw before a change and take the time stamp after it, and its record would have the
 * other weight); a thread that changes its rate only when its countdown ends (unbiased, too, but a
 * thread that has a hundred megabytes to go and allocates little would keep a coarse rate for hours).
 *
 * Freestanding.
 */
#pragma once

#include <stdint.h>

#include "base/compiler.h"

#define SAMPLE_MEAN_MAX		(1ull << 34)
#define SAMPLE_RATE_ALL		1u		/* all that are lower than FINEST are the same */
#define SAMPLE_RATE_FINEST	8u		/* a mean of 16 bytes */
#define SAMPLE_RATE_COARSEST	96u		/* of 64 MB */
#define SAMPLE_RATE_FIRST	SAMPLE_RATE_FINEST
#define SAMPLE_LARGE		(1ull << 20)
#define SAMPLE_BITS		24		/* of fractions below */
#define SAMPLE_ONE		(1ull << SAMPLE_BITS)

/* Sixty-four random bits (splitmix64); any state will do. */
static inline uint64_t sample_random(uint64_t *state)
{
	uint64_t bits = *state += 0x9e3779b97f4a7c15ull;

	bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9ull;
	bits = (bits ^ bits >> 27) * 0x94d049bb133111ebull;
	return bits ^ bits >> 31;
}

/* The product of a number and a fraction, given in units of 2^-64. */
static inline uint64_t sample_part(uint64_t fraction, uint64_t of)
{
	return (uint64_t)((unsigned __int128)fraction * of >> 64);
}

/*
 * Whole bytes to the next sample, which lies in the byte after them. This is von Neumann's method:
 * if random numbers fall for a run of odd length, its first number has the density exp(-x). Each
 * run of even length (probability 1 / e) adds a whole mean.
 */
static inline uint64_t sample_gap(uint64_t *random, uint64_t mean)
{
	for (uint64_t whole = 0;; whole += mean) {
		uint64_t first = sample_random(random), last = first, next;
		unsigned nr = 1;

		for (; (next = sample_random(random)) < last; nr++)
			last = next;
		if (nr & 1)
			return whole + sample_part(first, mean);
	}
}

/* Blocks of size 0 count as one byte, so that some of them are recorded, too. */
static inline uint64_t sample_size(uint64_t size)
{
	return size ? size : 1;
}

/*
 * SAMPLE_ONE / (1 - exp(-size / mean)). For x = size / mean up to 1 by its series,
 * 1/x + 1/2 + x/12 - x^3/720 + x^5/30240; a larger x is halved until it fits, and from q = 1 -
 * exp(-x / 2) comes 1 - exp(-x) = q (2 - q).
 */
static inline uint64_t sample_weight(uint64_t size, uint64_t mean)
{
	uint64_t x, square, cube, weight, q;
	unsigned halved = 0;

	size = sample_size(size);
	if (size / 24 >= mean)
		return SAMPLE_ONE;
	for (; size > mean; mean *= 2)
		halved++;
	x = size * SAMPLE_ONE / mean;
	square = x * x >> SAMPLE_BITS;
	cube = square * x >> SAMPLE_BITS;
	weight = mean * SAMPLE_ONE / size + SAMPLE_ONE / 2 + x / 12 - cube / 720 +
		 (square * cube >> SAMPLE_BITS) / 30240;
	if (!halved)
		return weight;
	q = SAMPLE_ONE * SAMPLE_ONE / weight;
	while (halved--)
		q = q * (2 * SAMPLE_ONE - q) >> SAMPLE_BITS;
	return SAMPLE_ONE * SAMPLE_ONE / q;
}

/* Mean bytes between samples at a rate; 0: all blocks are recorded. */
static inline uint64_t sample_rate_mean(uint64_t rate)
{
	rate = MIN(rate, (uint64_t)SAMPLE_RATE_COARSEST);
	return rate < SAMPLE_RATE_FINEST ? 0 : (4 + rate % 4) << rate / 4;
}

/* The mean of a record of this rate; log_mean is that of logs that have one for ever. */
static inline uint64_t sample_mean(uint64_t log_mean, uint64_t rate)
{
	return LIKELY(!rate) ? log_mean : sample_rate_mean(rate);
}

/* How many blocks a recorded block stands for. */
struct sample_share {
	uint64_t blocks, bytes;
};

/* Without sampling (mean 0) it stands for itself. */
static inline struct sample_share sample_share(uint64_t mean, uint64_t size, uint64_t time)
{
	uint64_t weight, chance;

	if (LIKELY(!mean))
		return (struct sample_share){ 1, size };
	weight = sample_weight(size, mean);
	chance = sample_random(&time) >> (64 - SAMPLE_BITS);
	return (struct sample_share){
		.blocks = (weight + chance) >> SAMPLE_BITS,
		.bytes = (uint64_t)(((unsigned __int128)weight * size + chance) >> SAMPLE_BITS),
	};
}
