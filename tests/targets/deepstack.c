/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target with threads whose stacks are large, and full of the program's own words.
 *
 *	threads N MB	N threads, which wait, each with MB of its stack written to
 *	verify, quit
 */
#include "target.h"

#include <pthread.h>
#include <stdlib.h>

#define ROOM	(64u << 10)

static size_t used;
static pthread_barrier_t all_wait;

static void *stand(void *arg)
{
	volatile uint64_t *words = __builtin_alloca(used);

	for (size_t i = 0; i < used / 8; i++)
		words[i] = i * 0x9e3779b97f4a7c15u;
	pthread_barrier_wait(&all_wait);
	for (;;)
		pause();
	return arg;
}

static void make(unsigned nr, size_t mb)
{
	pthread_attr_t attr;
	pthread_t thread;

	used = mb << 20;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, used + ROOM);
	pthread_barrier_init(&all_wait, NULL, nr + 1);
	for (unsigned i = 0; i < nr; i++)
		if (pthread_create(&thread, &attr, stand, NULL)) {
			say("bad thread %u", i);
			return;
		}
	pthread_barrier_wait(&all_wait);
	say("ok");
}

int main(void)
{
	const char *line, *rest;
	unsigned nr, mb;

	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		rest = after(line, "threads");
		if (after(line, "verify"))
			say("ok");
		else if (rest && sscanf(rest, "%u %u", &nr, &mb) == 2)
			make(nr, mb);
		else
			say("bad order");
	}
	return 0;
}
