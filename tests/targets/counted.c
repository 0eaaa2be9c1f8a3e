/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * counted [THREADS (4)]: threads that call malloc, calloc, realloc and free, and nothing else of the allocator, and count
 * what they call. Nothing else in the process allocates once it is ready, so that others' counts can be compared exactly.
 *
 *	load, calm	all threads work until they are calmed; returns when all work, or when all stand still
 *	more N		returns when the threads at work have done N rounds more
 *	go N		each thread does N rounds and stands still again
 *	kept		`ADDRESS SIZE` of the last blocks of each thread, then `end N`; when all stand still
 *	mark N		calls mark_first(N) and mark_last(N), where another tool may have put probes of its own
 *	verify		checks the blocks that are kept
 *	counts		of all threads, now: what `load`, `calm`, `go`, `mark` and `verify` say, too
 *	quit
 *
 * All answers but that to `kept` are `ok MALLOCS CALLOCS REALLOCS FREES`, or `bad …` if a block was not as it was left.
 */
#include "target.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>

#define THREADS_MAX	16
#define KEPT		8
#define LARGEST		900u

struct block {
	unsigned char *at;
	size_t size;
};

struct worker {
	struct block kept[KEPT];
	uint64_t random, next, bad, rounds, mallocs, callocs, reallocs, frees;
} __attribute__((aligned(128)));

static struct worker worker[THREADS_MAX];
static int members;
static pthread_barrier_t begin, end;
static bool at_work;
/* What each thread does between the two barriers: so many rounds, or on and on while loaded. */
static int64_t burst;
static bool loaded;

static void add(uint64_t *count)
{
	__atomic_store_n(count, *count + 1, __ATOMIC_RELAXED);
}

static bool is_zero(const unsigned char *at, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i])
			return false;
	return true;
}

static size_t any_size(struct worker *me)
{
	return 1 + next_random(&me->random) % LARGEST;
}

static NOINLINE void *do_malloc(struct worker *me, size_t size)
{
	void *at = malloc(size);

	KEEP(at);
	add(&me->mallocs);
	canary_fill(at, size);
	return at;
}

static NOINLINE void *do_calloc(struct worker *me, size_t size)
{
	void *at = calloc(1, size);

	KEEP(at);
	add(&me->callocs);
	me->bad += !is_zero(at, size);
	canary_fill(at, size);
	return at;
}

/* The content comes along, with the canaries of the old address. */
static NOINLINE void *do_realloc(struct worker *me, void *old, size_t old_size, size_t size)
{
	void *key = old, *at;

	KEEP(key);
	at = realloc(old, size);
	KEEP(at);
	add(&me->reallocs);
	me->bad += !canary_holds_as(at, key, old_size, old_size < size ? old_size : size);
	canary_fill(at, size);
	return at;
}

static NOINLINE void do_free(struct worker *me, struct block *block)
{
	me->bad += !canary_holds(block->at, block->size);
	free(block->at);
	KEEP(block);
	add(&me->frees);
}

/* One call of malloc, calloc and realloc each, and two of free, when all places are taken. */
static void one_round(struct worker *me)
{
	struct block *kept = &me->kept[me->next++ % KEPT], brief = { NULL, any_size(me) };
	size_t size = any_size(me);

	if (kept->at)
		do_free(me, kept);
	kept->at = do_malloc(me, size);
	brief.at = do_calloc(me, brief.size);
	kept->size = any_size(me);
	kept->at = do_realloc(me, kept->at, size, kept->size);
	do_free(me, &brief);
	add(&me->rounds);
}

static void *work(void *arg)
{
	struct worker *me = arg;

	for (;;) {
		pthread_barrier_wait(&begin);
		for (int64_t i = 0; i < burst || __atomic_load_n(&loaded, __ATOMIC_ACQUIRE); i++)
			one_round(me);
		pthread_barrier_wait(&end);
	}
	return NULL;
}

