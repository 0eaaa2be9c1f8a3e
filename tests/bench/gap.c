/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a stop of all threads looks like from inside: gap THREADS has a thread or two that do nothing but read the
 * clock, and, if it has four or more, two (its third and its last) that wake every 50 us; the others sleep in a system
 * call, as most threads of a server do, the main thread too.
 *
 *	report		`ok LARGEST SUM N WAKERS`, us: the largest gap between two readings since the last report, the sum
 *			and the number of all gaps; and the longest that one who wakes came too late
 *	verify, quit
 *
 * A gap counts if the thread has slept in it, which it does only when it is stopped (getrusage(2), ru_nvcsw). Others on
 * the machine take the processor away too: time in which the thread could have run and had to wait for a processor
 * (/proc/thread-self/schedstat) is taken off. One who wakes sleeps once each time; when it is stopped meanwhile, twice.
 */
#include "schedstat.h"
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#define SPINNERS	2
#define GAP_NS		10000
#define NAP_NS		50000

static struct spinner {
	_Atomic uint64_t largest, sum, number;
} __attribute__((aligned(128))) spinner[SPINNERS], waker;

static int never[2];		/* a pipe that nobody writes to */

static long sleeps(void)
{
	struct rusage usage;

	getrusage(RUSAGE_THREAD, &usage);
	return usage.ru_nvcsw;
}

static void note(struct spinner *s, uint64_t ns)
{
	if (ns > s->largest)
		s->largest = ns;
	s->sum += ns;
	s->number++;
}

static void *spin(void *arg)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY);
	uint64_t last = clock_ns(CLOCK_MONOTONIC), queued = waited(schedstat);
	long before = sleeps();

	for (;;) {
		uint64_t now = clock_ns(CLOCK_MONOTONIC), gap = now - last;

		if (gap > GAP_NS) {
			uint64_t wait = waited(schedstat) - queued;
			long after = sleeps();

			if (after != before)
				note(arg, gap > wait ? gap - wait : 0);
			before = after;
			queued += wait;
			now = clock_ns(CLOCK_MONOTONIC);
		}
		last = now;
	}
	return NULL;
}

static void *wake(void *arg)
{
	int schedstat = open("/proc/thread-self/schedstat", O_RDONLY);

	prctl(PR_SET_TIMERSLACK, 1);
	for (;;) {
		uint64_t queued = waited(schedstat), until;
		long before = sleeps();
		struct timespec at;

		until = clock_ns(CLOCK_MONOTONIC) + NAP_NS;
		at = (struct timespec){ until / 1000000000, until % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
		if (sleeps() > before + 1) {
			uint64_t late = clock_ns(CLOCK_MONOTONIC) - until, wait = waited(schedstat) - queued;

			note(arg, late > wait ? late - wait : 0);
		}
	}
	return NULL;
}

static void *sleeper(void *arg)
{
	char byte;

	while (read(never[0], &byte, 1) != 1)
		;
	return arg;
}

static void report(void)
{
	uint64_t largest = 0, sum = 0, number = 0, wakers = atomic_exchange(&waker.largest, 0);

	for (int i = 0; i < SPINNERS; i++) {
		uint64_t mine = atomic_exchange(&spinner[i].largest, 0);

		largest = mine > largest ? mine : largest;
		sum += atomic_exchange(&spinner[i].sum, 0);
		number += atomic_exchange(&spinner[i].number, 0);
	}
	say("ok %.1f %.1f %lu %.1f", (double)largest / 1e3, (double)sum / 1e3, (unsigned long)number,
	    (double)wakers / 1e3);
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t thread;
	char *line;

	if (pipe(never))
		return 2;
	for (int i = 0; i < threads - 1; i++) {
		bool wakes = i >= SPINNERS && (i == SPINNERS || i == threads - 2);

		if (pthread_create(&thread, NULL, i < SPINNERS ? spin : wakes ? wake : sleeper,
				   wakes ? &waker : &spinner[i % SPINNERS]))
			return 2;
	}
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "report"))
			report();
		else
			say(after(line, "verify") ? "ok" : "bad command");
	}
	return 0;
}
