/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that does nothing but resize: THREADS threads, each with one block of its own that grows and shrinks all the
 * time, in place or to another place. Each has an arena of its own, so that what one has left is never given to another:
 * at any moment THREADS blocks of 4,001 bytes at least are held, or in the hands of realloc. Commands: go, more N (returns
 * when each thread has done N operations more), pause, verify, quit.
 */
#include "crew.h"
#include "target.h"

#include <pthread.h>
#include <stdbool.h>

#define THREADS		4
#define LEAST		4001u

static struct {
	pthread_t thread;
	void *block;
	size_t size;
	uint64_t operations, bad;
} worker[THREADS];

static NOINLINE void resize(size_t i, uint64_t *random)
{
	size_t size = LEAST + next_random(random) % 3000, least = size < worker[i].size ? size : worker[i].size;
	void *old = worker[i].block, *key = old, *p;

	KEEP(key);	/* (the compiler must not know what it is) */
	p = realloc(old, size);
	KEEP(p);
	worker[i].bad += !p || !canary_holds_as(p, key, worker[i].size, least);
	worker[i].block = p;
	worker[i].size = size;
	canary_fill(p, size);
}

static void *work(void *arg)
{
	size_t i = (size_t)arg;
	uint64_t random = 0x12345u + i;

	worker[i].size = LEAST;
	worker[i].block = malloc(LEAST);
	canary_fill(worker[i].block, LEAST);
	while (crew_wait()) {
		while (crew_works()) {
			resize(i, &random);
			__atomic_store_n(&worker[i].operations, worker[i].operations + 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void more(uint64_t n)
{
	uint64_t until[THREADS];
	size_t i;

	for (i = 0; i < THREADS; i++)
		until[i] = __atomic_load_n(&worker[i].operations, __ATOMIC_RELAXED) + n;
	for (i = 0; i < THREADS; i++)
		while (__atomic_load_n(&worker[i].operations, __ATOMIC_RELAXED) < until[i])
			nap_us(200);
}

static uint64_t verify(void)
{
	uint64_t bad = 0;
	size_t i;

	for (i = 0; i < THREADS; i++)
		bad += worker[i].bad + !canary_holds(worker[i].block, worker[i].size);
	return bad;
}

static void obey(const char *line)
{
	const char *rest;

	if (after(line, "go") || after(line, "pause")) {
		crew_set(line[0] == 'g');
		say("ok");
	} else if ((rest = after(line, "more"))) {
		more((uint64_t)atol(rest));
		say("ok");
	} else if (after(line, "verify")) {
		say("%s", verify() ? "bad" : "ok");
	} else {
		say("bad command %s", line);
	}
}

int main(void)
{
	char *line;
	size_t i;

	crew.members = THREADS;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&worker[i].thread, NULL, work, (void *)i) != 0)
			return 1;
	crew_set(false);
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	crew_end();
	for (i = 0; i < THREADS; i++)
		pthread_join(worker[i].thread, NULL);
	return verify() != 0;
}
