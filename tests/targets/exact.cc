/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that knows its own truth: which blocks it holds, of which size, from which thread and which function.
 *
 *	exact [-t THREADS] [-r] [-b] [-p] [-l] [-s] [-n]
 *
 * -r: the threads rest between, so that eight of them take about one processor; -b: they block all signals; -p: SIGPROF
 * at 1 kHz of processor time, to the threads; -l: whose handler takes 0.3 ms; -s: a SIGTRAP handler of its own, and the
 * threads execute int3 themselves now and then; -n: no pvalloc, which not every allocator replaces. Commands:
 *
 *	each		every function once, with the edge cases, in the main thread; all blocks are kept
 *	ops N		N random operations in the main thread
 *	go, pause	the threads allocate and free at random; pause returns when each of them stands still
 *	more N		(after go) returns when each thread has done N operations more
 *	list		a line `ADDRESS SIZE LWP FUNCTION TIME` for each block, then `end N`
 *	drop		free all blocks of all threads
 *	counts		operations so far: allocations, frees, free(NULL), failures, realloc calls
 *	verify		check the canaries of all blocks: `ok BLOCKS`
 *	signals		signals and own traps taken: `ok PROF TRAPS RAISED`
 *	quit		verify, drop, exit 0
 *
 * TIME is CLOCK_REALTIME in ns, before the call. FUNCTION is the probed entry that was called from outside the
 * allocator: libstdc++'s operators and strdup are callers of malloc. `aligned_alloc` and `memalign` are one address.
 */
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "crew.h"
#include "target.h"

#define THREADS_MAX	64
#define SLOTS		1024
#define SHARED		64
#define HUGE_SIZE	((size_t)1 << 62)
#define REST_EVERY	64	/* operations */
#define LINGER_NS	300000

struct block {
	void *address;
	size_t size;
	pid_t lwp;
	const char *function;
	int kind;		/* how it must be freed: an enum kind */
	uint64_t time;		/* before the call */
};

enum kind { BY_FREE, BY_DELETE, BY_DELETE_ARRAY, BY_DELETE_ALIGNED };

struct worker {
	pthread_t thread;
	pid_t lwp;
	uint64_t random;
	uint64_t operations, allocs, frees, null_frees, failed, reallocs, raised, bad;
	struct block slot[SLOTS];
};

static struct worker worker[THREADS_MAX + 1];	/* [0]: the main thread */
static struct { int lock; struct block block; } shared[SHARED];
static int threads = 0;
static bool resting, block_signals, sigprof, lingering, sigtrap, no_pvalloc;
static volatile uint64_t prof_signals, trap_signals;

static void *volatile huge_null;	/* keeps the compiler from knowing what a failing call returns */

static void on_prof(int signal)
{
	(void)signal;
	__atomic_add_fetch(&prof_signals, 1, __ATOMIC_RELAXED);
	if (lingering) {
		uint64_t end = clock_ns(CLOCK_MONOTONIC) + LINGER_NS;

		while (clock_ns(CLOCK_MONOTONIC) < end)
			;
	}
}

static void on_trap(int signal)
{
	(void)signal;
	__atomic_add_fetch(&trap_signals, 1, __ATOMIC_RELAXED);
}

static bool is_free(const struct block *block)
{
	return block->function == NULL;
}

static void hold(struct worker *w, struct block *block, void *address, size_t size, const char *function, int kind)
{
	block->address = address;
	block->size = size;
	block->lwp = w->lwp;
	block->function = function;
	block->kind = kind;
	w->allocs++;
	canary_fill(address, size);
}

/* The functions of the list, by number. */
#define FUNCTIONS	18

