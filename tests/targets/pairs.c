/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Very many malloc and free, by several threads at once and as fast as they can, by 256 paths at random; each thread
 * counts what it does. pairs [THREADS (2)].
 *
 *	run N		each thread N times: a block of its window is freed, and another one allocated in its place
 *	counts		`ok ALLOCS FREES ALLOCATED_BYTES FREED_BYTES`, of all threads
 *	verify, quit
 */
#include "target.h"

#include <pthread.h>

#define WINDOW		4096	/* so many that each path has some */
#define LARGEST		512
#define MAX_THREADS	64

struct block {
	unsigned char *at;
	size_t size;
};

struct worker {
	struct block window[WINDOW];
	uint64_t rnd, bad, allocs, frees, allocated, freed;
} __attribute__((aligned(128)));

static struct worker worker[MAX_THREADS];
static __thread struct worker *me;
static unsigned nr_threads = 2;
static long pairs;
static pthread_barrier_t begin, end;

static NOINLINE uint64_t leaf(uint64_t arg)
{
	uint64_t dice = next_random(&me->rnd);
	struct block *block = &me->window[dice >> 32 & (WINDOW - 1)];

	if (block->at) {
		me->bad += *block->at != canary_byte(block->at, 0);
		free(block->at);
		me->frees++;
		me->freed += block->size;
	}
	block->size = 1 + (dice >> 48) % LARGEST;
	block->at = malloc(block->size);
	KEEP(block->at);
	*block->at = canary_byte(block->at, 0);
	me->allocs++;
	me->allocated += block->size;
	return arg;
}

#include "paths.h"

static void *work(void *arg)
{
	me = arg;
	for (;;) {
		uint64_t sum = 0;

		pthread_barrier_wait(&begin);
		for (long i = 0; i < pairs; i++)
			sum += path((unsigned)(next_random(&me->rnd) >> 32) % PATHS, 1);
		KEEP(sum);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static int start(void)
{
	pthread_t thread;

	pthread_barrier_init(&begin, NULL, nr_threads + 1);
	pthread_barrier_init(&end, NULL, nr_threads + 1);
	for (unsigned i = 0; i < nr_threads; i++) {
		worker[i].rnd = 88172645463325252ull + i * 1000003;
		if (pthread_create(&thread, NULL, work, &worker[i]))
			return -1;
	}
	/* A round of nothing: a thread that begins has all signals blocked. */
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	return 0;
}

static void counts(void)
{
	struct worker sum = { .bad = 0 };

	for (unsigned i = 0; i < nr_threads; i++) {
		sum.allocs += worker[i].allocs;
		sum.frees += worker[i].frees;
		sum.allocated += worker[i].allocated;
		sum.freed += worker[i].freed;
		sum.bad += worker[i].bad;
	}
	say("%s %lu %lu %lu %lu", sum.bad ? "bad" : "ok", (unsigned long)sum.allocs, (unsigned long)sum.frees,
	    (unsigned long)sum.allocated, (unsigned long)sum.freed);
}

int main(int argc, char **argv)
{
	const char *rest;
	char *line;

	if (argc > 1)
		nr_threads = (unsigned)atoi(argv[1]);
	if (nr_threads < 1 || nr_threads > MAX_THREADS || start())
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if ((rest = after(line, "run"))) {
			pairs = atol(rest);
			pthread_barrier_wait(&begin);
			pthread_barrier_wait(&end);
			say("ok");
		} else if (after(line, "counts") || after(line, "verify")) {
			counts();
		} else {
			say("bad command %s", line);
		}
	}
	return 0;
}