static void load(void)
{
	if (at_work)
		return;
	at_work = true;
	burst = 0;
	__atomic_store_n(&loaded, true, __ATOMIC_RELEASE);
	pthread_barrier_wait(&begin);
}

static void calm(void)
{
	if (!at_work)
		return;
	at_work = false;
	__atomic_store_n(&loaded, false, __ATOMIC_RELEASE);
	pthread_barrier_wait(&end);
}

static void go(int64_t rounds)
{
	calm();
	burst = rounds;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
}

/* A thread that begins has all signals blocked, and its first rounds have less to free. */
static bool start_workers(void)
{
	pthread_barrier_init(&begin, NULL, (unsigned)members + 1);
	pthread_barrier_init(&end, NULL, (unsigned)members + 1);
	for (int i = 0; i < members; i++) {
		pthread_t thread;

		worker[i].random = 88172645463325252ull + (uint64_t)i * 1000003;
		if (pthread_create(&thread, NULL, work, &worker[i]))
			return false;
	}
	go(2 * KEPT);
	return true;
}

static uint64_t all_rounds(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < members; i++)
		sum += __atomic_load_n(&worker[i].rounds, __ATOMIC_RELAXED);
	return sum;
}

static void more(uint64_t rounds)
{
	uint64_t until = all_rounds() + rounds;

	while (all_rounds() < until)
		nap_us(200);
}

static void counts(void)
{
	struct worker sum = { .bad = 0 };

	for (int i = 0; i < members; i++) {
		const struct worker *one = &worker[i];

		sum.bad += __atomic_load_n(&one->bad, __ATOMIC_RELAXED);
		sum.mallocs += __atomic_load_n(&one->mallocs, __ATOMIC_RELAXED);
		sum.callocs += __atomic_load_n(&one->callocs, __ATOMIC_RELAXED);
		sum.reallocs += __atomic_load_n(&one->reallocs, __ATOMIC_RELAXED);
		sum.frees += __atomic_load_n(&one->frees, __ATOMIC_RELAXED);
	}
	say("%s %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64, sum.bad ? "bad" : "ok", sum.mallocs,
	    sum.callocs, sum.reallocs, sum.frees);
}

static void list_kept(void)
{
	int nr = 0;

	for (int i = 0; i < members; i++)
		for (int k = 0; k < KEPT; k++)
			if (worker[i].kept[k].at) {
				say("%p %zu", (void *)worker[i].kept[k].at, worker[i].kept[k].size);
				nr++;
			}
	say("end %d", nr);
}

static void verify(void)
{
	for (int i = 0; i < members; i++)
		for (int k = 0; k < KEPT; k++) {
			const struct block *block = &worker[i].kept[k];

			worker[i].bad += block->at && !canary_holds(block->at, block->size);
		}
}

/* Where other tools may put probes of their own: when both are seen, so is what was put in between. */
NOINLINE void mark_first(long n);
NOINLINE void mark_last(long n);

void mark_first(long n)
{
	KEEP(n);
}

void mark_last(long n)
{
	KEEP(n);
}

static bool obey(const char *line)
{
	const char *rest;

	if ((rest = after(line, "more"))) {
		more((uint64_t)atol(rest));
	} else if ((rest = after(line, "go"))) {
		go(atol(rest));
	} else if ((rest = after(line, "mark"))) {
		mark_first(atol(rest));
		mark_last(atol(rest));
	} else if (after(line, "load")) {
		load();
	} else if (after(line, "calm")) {
		calm();
	} else if (after(line, "verify")) {
		calm();
		verify();
	} else if (!after(line, "counts")) {
		return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	char *line;

	members = argc > 1 ? atoi(argv[1]) : 4;
	if (members < 1 || members > THREADS_MAX || !start_workers())
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "kept"))
			list_kept();
		else if (obey(line))
			counts();
		else
			say("bad command %s", line);
	}
	calm();
	return 0;
}
