/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks of all sizes that the program knows, with any C library and any allocator: known [THREADS].
 *
 *	steady N	the main thread allocates N blocks, and frees half of them in random order
 *	plain N		the same, and none of them is aligned, or so small that what was there before stays in it
 *	go, pause	the threads allocate and free at random, each other's blocks among them; pause returns when each of
 *			them stands still
 *	more N		returns when each thread has done N operations more
 *	list		a line `ADDRESS SIZE` for each block that is held, then `end N`; SIZE is what was asked for
 *	lose N		N blocks of 777 bytes are lost, each with the only pointer to one of 1333
 *	figures		`ok HELD BYTES`
 *	verify		the canaries of all blocks
 *	quit
 */
#include <pthread.h>
#include <sys/mman.h>

#include "crew.h"
#include "target.h"

#define THREADS_MAX	16
#define SLOTS		1024
#define SHARED		64
#define STEADY_MAX	(1l << 24)
#define LOST		777
#define LOST_INDIRECTLY	1333

struct block {
	void *address;
	size_t size;
};

struct worker {
	uint64_t random, operations;
	struct block slot[SLOTS];
};

static struct worker worker[THREADS_MAX];
static struct { int lock; struct block block; } shared[SHARED];
static struct block *steady;
static long nr_steady;
static int bad;
static bool plain;
static void *volatile kept;

static size_t pick_size(uint64_t *random)
{
	uint64_t what = next_random(random) % 1000;

	if (what < 700)
		return what * 7 % 300;
	if (what < 900)
		return next_random(random) % 3000;
	if (what < 995)
		return next_random(random) % 40000;
	return next_random(random) % 500000;
}

static NOINLINE void allocate(struct block *block, uint64_t *random)
{
	size_t size = pick_size(random) + (plain ? 8 : 0), align = 16ul << next_random(random) % 9;
	void *p = NULL;

	switch (next_random(random) % 16) {
	case 0:
		if (plain)
			align = 16;
		if (posix_memalign(&p, align, size))
			bad++;
		break;
	case 1:
		p = calloc(1, size);
		break;
	case 2:
		p = realloc(malloc(size / 2), size + 1);
		size++;
		break;
	default:
		p = malloc(size);
	}
	KEEP(p);
	bad += !p;
	canary_fill(p, size);
	block->size = size;
	block->address = p;
}

static NOINLINE void release(struct block *block)
{
	bad += !canary_holds(block->address, block->size);
	free(block->address);
	block->address = NULL;
	KEEP(block);
}

/* Blocks are freed by other threads than they came from. */
static void swap_shared(struct worker *w, struct block *block)
{
	int i = (int)(next_random(&w->random) % SHARED);
	struct block other;

	if (__atomic_exchange_n(&shared[i].lock, 1, __ATOMIC_ACQUIRE))
		return;
	other = shared[i].block;
	shared[i].block = *block;
	*block = other;
	__atomic_store_n(&shared[i].lock, 0, __ATOMIC_RELEASE);
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (crew_wait()) {
		while (crew_works()) {
			struct block *block = &w->slot[next_random(&w->random) % SLOTS];

			if (next_random(&w->random) % 4 == 0)
				swap_shared(w, block);
			if (block->address)
				release(block);
			else
				allocate(block, &w->random);
			__atomic_store_n(&w->operations, w->operations + 1, __ATOMIC_RELAXED);
		}
	}
	return NULL;
}

static void more(uint64_t n)
{
	uint64_t until[THREADS_MAX];

	for (int i = 0; i < crew.members; i++)
		until[i] = __atomic_load_n(&worker[i].operations, __ATOMIC_RELAXED) + n;
	for (int i = 0; i < crew.members; i++)
		while (__atomic_load_n(&worker[i].operations, __ATOMIC_RELAXED) < until[i])
			nap_us(200);
}

static void make_steady(long n)
{
	static uint64_t random = 0x9e3779b97f4a7c15;

	for (long i = 0; i < n && nr_steady < STEADY_MAX; i++)
		allocate(&steady[nr_steady++], &random);
	for (long i = 0; i < n / 2; i++) {
		struct block *block = &steady[next_random(&random) % (uint64_t)nr_steady];

		if (block->address)
			release(block);
	}
}

static NOINLINE void *make_pair(void)
{
	void **p = malloc(LOST), *q = malloc(LOST_INDIRECTLY);

	memset(p, 0, LOST);
	memset(q, 0, LOST_INDIRECTLY);
	*p = q;
	KEEP(p);
	return p;
}

/* What is left in registers and on the stack is of the pair that is made last, which is kept. */
static void lose(long n)
{
	for (long i = 0; i < n; i++)
		make_pair();
	kept = make_pair();
}

static NOINLINE void wipe_stack(void)
{
	volatile char bytes[16384];

	memset((char *)bytes, 0, sizeof(bytes));
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

/* Call fn for each block that is held; it may be NULL. Returns how many there are. */
static long each_block(void (*fn)(const struct block *block), size_t *bytes_ret)
{
	size_t bytes = 0;
	long nr = 0;

	for (long i = 0; i < nr_steady + crew.members * SLOTS + SHARED; i++) {
		long j = i - nr_steady, k = j - crew.members * SLOTS;
		const struct block *block = j < 0 ? &steady[i] : k < 0 ? &worker[j / SLOTS].slot[j % SLOTS] :
									 &shared[k].block;

		if (!block->address)
			continue;
		nr++;
		bytes += block->size;
		if (fn)
			fn(block);
	}
	*bytes_ret = bytes;
	return nr;
}

static void print(const struct block *block)
{
	say("%p %zu", block->address, block->size);
}

static void verify(const struct block *block)
{
	bad += !canary_holds(block->address, block->size);
}

static void answer(const char *line)
{
	const char *rest;
	size_t bytes;
	long nr;

	if ((rest = after(line, "steady")) || (rest = after(line, "plain"))) {
		plain = line[0] == 'p';
		make_steady(atol(rest));
		say("ok");
	} else if (after(line, "go") || after(line, "pause")) {
		crew_set(line[0] == 'g');
		say("ok");
	} else if ((rest = after(line, "more"))) {
		more((uint64_t)atol(rest));
		say("ok");
	} else if ((rest = after(line, "lose"))) {
		lose(atol(rest));
		wipe_stack();
		say("ok");
	} else if (after(line, "list")) {
		nr = each_block(print, &bytes);
		say("end %ld", nr);
	} else if (after(line, "figures")) {
		nr = each_block(NULL, &bytes);
		say("ok %ld %zu", nr, bytes);
	} else if (after(line, "verify")) {
		nr = each_block(verify, &bytes);
		say(bad ? "bad %d" : "ok", bad);
	} else {
		say("bad command: %s", line);
	}
}

int main(int argc, char **argv)
{
	const char *line;

	crew.members = argc > 1 ? atoi(argv[1]) : 0;
	steady = mmap(NULL, STEADY_MAX * sizeof(*steady), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (steady == MAP_FAILED || crew.members > THREADS_MAX)
		return 1;
	for (int i = 0; i < crew.members; i++) {
		pthread_t thread;

		worker[i].random = 0x2545f4914f6cdd1dull * (uint64_t)(i + 1);
		if (pthread_create(&thread, NULL, work, &worker[i]))
			return 1;
	}
	crew_set(false);
	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		answer(line);
	crew_end();
	return 0;
}