static NOINLINE void allocate(struct worker *w, struct block *block, int which, size_t size)
{
	static const size_t aligns[] = { 16, 32, 64, 256, 4096 };
	size_t align = aligns[next_random(&w->random) % 5];
	uint64_t before = clock_ns(CLOCK_REALTIME);
	const char *name = "malloc";
	int kind = BY_FREE;
	void *p = NULL;

	switch (which) {
	case 0: case 1: case 2:
		p = malloc(size);
		break;
	case 3:
		name = "calloc";
		size = size / 8 * 8;
		p = calloc(size / 8, 8);
		break;
	case 4:
		name = "realloc";
		p = realloc(huge_null, size);
		break;
	case 5:
		name = "reallocarray";
		size = size / 4 * 4;
		p = reallocarray(huge_null, size / 4, 4);
		break;
	case 6:
		name = "memalign";
		p = memalign(align, size);
		break;
	case 7:
		name = "aligned_alloc";
		p = aligned_alloc(align, size);
		break;
	case 8:
		name = "posix_memalign";
		if (posix_memalign(&p, align, size) != 0)
			p = NULL;
		break;
	case 9:
		name = "valloc";
		p = valloc(size);
		break;
	case 10:
		if (no_pvalloc)
			return;
		name = "pvalloc";
		p = pvalloc(size);
		break;
	case 11: {
		char text[40];

		size = size % 30;
		memset(text, 'x', size);
		text[size++] = '\0';
		p = strdup(text);
		break;
	}
	case 12:
		kind = BY_DELETE;
		p = operator new(size);
		break;
	case 13:
		kind = BY_DELETE_ARRAY;
		p = operator new[](size);
		break;
	case 14:
		kind = BY_DELETE;
		p = operator new(size, std::nothrow);
		break;
	case 15:
		kind = BY_DELETE_ARRAY;
		p = operator new[](size, std::nothrow);
		break;
	case 16:
		name = "aligned_alloc";
		kind = BY_DELETE_ALIGNED;
		size = (size + 63) / 64 * 64 + 64;
		p = operator new(size, std::align_val_t(64));
		break;
	default:
		p = malloc(0);
		size = 0;
		break;
	}
	KEEP(p);
	if (!p) {
		w->bad++;
		return;
	}
	block->time = before;
	hold(w, block, p, size, name, kind);
}

static void check(struct worker *w, const struct block *block)
{
	if (!canary_holds(block->address, block->size))
		w->bad++;
}

static NOINLINE void release(struct worker *w, struct block *block)
{
	check(w, block);
	block->function = NULL;
	w->frees++;
	switch (block->kind) {
	case BY_FREE:
		free(block->address);
		break;
	case BY_DELETE:
		operator delete(block->address);
		break;
	case BY_DELETE_ARRAY:
		operator delete[](block->address);
		break;
	default:
		operator delete(block->address, std::align_val_t(64));
		break;
	}
	KEEP(block);
}

/* Grow, shrink or move; what was in the block must still be there. */
static NOINLINE void resize(struct worker *w, struct block *block, size_t size, bool array)
{
	void *old = block->address;
	size_t old_size = block->size, common = old_size < size ? old_size : size;
	void *p;

	if (size == 0 || block->kind != BY_FREE)
		return;
	/* Edges are only where they were, so compare what both sizes hold of the old pattern. */
	w->reallocs++;
	block->time = clock_ns(CLOCK_REALTIME);
	p = array ? reallocarray(old, size, 1) : realloc(old, size);
	KEEP(p);
	if (!p) {
		w->bad++;
		return;
	}
	if (!canary_holds_as(p, old, old_size, common))
		w->bad++;
	w->frees++;
	hold(w, block, p, size, array ? "reallocarray" : "realloc", BY_FREE);
}

/* Calls that must fail and change nothing. */
static NOINLINE void fail(struct worker *w, struct block *block)
{
	void *p;

	if (!is_free(block) && block->kind == BY_FREE) {
		p = realloc(block->address, HUGE_SIZE);
		KEEP(p);
		w->bad += p != NULL;
		w->failed++;
		check(w, block);
	}
	p = malloc((size_t)(uintptr_t)huge_null + HUGE_SIZE);
	KEEP(p);
	w->bad += p != NULL;
	p = calloc((size_t)(uintptr_t)huge_null + HUGE_SIZE, 2);
	KEEP(p);
	w->bad += p != NULL;
	w->failed += 2;
}

static NOINLINE void free_null(struct worker *w)
{
	free(huge_null);
	w->null_frees++;
	KEEP(w);
}

/* Swap a block with the shared ones, so that blocks are freed by other threads than they came from. */
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

