/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that allocates on stacks of all kinds, each with a canary or a guard page below it.
 *
 *	alt SIZE N	N signals, whose handler runs on a stack with SIZE bytes beyond the kernel's frame, and keeps a
 *			block of 888: `ok BYTES` of the stack that were written to
 *	co mmap|malloc SIZE N	N rounds through 8 coroutines with stacks of SIZE bytes, each keeps a block of 666 a round
 *	tiny N		N threads at once, with stacks of PTHREAD_STACK_MIN, each keeps a block of 555
 *	born N		N threads that keep a block of 444 and wait; dead: they end
 *	deep N		a block of 333, kept, N calls deep
 *	go, halt	a coroutine switch all the time in a thread, allocating, until halt
 *	make N SIZE, pairs N, drop, verify, quit
 */
#include "hard.h"

#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <ucontext.h>

#define COROUTINES	8
#define THREADS_MAX	1024
#define FILL		0xa5

#ifndef AT_MINSIGSTKSZ
#define AT_MINSIGSTKSZ	51
#endif

static pthread_t thread[THREADS_MAX];
static int nr_threads;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int born, dying;
static ucontext_t home, coroutine[COROUTINES];
static volatile sig_atomic_t halting;
static int rounds;
static pthread_t switcher;
static volatile int switching;

static void on_usr1(int signal)
{
	(void)signal;
	if (!hold(888))
		_exit(95);
	pair(100);
}

/* Bytes from the low end that nobody has written to. */
static size_t untouched(const unsigned char *stack, size_t size)
{
	size_t i;

	for (i = 0; i < size && stack[i] == FILL; i++)
		;
	return i;
}

/* A stack whose low end is the end of a page that nobody may touch. */
static unsigned char *guarded(size_t size)
{
	size_t room = (size + 4095) / 4096 * 4096;
	unsigned char *map = mmap(NULL, room + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (map == MAP_FAILED || mprotect(map, 4096, PROT_NONE) != 0)
		_exit(94);
	memset(map + 4096, FILL, room);
	return map + 4096;
}

static void drop_guarded(unsigned char *stack, size_t size)
{
	munmap(stack - 4096, (size + 4095) / 4096 * 4096 + 4096);
}

static void alt(size_t size, int n)
{
	struct sigaction action = { .sa_handler = on_usr1, .sa_flags = SA_ONSTACK };
	unsigned char *stack = guarded(size += getauxval(AT_MINSIGSTKSZ));
	stack_t alternate = { .ss_sp = stack, .ss_size = size };
	int i;

	sigaction(SIGUSR1, &action, NULL);
	if (sigaltstack(&alternate, NULL) != 0) {
		say("skip sigaltstack: %s", strerror(errno));
		return;
	}
	for (i = 0; i < n; i++)
		raise(SIGUSR1);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
	signal(SIGUSR1, SIG_DFL);
	say("ok %zu", size - untouched(stack, size));
	drop_guarded(stack, size);
}

static void coroutine_main(int self)
{
	for (int i = 0; i < rounds || !halting; i++) {
		if (rounds > 0 && !hold(666))
			_exit(95);
		pair(200);
		swapcontext(&coroutine[self], self + 1 < COROUTINES ? &coroutine[self + 1] : &home);
	}
}

/* All coroutines in turn, n rounds; 0: until halt, without keeping blocks. */
static void run_coroutines(int by_malloc, size_t size, int n)
{
	unsigned char *stack[COROUTINES];
	int i, round;

	rounds = n;
	halting = n > 0;
	for (i = 0; i < COROUTINES; i++) {
		stack[i] = by_malloc ? malloc(size) : guarded(size);
		getcontext(&coroutine[i]);
		coroutine[i].uc_stack.ss_sp = stack[i];
		coroutine[i].uc_stack.ss_size = size;
		coroutine[i].uc_link = &home;
		makecontext(&coroutine[i], (void (*)(void))coroutine_main, 1, i);
	}
	for (round = 0; n > 0 ? round < n : !halting; round++) {
		swapcontext(&home, &coroutine[0]);
		switching = 1;
	}
	for (i = 0; i < COROUTINES; i++) {
		if (by_malloc)
			free(stack[i]);
		else
			drop_guarded(stack[i], size);
	}
}

static void *switch_all_the_time(void *arg)
{
	(void)arg;
	run_coroutines(0, 16384, 0);
	return NULL;
}

static void wait_for(const int *count, int n)
{
	pthread_mutex_lock(&mutex);
	while (*count != n)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
}

static void *be_born(void *arg)
{
	if (!hold((size_t)(uintptr_t)arg))
		_exit(95);
	pthread_mutex_lock(&mutex);
	born++;
	pthread_cond_broadcast(&changed);
	while (!dying)
		pthread_cond_wait(&changed, &mutex);
	pthread_mutex_unlock(&mutex);
	return NULL;
}

static void bury(void)
{
	pthread_mutex_lock(&mutex);
	dying = 1;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&mutex);
	while (nr_threads > 0)
		pthread_join(thread[--nr_threads], NULL);
	born = dying = 0;
}

static int bear(int n, size_t stack, size_t size)
{
	pthread_attr_t attr;
	int i;

	pthread_attr_init(&attr);
	if (stack > 0)
		pthread_attr_setstacksize(&attr, stack);
	for (i = 0; i < n && nr_threads < THREADS_MAX; i++, nr_threads++)
		if (pthread_create(&thread[nr_threads], &attr, be_born, (void *)size) != 0)
			break;
	pthread_attr_destroy(&attr);
	wait_for(&born, nr_threads);
	return i == n;
}

static NOINLINE int deep(int n)
{
	int got = n > 0 ? deep(n - 1) : hold(333);

	KEEP(n);
	return got;
}

static void obey(const char *line)
{
	char kind[16] = "";
	const char *rest;
	size_t size = 0;
	int n = 0;

	if (obey_blocks(line)) {
		return;
	} else if ((rest = after(line, "alt")) && sscanf(rest, "%zu %d", &size, &n) == 2) {
		alt(size, n);
	} else if ((rest = after(line, "co")) && sscanf(rest, "%15s %zu %d", kind, &size, &n) == 3) {
		run_coroutines(strcmp(kind, "malloc") == 0, size, n);
		say("ok");
	} else if ((rest = after(line, "tiny"))) {
		n = bear(atoi(rest), (size_t)sysconf(_SC_THREAD_STACK_MIN), 555);
		bury();
		say(n ? "ok" : "bad");
	} else if ((rest = after(line, "born"))) {
		say(bear(atoi(rest), 65536, 444) ? "ok" : "bad %d", nr_threads);
	} else if (after(line, "dead")) {
		bury();
		say("ok");
	} else if ((rest = after(line, "deep"))) {
		say(deep(atoi(rest)) ? "ok" : "bad");
	} else if (after(line, "go")) {
		halting = switching = 0;
		n = pthread_create(&switcher, NULL, switch_all_the_time, NULL);
		while (n == 0 && !switching)
			nap_us(100);
		say(n ? "bad" : "ok");
	} else if (after(line, "halt")) {
		halting = 1;
		pthread_join(switcher, NULL);
		say("ok");
	} else {
		say("bad command %s", line);
	}
}

int main(void)
{
	char *line;

	/* So that no handler has to look for malloc's address, which takes more stack than all else. */
	pair(1);
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	return bad_blocks() != 0;
}
