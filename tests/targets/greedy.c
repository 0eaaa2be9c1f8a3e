/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target of two threads, of which one never lets the other one have its turn: it allocates and
 * frees all the time, with a real-time priority (`ready` only if it has that). Commands: malloc N
 * (the other thread allocates N blocks and frees them, and rests before each), verify, quit.
 */
#include "target.h"

#include <pthread.h>
#include <sched.h>

static void *greedy(void *arg)
{
	struct sched_param param = { .sched_priority = 1 };

	__atomic_store_n((int *)arg,
			 pthread_setschedparam(pthread_self(), SCHED_FIFO, &param) ? -1 : 1,
			 __ATOMIC_RELEASE);
	for (;;) {
		void *p = malloc(48);

		KEEP(p);
		free(p);
	}
	return NULL;
}

static void allocate(long n)
{
	while (n-- > 0) {
		void *p;

		nap_us(50000);
		p = malloc(100);

		KEEP(p);
		free(p);
	}
}

int main(void)
{
	const char *number;
	pthread_t thread;
	int started = 0;
	char *line;

	if (pthread_create(&thread, NULL, greedy, &started))
		return 2;
	while (!__atomic_load_n(&started, __ATOMIC_ACQUIRE))
		sched_yield();
	if (started < 0)
		return 3;
	say_ready();
	while ((line = hear())) {
		number = after(line, "malloc");
		if (!strcmp(line, "quit"))
			return 0;
		if (number)
			allocate(atol(number));
		say("ok");
	}
	return 1;
}