static size_t random_size(struct worker *w)
{
	uint64_t r = next_random(&w->random);

	if (r % 512 == 0)
		return 140000 + r / 512 % 100000;	/* beyond the threshold of mmap */
	if (r % 16 == 0)
		return r / 16 % 20000 + 1;
	return r / 16 % 500 + 1;
}

static void operate(struct worker *w)
{
	struct block *block = &w->slot[next_random(&w->random) % SLOTS];
	unsigned dice = (unsigned)(next_random(&w->random) % 100);

	if (dice < 10)
		swap_shared(w, block);
	if (is_free(block)) {
		allocate(w, block, (int)(next_random(&w->random) % FUNCTIONS), random_size(w));
	} else if (dice < 60) {
		release(w, block);
	} else if (dice < 90) {
		resize(w, block, random_size(w), dice < 65);
	} else if (dice < 92) {
		fail(w, block);
	} else if (dice < 94) {
		free_null(w);
	}
	if (sigtrap && dice == 99) {
		w->raised++;
		__asm__ volatile("int3" : : : "memory");
	}
}

/* While it stands still a thread blocks SIGPROF, if there is any: the last one's handler may come late, and run then. */
static bool next_work(void)
{
	sigset_t set, was;
	bool on;

	sigemptyset(&set);
	if (sigprof)
		sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, &was);
	on = crew_wait();
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	return on;
}

static void *work(void *arg)
{
	struct worker *w = (struct worker *)arg;
	sigset_t all;

	if (block_signals) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, NULL);
	}
	w->lwp = my_lwp();
	while (next_work()) {
		while (crew_works()) {
			operate(w);
			__atomic_store_n(&w->operations, w->operations + 1, __ATOMIC_RELAXED);
			if (resting && w->operations % REST_EVERY == 0)
				nap_us(100);
		}
	}
	return NULL;
}

/* Wait until each thread has gone on by n. */
static void more(uint64_t n)
{
	uint64_t until[THREADS_MAX + 1];
	int i;

	for (i = 1; i <= threads; i++)
		until[i] = __atomic_load_n(&worker[i].operations, __ATOMIC_RELAXED) + n;
	for (i = 1; i <= threads; i++)
		while (__atomic_load_n(&worker[i].operations, __ATOMIC_RELAXED) < until[i])
			nap_us(500);
}

/* Every function once, and the edges of realloc and free. */
static void each(struct worker *w)
{
	int i, slot = 0;

	for (i = 0; i < FUNCTIONS; i++, slot++)
		if (is_free(&w->slot[slot]))
			allocate(w, &w->slot[slot], i, (size_t)(100 + i));
	for (i = 0; i < 6; i++, slot++) {
		if (!is_free(&w->slot[slot]))
			continue;
		allocate(w, &w->slot[slot], 0, 1000);
		if (i == 0)
			resize(w, &w->slot[slot], 1100, false);		/* grow */
		else if (i == 1)
			resize(w, &w->slot[slot], 90, false);		/* shrink */
		else if (i == 2)
			resize(w, &w->slot[slot], 300000, false);	/* move */
		else if (i == 3)
			resize(w, &w->slot[slot], 5000, true);
		else if (i == 4)
			fail(w, &w->slot[slot]);
	}
	/* The last one: to 0, which frees it. */
	slot--;
	if (!is_free(&w->slot[slot])) {
		void *volatile zero = NULL;
		void *p = w->slot[slot].address;

		zero = realloc(p, (size_t)(uintptr_t)huge_null);
		w->bad += zero != NULL;
		w->slot[slot].function = NULL;
		w->frees++;
	}
	free_null(w);
}

/* Call fn for every block held. */
static void each_block(void (*fn)(struct worker *w, struct block *block))
{
	int i, j;

	for (i = 0; i <= threads; i++)
		for (j = 0; j < SLOTS; j++)
			if (!is_free(&worker[i].slot[j]))
				fn(&worker[i], &worker[i].slot[j]);
	for (i = 0; i < SHARED; i++)
		if (!is_free(&shared[i].block))
			fn(&worker[0], &shared[i].block);
}

static uint64_t listed;

static void list_one(struct worker *w, struct block *block)
{
	(void)w;
	listed++;
	say("%p %zu %d %s %llu", block->address, block->size, (int)block->lwp, block->function,
	    (unsigned long long)block->time);
}

