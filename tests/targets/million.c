/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many live blocks from 256 distinct stacks of 14 frames (malloc, leaf, eight of paths.h, make, main and libc's two;
 * `_start` is one more). Commands: make N (more of them), pairs N (the same, but each is freed at once), churn N (threads
 * that allocate, move and free blocks of their own, from now on), rest (they have freed them and ended), clock N (a thread
 * that reads the clock, and gets ten thousand signals a second, and N more that wait), longest (for how many ns at most it
 * did not run, since it was asked last), verify, quit.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#include "own_clock.h"
#include "target.h"

#ifndef sigev_notify_thread_id	/* musl has it */
#define sigev_notify_thread_id	_sigev_un._tid
#endif

#define CHURNERS	8
#define CHURNED		256		/* blocks of a thread */

#define BLOCK_SIZE	48

#define BLOCKS_MAX	(16l << 20)

static void **block;
static size_t nr;
static uint64_t rnd = 88172645463325252ull;

static NOINLINE uint64_t leaf(uint64_t arg)
{
	void *p = malloc(BLOCK_SIZE);

	KEEP(p);
	block[nr++] = p;
	return arg;
}

#include "paths.h"

/* (Called in one place for both, so that the stacks are the same.) */
static NOINLINE int make(long n, int keep)
{
	uint64_t sum = 0;

	if (n < 0 || n > BLOCKS_MAX - (long)nr)
		return -1;
	while (n-- > 0) {
		sum += path((unsigned)(next_random(&rnd) % PATHS), 1);
		canary_fill(block[nr - 1], BLOCK_SIZE);
		if (!keep)
			free(block[--nr]);
	}
	return sum == 0;
}

static volatile int resting;
static pthread_t churner[CHURNERS];
static int nr_churners;

static void *churn(void *arg)
{
	uint64_t random = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15ull;
	void *own[CHURNED] = { NULL };

	while (!resting) {
		unsigned i = next_random(&random) % CHURNED;

		if (next_random(&random) % 4) {
			own[i] = realloc(own[i], 16 + next_random(&random) % 500);
			KEEP(own[i]);
		} else {
			free(own[i]);
			own[i] = NULL;
		}
	}
	for (unsigned i = 0; i < CHURNED; i++)
		free(own[i]);
	return NULL;
}

static void begin_churn(long nr)
{
	resting = 0;
	while (nr_churners < nr && nr_churners < CHURNERS) {
		if (pthread_create(&churner[nr_churners], NULL, churn, (void *)(uintptr_t)(nr_churners + 1)))
			break;
		nr_churners++;
	}
	say("ok %d", nr_churners);
}

static void end_churn(void)
{
	resting = 1;
	while (nr_churners)
		pthread_join(churner[--nr_churners], NULL);
	say("ok");
}

static void ignore(int signal UNUSED)
{
}

static void *watch_signalled(void *arg)
{
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM };
	struct itimerspec spec = { .it_interval.tv_nsec = 100000, .it_value.tv_nsec = 100000 };
	timer_t timer;

	signal(SIGALRM, ignore);
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &event, &timer) || timer_settime(timer, 0, &spec, NULL))
		_exit(97);
	return watch(arg);
}

static void *wait_for_ever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

/* The one that watches comes first, so that it is the first to be seized. */
static void begin_clock(long nr)
{
	pthread_attr_t attr;
	pthread_t thread;
	long i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	if (pthread_create(&thread, &attr, watch_signalled, NULL)) {
		say("bad");
		return;
	}
	for (i = 0; i < nr && !pthread_create(&thread, &attr, wait_for_ever, NULL);)
		i++;
	say("ok %ld", i);
}

static size_t verify(void)
{
	size_t i, bad = 0;

	for (i = 0; i < nr; i++)
		bad += !canary_holds(block[i], BLOCK_SIZE);
	return bad;
}

int main(void)
{
	const char *rest;
	char *line;

	block = mmap(NULL, BLOCKS_MAX * sizeof(*block), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		int keep = after(line, "make") != NULL;

		rest = keep ? after(line, "make") : after(line, "pairs");
		if (rest) {
			const char *answer = make(atol(rest), keep) == 0 ? "ok" : "bad";

			say("%s %zu", answer, nr);
		} else if ((rest = after(line, "churn"))) {
			begin_churn(atol(rest));
		} else if (after(line, "rest")) {
			end_churn();
		} else if ((rest = after(line, "clock"))) {
			begin_clock(atol(rest));
		} else if (after(line, "longest")) {
			say("ok %llu", (unsigned long long)atomic_exchange(&longest, 0));
		} else if (after(line, "verify")) {
			say("%s %zu", verify() ? "bad" : "ok", nr);
		} else {
			say("bad command %s", line);
		}
	}
	return verify() != 0;
}
