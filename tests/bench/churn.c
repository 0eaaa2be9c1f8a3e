/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The bench program: malloc and free in pairs, twelve functions deep, by one path or by 256 at random, in a window of live
 * blocks for each thread.
 *
 *	churn [-t THREADS] [-w BLOCKS] [-m SMALLEST] [-s LARGEST] [-d DEPTH] [-c ROUNDS]
 *		1 thread, a window of 1024 blocks in all threads together, sizes from 16 to 512, twelve functions (with -d: as
 *		many as that, by one path); -c: between two pairs a thread computes for so many rounds
 *
 *	fill		allocate what the windows hold (once; before a run): `ok NS`, for a malloc
 *	sparse		the same with blocks of 32 bytes, each in a page that holds nothing else; by one thread
 *	drain		free all that the windows hold, in random order (then fill): `ok NS`, for a free
 *	run MS PATHS	all threads work that long, by one path or by 256: `ok MEDIAN MEAN CPU PAIRS`, ns for a pair
 *	pairs N PATHS	the same, but each thread does N pairs, rounded up to whole batches
 *	spin MS		all threads compute and allocate nothing: `ok NS SIGNALS`, ns a round of the loop (median of
 *			SPIN_BATCH rounds), signals that came
 *	signals HZ	a signal that often from now on (0: none)
 *	load FILE	dlopen
 *	verify, quit
 *
 * A thread takes the time of every BATCH pairs. The median of these is what a pair costs while the machine does nothing
 * else; the mean has all that came between; CPU is the threads' own processor time. One thread is the main thread alone,
 * as in a program without threads.
 */
#include "target.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define BATCH		256
#define SPIN_BATCH	1000000		/* long enough for a signal or two at 1 kHz */
#define MAX_BATCHES	65536
#define MAX_THREADS	64
#define PAGE		4096
#define LONG_MS		3600000

struct worker {
	unsigned char **window;
	uint64_t slots, rnd, bad, pairs, ns, cpu;
	uint32_t nr_batches;
	uint32_t batch[MAX_BATCHES];	/* ns each */
} __attribute__((aligned(128)));

static struct worker worker[MAX_THREADS];
static __thread struct worker *me;
static unsigned nr_threads = 1;
static uint64_t window_blocks = 1024, smallest = 16, largest = 512;
static unsigned depth, rounds;
static uint64_t signals_seen;

/* What all threads do together; the main thread takes part. */
static struct {
	pthread_barrier_t begin, end;
	void (*work)(unsigned arg);
	unsigned arg;
	uint64_t until, pairs;
} job;

/* A number below n, from the high bits of a random one. */
static inline uint64_t below(uint32_t random, uint64_t n)
{
	return (random * n) >> 32;
}

static NOINLINE uint64_t leaf(uint64_t arg)
{
	uint64_t dice = next_random(&me->rnd);
	unsigned char **slot = &me->window[below((uint32_t)dice, me->slots)];
	unsigned char *p = *slot;

	me->bad += *p != canary_byte(p, 0);
	free(p);
	p = malloc(smallest + below((uint32_t)(dice >> 32), largest - smallest + 1));
	KEEP(p);
	*p = canary_byte(p, 0);
	*slot = p;
	return arg;
}

#include "paths.h"

static NOINLINE uint64_t deeper(unsigned n)
{
	uint64_t ret = path(n, 1);

	KEEP(ret);
	return ret;
}

static NOINLINE uint64_t deep(unsigned n)
{
	uint64_t ret = deeper(n);

	KEEP(ret);
	return ret;
}

/* n functions and the leaf. */
static NOINLINE uint64_t down(unsigned n)
{
	uint64_t ret = n > 0 ? down(n - 1) : leaf(0);

	KEEP(ret);
	return ret + 1;
}

static NOINLINE void pairs(unsigned n, unsigned paths)
{
	uint64_t sum = 0;

	for (; n > 0; n--) {
		if (depth)
			sum += down(depth - 2);
		else
			sum += deep(paths > 1 ? (unsigned)(next_random(&me->rnd) >> 32) % PATHS : 0x5a);
		for (unsigned i = 0; i < rounds; i++)
			sum += next_random(&me->rnd);
	}
	KEEP(sum);
}

static uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void churn(unsigned paths)
{
	uint64_t start = now_ns(), now = start, cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);

	me->pairs = me->nr_batches = 0;
	while (now < job.until && me->pairs < job.pairs) {
		uint64_t before = now;

		pairs(BATCH, paths);
		now = now_ns();
		me->pairs += BATCH;
		if (me->nr_batches < MAX_BATCHES)
			me->batch[me->nr_batches++] = (uint32_t)(now - before);
	}
	me->ns = now - start;
	me->cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
}

static void fill(unsigned unused)
{
	uint64_t start = now_ns();

	(void)unused;
	for (uint64_t i = 0; i < me->slots; i++) {
		uint32_t random = (uint32_t)next_random(&me->rnd);
		unsigned char *p = malloc(smallest + below(random, largest - smallest + 1));

		*p = canary_byte(p, 0);
		me->window[i] = p;
	}
	me->ns = now_ns() - start;
}

/*
 * What else a page has room for is allocated too, and freed at the end. (A chunk of glibc's is 8
 * bytes larger than its block, in units of 16.)
 */
static void sparse(unsigned unused)
{
	void **fillers = NULL;

	(void)unused;
	for (uint64_t i = 0; i < me->slots; i++) {
		unsigned char *p = malloc(32);
		void **filler = malloc(PAGE - 48 - 8);

		*p = canary_byte(p, 0);
		me->window[i] = p;
		*filler = fillers;
		fillers = filler;
	}
	while (fillers) {
		void **next = *fillers;

		free(fillers);
		fillers = next;
	}
}

static void drain(unsigned unused)
{
	uint64_t start;

	(void)unused;
	for (uint64_t i = me->slots - 1; i > 0; i--) {
		uint64_t other = below((uint32_t)next_random(&me->rnd), i + 1);
		unsigned char *p = me->window[i];

		me->window[i] = me->window[other];
		me->window[other] = p;
	}
	start = now_ns();
	for (uint64_t i = 0; i < me->slots; i++) {
		unsigned char *p = me->window[i];

		me->bad += *p != canary_byte(p, 0);
		free(p);
	}
	me->ns = now_ns() - start;
}

static void compute(unsigned unused)
{
	uint64_t now = now_ns(), state = 1;

	(void)unused;
	me->nr_batches = 0;
	while (now < job.until && me->nr_batches < MAX_BATCHES) {
		uint64_t before = now;

		for (int i = 0; i < SPIN_BATCH; i++)
			next_random(&state);
		KEEP(state);
		now = now_ns();
		me->batch[me->nr_batches++] = (uint32_t)(now - before);
	}
}

static void *worker_main(void *arg)
{
	me = arg;
	for (;;) {
		pthread_barrier_wait(&job.begin);
		job.work(job.arg);
		pthread_barrier_wait(&job.end);
	}
	return NULL;
}

static void together(void (*work)(unsigned arg), unsigned arg, long ms)
{
	job.work = work;
	job.arg = arg;
	job.until = now_ns() + (uint64_t)ms * 1000000;
	if (nr_threads > 1)
		pthread_barrier_wait(&job.begin);
	work(arg);
	if (nr_threads > 1)
		pthread_barrier_wait(&job.end);
}

/* Sorts in place; qsort would allocate, and be seen. */
static double median(uint32_t *value, uint32_t nr)
{
	for (uint32_t gap = nr / 2; gap > 0; gap /= 2)
		for (uint32_t i = gap; i < nr; i++) {
			uint32_t v = value[i], j = i;

			for (; j >= gap && value[j - gap] > v; j -= gap)
				value[j] = value[j - gap];
			value[j] = v;
		}
	return nr > 0 ? value[nr / 2] : 0;
}

static void run(long ms, uint64_t most, const char *rest)
{
	const char *paths = strchr(rest, ' ');
	double middle = 0, mean = 0;
	uint64_t all = 0, cpu = 0;

	job.pairs = most;
	together(churn, paths ? (unsigned)atoi(paths) : 1, ms);
	for (unsigned i = 0; i < nr_threads; i++) {
		middle += median(worker[i].batch, worker[i].nr_batches) / BATCH / nr_threads;
		mean += (double)worker[i].ns / (double)worker[i].pairs / nr_threads;
		all += worker[i].pairs;
		cpu += worker[i].cpu;
	}
	say("ok %.3f %.3f %.3f %lu", middle, mean, (double)cpu / (double)all, (unsigned long)all);
}