static void verify_one(struct worker *w, struct block *block)
{
	listed++;
	check(w, block);
}

static uint64_t verify(void)
{
	uint64_t bad = 0;
	int i;

	listed = 0;
	each_block(verify_one);
	for (i = 0; i <= threads; i++)
		bad += worker[i].bad;
	return bad;
}

static void say_counts(void)
{
	uint64_t allocs = 0, frees = 0, nulls = 0, failed = 0, reallocs = 0;
	int i;

	for (i = 0; i <= threads; i++) {
		allocs += worker[i].allocs;
		frees += worker[i].frees;
		nulls += worker[i].null_frees;
		failed += worker[i].failed;
		reallocs += worker[i].reallocs;
	}
	say("ok %llu %llu %llu %llu %llu", (unsigned long long)allocs, (unsigned long long)frees,
	    (unsigned long long)nulls, (unsigned long long)failed, (unsigned long long)reallocs);
}

static uint64_t raised(void)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i <= threads; i++)
		sum += worker[i].raised;
	return sum;
}

static void obey(const char *line)
{
	const char *rest;
	long n;

	if (after(line, "each")) {
		each(&worker[0]);
		say("ok");
	} else if ((rest = after(line, "ops"))) {
		for (n = atol(rest); n > 0; n--)
			operate(&worker[0]);
		say("ok");
	} else if (after(line, "go")) {
		crew_set(true);
		say("ok");
	} else if (after(line, "pause")) {
		crew_set(false);
		say("ok");
	} else if ((rest = after(line, "more"))) {
		more((uint64_t)atol(rest));
		say("ok");
	} else if (after(line, "list")) {
		listed = 0;
		each_block(list_one);
		say("end %llu", (unsigned long long)listed);
	} else if (after(line, "drop")) {
		each_block(release);
		say("ok");
	} else if (after(line, "counts")) {
		say_counts();
	} else if (after(line, "verify")) {
		uint64_t bad = verify();

		say("%s %llu", bad ? "bad" : "ok", (unsigned long long)(bad ? bad : listed));
	} else if (after(line, "signals")) {
		say("ok %llu %llu %llu", (unsigned long long)prof_signals, (unsigned long long)trap_signals,
		    (unsigned long long)raised());
	} else {
		say("bad command %s", line);
	}
}

static void set_up_signals(void)
{
	static const struct itimerval kilohertz = { { 0, 1000 }, { 0, 1000 } };
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_flags = SA_RESTART;
	if (sigtrap) {
		action.sa_handler = on_trap;
		sigaction(SIGTRAP, &action, NULL);
	}
	if (sigprof) {
		action.sa_handler = on_prof;
		sigaction(SIGPROF, &action, NULL);
		setitimer(ITIMER_PROF, &kilohertz, NULL);
	}
}

/* The kernel would give most of them to the main thread, which waits. */
static void leave_sigprof_to_threads(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGPROF);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

int main(int argc, char **argv)
{
	char *line;
	int i, opt;

	while ((opt = getopt(argc, argv, "t:rbplsn")) != -1) {
		if (opt == 't' && atoi(optarg) <= THREADS_MAX)
			threads = atoi(optarg);
		else if (opt == 'r')
			resting = true;
		else if (opt == 'b')
			block_signals = true;
		else if (opt == 'p')
			sigprof = true;
		else if (opt == 'l')
			lingering = true;
		else if (opt == 's')
			sigtrap = true;
		else if (opt == 'n')
			no_pvalloc = true;
		else
			return 2;
	}
	set_up_signals();
	for (i = 0; i <= threads; i++)
		worker[i].random = 88172645463325252ull + (uint64_t)i * 7919;
	worker[0].lwp = my_lwp();
	crew.members = threads;
	for (i = 1; i <= threads; i++)
		if (pthread_create(&worker[i].thread, NULL, work, &worker[i]) != 0)
			return 1;
	if (threads > 0)
		leave_sigprof_to_threads();
	crew_set(false);
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	crew_end();
	for (i = 1; i <= threads; i++)
		pthread_join(worker[i].thread, NULL);
	if (verify() != 0 || trap_signals != raised())
		return 1;
	each_block(release);
	return verify() != 0;
}
