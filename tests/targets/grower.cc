/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * grower: sites that only ever grow, beside others at which blocks come and go on many paths. No block of a function
 * grow_* is ever freed before the end, whatever is at work, so that each was allocated as often as it is held.
 *
 *	fill N		makes N blocks in grow_filled, for a log that takes a while to go through
 *	load N		N threads work until they are calmed: grow_malloc, grow_new and grow_vector now and then, blocks of 256
 *			paths all the time, and a string that grows by realloc
 *	slow N		N threads make a block in grow_slow every 200 us, and nothing else
 *	calm		all threads stand still, and have ended
 *	table N		makes a block of N bytes in grow_table
 *	verify		checks the blocks that are held
 *	quit
 *
 * Each is answered by `ok BLOCKS`, the blocks of all grow_* together.
 */
#include "target.h"

#include <pthread.h>

#include <new>

#define THREADS_MAX	16
#define PAIRS		300	/* for each block that stays */

struct held {
	struct held *next;
	uint64_t mark;
};

struct worker {
	pthread_t thread;
	struct held *held;
	uint64_t blocks, random, sum;
	bool slow;
} __attribute__((aligned(128)));

static struct worker main_worker, worker[THREADS_MAX];
static int workers;
static bool at_work;

static uint64_t leaf(uint64_t arg)
{
	void *p = malloc(16 + arg % 64);

	KEEP(p);
	free(p);
	return arg;
}

#include "paths.h"

static void hold(struct worker *me, void *block)
{
	struct held *held = (struct held *)block;

	held->mark = ~(uint64_t)(uintptr_t)held;
	held->next = me->held;
	me->held = held;
	__atomic_store_n(&me->blocks, me->blocks + 1, __ATOMIC_RELAXED);
}

static NOINLINE void grow_filled(struct worker *me)
{
	hold(me, malloc(2 * sizeof(struct held)));
}

static NOINLINE void grow_table(struct worker *me, size_t size)
{
	hold(me, malloc(size));
}

static NOINLINE void grow_malloc(struct worker *me)
{
	hold(me, malloc(sizeof(struct held) + me->random % 100));
}

static NOINLINE void grow_new(struct worker *me)
{
	hold(me, operator new(sizeof(struct held) + me->random % 100));
}

static NOINLINE void grow_vector(struct worker *me)
{
	hold(me, operator new[](sizeof(struct held) + me->random % 100));
}

static NOINLINE void grow_slow(struct worker *me)
{
	hold(me, malloc(sizeof(struct held)));
}

static NOINLINE void come_and_go(struct worker *me)
{
	char *text = NULL;

	for (unsigned i = 0; i < PAIRS; i++)
		me->sum += path((unsigned)next_random(&me->random) % PATHS, i);
	for (size_t size = 8; size < 1000; size *= 2)
		text = (char *)realloc(text, size);
	KEEP(text);
	free(text);
	for (unsigned i = 0; i < 20; i++) {
		void *p = operator new(i + 1);

		KEEP(p);
		operator delete(p);
	}
}

static void *work(void *arg)
{
	struct worker *me = (struct worker *)arg;

	while (__atomic_load_n(&at_work, __ATOMIC_RELAXED)) {
		if (me->slow) {
			grow_slow(me);
			nap_us(200);
			continue;
		}
		grow_malloc(me);
		grow_new(me);
		grow_vector(me);
		come_and_go(me);
	}
	return NULL;
}

static void begin(int nr, bool slow)
{
	__atomic_store_n(&at_work, true, __ATOMIC_RELAXED);
	for (; workers < nr && workers < THREADS_MAX; workers++) {
		worker[workers].slow = slow;
		worker[workers].random = (uint64_t)workers + 1;
		if (pthread_create(&worker[workers].thread, NULL, work, &worker[workers]))
			abort();
	}
}

static void calm(void)
{
	__atomic_store_n(&at_work, false, __ATOMIC_RELAXED);
	while (workers > 0)
		pthread_join(worker[--workers].thread, NULL);
}

static uint64_t sum_of(uint64_t (*of)(const struct worker *))
{
	uint64_t sum = of(&main_worker);

	for (int i = 0; i < THREADS_MAX; i++)
		sum += of(&worker[i]);
	return sum;
}

static uint64_t blocks_of(const struct worker *of)
{
	return __atomic_load_n(&of->blocks, __ATOMIC_RELAXED);
}

static uint64_t bad_of(const struct worker *of)
{
	uint64_t nr = 0, bad = 0;

	for (const struct held *held = of->held; held; held = held->next, nr++)
		bad += held->mark != ~(uint64_t)(uintptr_t)held;
	return bad + (nr != of->blocks);
}

int main(void)
{
	const char *line, *rest;

	/* The first thread changes what the process does with signals. */
	begin(1, true);
	calm();
	say_ready();
	while ((line = hear())) {
		bool good = true;

		if ((rest = after(line, "fill")))
			for (long n = atol(rest); n > 0; n--)
				grow_filled(&main_worker);
		else if ((rest = after(line, "load")))
			begin(atoi(rest), false);
		else if ((rest = after(line, "slow")))
			begin(atoi(rest), true);
		else if ((rest = after(line, "table")))
			grow_table(&main_worker, (size_t)atol(rest));
		else if (after(line, "calm"))
			calm();
		else if (after(line, "verify"))
			good = !sum_of(bad_of);
		else if (after(line, "quit"))
			break;
		else
			good = false;
		say("%s %llu", good ? "ok" : "bad", (unsigned long long)sum_of(blocks_of));
	}
	calm();
	return sum_of(bad_of) ? 1 : 0;
}
