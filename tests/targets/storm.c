/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target whose threads come and go, and which ends in every way.
 *
 *	storm N		N threads that create and join short-lived threads all the time, which allocate
 *	more N		returns when N threads more have come and gone
 *	calm		ends the storm: `ok THREADS_MADE`
 *	idle N		N more threads, which wait for ever
 *	gone		the main thread ends (pthread_exit); another one goes on to obey
 *	alloc N, list	N more blocks of 333 bytes, kept; `ADDRESS SIZE`, then `end N`
 *	big N		N MB more of memory, which take their time to go at the end
 *	exit N, signal N, segv, abort	ends so (segv reads a bad address with other threads still at work)
 *	verify, quit
 */
#include "target.h"

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#define STORMS_MAX	64
#define KEPT_MAX	20000

static pthread_t storm[STORMS_MAX];
static int storms;
static volatile bool calm;
static unsigned long made, bad, idle;
static void *kept[KEPT_MAX];
static int nr_kept;
static volatile int *volatile bad_address;

static void *brief(void *arg)
{
	size_t size = 16 + (size_t)(uintptr_t)arg % 3000;
	void *p = malloc(size), *q = malloc(size / 2 + 1);

	canary_fill(p, size);
	canary_fill(q, size / 2 + 1);
	if (!canary_holds(p, size) || !canary_holds(q, size / 2 + 1))
		__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
	free(p);
	free(q);
	return NULL;
}

static void *storm_work(void *arg)
{
	uint64_t random = 0x9876543ull + (uint64_t)(uintptr_t)arg;

	while (!calm) {
		pthread_t thread[4];
		int i, n = 0;

		for (i = 0; i < 4; i++)
			if (pthread_create(&thread[n], NULL, brief, (void *)(next_random(&random) >> 8)) == 0)
				n++;
		for (i = 0; i < n; i++)
			pthread_join(thread[i], NULL);
		__atomic_add_fetch(&made, (unsigned long)n, __ATOMIC_RELAXED);
	}
	return NULL;
}

static bool start_storm(long n)
{
	calm = false;
	for (storms = 0; storms < n && storms < STORMS_MAX; storms++)
		if (pthread_create(&storm[storms], NULL, storm_work, (void *)(long)(storms + 1)) != 0)
			return false;
	return true;
}

static void end_storm(void)
{
	calm = true;
	while (storms > 0)
		pthread_join(storm[--storms], NULL);
}

static void more(unsigned long n)
{
	unsigned long until = __atomic_load_n(&made, __ATOMIC_RELAXED) + n;

	while (__atomic_load_n(&made, __ATOMIC_RELAXED) < until)
		nap_us(500);
}

static void *idle_work(void *arg)
{
	(void)arg;
	__atomic_add_fetch(&idle, 1, __ATOMIC_SEQ_CST);
	for (;;)
		pause();
	return NULL;
}

static bool start_idle(long n)
{
	unsigned long want = idle + (unsigned long)n;
	pthread_attr_t attr;
	pthread_t thread;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 * 1024);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (; n > 0; n--)
		if (pthread_create(&thread, &attr, idle_work, NULL) != 0)
			return false;
	pthread_attr_destroy(&attr);
	/* A thread that is not up yet has all signals blocked. */
	while (__atomic_load_n(&idle, __ATOMIC_SEQ_CST) < want)
		usleep(1000);
	return true;
}

static void alloc(long n)
{
	for (; n > 0 && nr_kept < KEPT_MAX; n--) {
		kept[nr_kept] = malloc(333);
		canary_fill(kept[nr_kept++], 333);
	}
}

static bool big(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		return false;
	memset(p, 1, bytes);
	return true;
}

static bool verify(void)
{
	int i;

	for (i = 0; i < nr_kept; i++)
		if (!canary_holds(kept[i], 333))
			return false;
	return bad == 0;
}

static void list(void)
{
	int i;

	for (i = 0; i < nr_kept; i++)
		say("%p 333", kept[i]);
	say("end %d", nr_kept);
}

static void end_by(const char *line)
{
	const char *rest;

	if ((rest = after(line, "exit")))
		exit(atoi(rest));
	else if ((rest = after(line, "signal")))
		kill(getpid(), atoi(rest));
	else if (after(line, "abort"))
		abort();
	else if (after(line, "segv"))
		*bad_address = 1;
	else
		say("bad command %s", line);
}

static void *obey_all(void *arg)
{
	const char *rest;
	char *line;

	while ((line = hear()) && !after(line, "quit")) {
		pthread_t thread;

		if ((rest = after(line, "storm"))) {
			say("%s", start_storm(atol(rest)) ? "ok" : "bad");
		} else if ((rest = after(line, "more"))) {
			more((unsigned long)atol(rest));
			say("ok");
		} else if (after(line, "calm")) {
			end_storm();
			say("ok %lu", made);
		} else if ((rest = after(line, "idle"))) {
			say("%s", start_idle(atol(rest)) ? "ok" : "bad");
		} else if ((rest = after(line, "alloc"))) {
			alloc(atol(rest));
			say("ok %d", nr_kept);
		} else if ((rest = after(line, "big"))) {
			say("%s", big((size_t)atol(rest) << 20) ? "ok" : "bad");
		} else if (after(line, "list")) {
			list();
		} else if (after(line, "verify")) {
			say("%s", verify() ? "ok" : "bad");
		} else if (after(line, "gone") && !arg) {
			if (pthread_create(&thread, NULL, obey_all, (void *)1) != 0)
				say("bad");
			else
				pthread_exit(NULL);
		} else {
			end_by(line);
		}
	}
	end_storm();
	exit(verify() ? 0 : 1);
}

int main(void)
{
	static const struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	alloc(100);
	/* The first thread makes libc install its own signal handlers: have that done before anybody looks. */
	start_storm(1);
	end_storm();
	say_ready();
	obey_all(NULL);
	return 0;
}
