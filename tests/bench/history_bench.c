/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A day of samples, one a second, of 10,000 sites whose sums change all the time. Prints the most
 * bytes that the history had, how many samples it has at the end, by how many per cent the sample
 * nearest to an age is off (of ages of a minute to a day, at worst), and the microseconds that a
 * sample took.
 */

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "heap/history.h"

#define SITES	10000u
#define DAY	86400u
#define SECOND	1000000000ull
#define BEGIN	(1760000000 * SECOND)

static struct moment_sum sum[SITES];

/* As programs have them: most sites hold kilobytes, a few megabytes. */
static void change(uint32_t second)
{
	for (uint32_t i = 0; i < SITES; i++) {
		uint64_t count = 1 + (i * 7 + second * (i % 5)) % 300;

		sum[i] = (struct moment_sum){ 2 * i + 1, count * (16 + i % 1000) * (i % 100 ? 1 : 50),
					      count };
	}
}

static double worst_age(const struct history *history, uint64_t now)
{
	double worst = 0;

	for (double age = 60; age < DAY - 1; age *= 1.01) {
		uint64_t then = now - (uint64_t)(age * 1e9);
		const struct history_sample *sample = history_nearest(history, then);
		double off = sample->time_ns > then ? (double)(sample->time_ns - then) :
						      (double)(then - sample->time_ns);

		if (100 * off / 1e9 / age > worst)
			worst = 100 * off / 1e9 / age;
	}
	return worst;
}

int main(void)
{
	struct history history = HISTORY_INIT;
	struct timespec begin, end;
	uint64_t most = 0;
	double us = 0;

	for (uint32_t second = 0; second <= DAY; second++) {
		struct moment moment = { .time_ns = BEGIN + second * SECOND,
					 .vec = { sum, SITES, SITES } };

		change(second);
		clock_gettime(CLOCK_MONOTONIC, &begin);
		if (history_add(&history, &moment, 1))
			return 1;
		clock_gettime(CLOCK_MONOTONIC, &end);
		us += (double)(end.tv_sec - begin.tv_sec) * 1e6 +
		      (double)(end.tv_nsec - begin.tv_nsec) / 1e3;
		most = MAX(most, history.bytes);
	}
	printf("%" PRIu64 " %zu %.2f %.1f\n", most, history.samples.nr,
	       worst_age(&history, BEGIN + DAY * SECOND), us / DAY);
	history_clear(&history);
	return 0;
}