/* Something that is done to each slot of the windows once. */
static void once(void (*work)(unsigned unused))
{
	double ns = 0;

	together(work, 0, 0);
	for (unsigned i = 0; i < nr_threads; i++)
		ns += (double)worker[i].ns / (double)worker[i].slots / nr_threads;
	say("ok %.3f", ns);
}

static void spin(long ms)
{
	uint64_t before = signals_seen;
	double middle = 0;

	together(compute, 0, ms);
	for (unsigned i = 0; i < nr_threads; i++)
		middle += median(worker[i].batch, worker[i].nr_batches) / SPIN_BATCH / nr_threads;
	say("ok %.5f %lu", middle, (unsigned long)(signals_seen - before));
}

static void on_signal(int sig)
{
	(void)sig;
	__atomic_fetch_add(&signals_seen, 1, __ATOMIC_RELAXED);
}

static int send_signals(long hz)
{
	static timer_t timer;
	static int made;
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec every = { 0 };

	sigaction(SIGUSR1, &action, NULL);
	if (!made && timer_create(CLOCK_MONOTONIC, &event, &timer))
		return -1;
	made = 1;
	every.it_interval.tv_nsec = every.it_value.tv_nsec = hz > 0 ? 1000000000 / hz : 0;
	return timer_settime(timer, 0, &every, NULL);
}

static void begin(void)
{
	pthread_t thread;

	pthread_barrier_init(&job.begin, NULL, nr_threads);
	pthread_barrier_init(&job.end, NULL, nr_threads);
	for (unsigned i = 0; i < nr_threads; i++) {
		struct worker *w = &worker[i];

		w->slots = window_blocks / nr_threads;
		w->rnd = 88172645463325252ull + i * 1000003;
		w->window = mmap(NULL, w->slots * sizeof(*w->window), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (w->slots == 0 || w->window == MAP_FAILED) {
			fprintf(stderr, "churn: no window\n");
			exit(2);
		}
		if (i > 0 && pthread_create(&thread, NULL, worker_main, w))
			exit(2);
	}
	me = worker;
}

static int options(int argc, char **argv)
{
	int opt;

	while ((opt = getopt(argc, argv, "t:w:m:s:d:c:")) != -1) {
		switch (opt) {
		case 't':
			nr_threads = (unsigned)atoi(optarg);
			break;
		case 'w':
			window_blocks = (uint64_t)atoll(optarg);
			break;
		case 'm':
			smallest = (uint64_t)atoll(optarg);
			break;
		case 's':
			largest = (uint64_t)atoll(optarg);
			break;
		case 'd':
			depth = (unsigned)atoi(optarg);
			break;
		case 'c':
			rounds = (unsigned)atoi(optarg);
			break;
		default:
			return -1;
		}
	}
	if (nr_threads < 1 || nr_threads > MAX_THREADS || smallest < 1 || largest < smallest)
		return -1;
	return depth == 1 ? -1 : 0;
}

static void verify(void)
{
	uint64_t bad = 0;

	for (unsigned i = 0; i < nr_threads; i++)
		bad += worker[i].bad;
	say("%s", bad ? "bad" : "ok");
}

int main(int argc, char **argv)
{
	const char *rest;
	char *line;

	if (options(argc, argv))
		return 2;
	begin();
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if (after(line, "fill")) {
			once(fill);
		} else if (after(line, "sparse")) {
			together(sparse, 0, 0);
			say("ok");
		} else if (after(line, "drain")) {
			once(drain);
		} else if ((rest = after(line, "run"))) {
			run(atol(rest), UINT64_MAX, rest);
		} else if ((rest = after(line, "pairs"))) {
			run(LONG_MS, strtoull(rest, NULL, 10), rest);
		} else if ((rest = after(line, "spin"))) {
			spin(atol(rest));
		} else if ((rest = after(line, "signals"))) {
			say("%s", send_signals(atol(rest)) ? "bad" : "ok");
		} else if ((rest = after(line, "load"))) {
			say("%s", dlopen(rest, RTLD_NOW) ? "ok" : "bad");
		} else if (after(line, "verify")) {
			verify();
		} else {
			say("bad command %s", line);
		}
	}
	return 0;
}
