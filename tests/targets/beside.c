/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Cases of docs/cases.md whose memory is not malloc's, one an order. Each has the defect that its comment names.
 *
 *	tiles N		mapped and kept in part: N tiles are decoded, each in a buffer that is mapped for it
 *	answers N	faults again and again: N requests are answered, each in a buffer that is mapped for it
 *	jobs N		threads never joined: N jobs are done, each in a thread of its own
 *	verify		checks all of it
 *	quit
 *
 * Each is answered by `ok`.
 */
#include "target.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <sys/mman.h>

#define PAGE		4096u
#define PIXELS		(128u << 10)
#define ANSWER		(1u << 20)
#define SETTINGS	100000u

static unsigned char *settings;		/* a block: most programs have a heap */
static unsigned long sum, expected;
static sem_t done;

static NOINLINE unsigned char *map_buffer(size_t size)
{
	unsigned char *buffer = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (buffer == MAP_FAILED)
		_exit(98);
	return buffer;
}

/* The defect: the pixels are unmapped, and the page with the head of the tile, which is before them, is not. */
static NOINLINE void decode_tile(unsigned nr)
{
	unsigned char *tile = map_buffer(PAGE + PIXELS), *pixels = tile + PAGE;

	tile[0] = (unsigned char)nr;
	memset(pixels, tile[0], PIXELS);
	sum += pixels[PIXELS - 1];
	expected += (unsigned char)nr;
	munmap(pixels, PIXELS);
}

static NOINLINE void write_answer(unsigned char *buffer, unsigned nr)
{
	memset(buffer, (int)nr, ANSWER);
	sum += buffer[ANSWER - 1];
	expected += (unsigned char)nr;
}

/* The defect: the buffer goes with each answer, and the kernel has to clear all of its pages for the next one. */
static NOINLINE void answer(unsigned nr)
{
	unsigned char *buffer = map_buffer(ANSWER);

	/* Each page is a fault, whatever the machine is set to. */
	madvise(buffer, ANSWER, MADV_NOHUGEPAGE);
	write_answer(buffer, nr);
	munmap(buffer, ANSWER);
}

static void *do_job(void *arg)
{
	__atomic_fetch_add(&sum, (unsigned char)(uintptr_t)arg, __ATOMIC_RELAXED);
	sem_post(&done);
	return NULL;
}

/* The defect: the job is waited for, but its thread is neither joined nor detached. */
static NOINLINE void start_job(unsigned nr)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, do_job, (void *)(uintptr_t)nr))
		_exit(98);
	expected += (unsigned char)nr;
	while (sem_wait(&done))
		continue;
}

/* With the first thread of a process libc begins to catch a signal, which would be no change that mdbg made. */
static void first_thread(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, do_job, NULL) || pthread_join(thread, NULL) || sem_wait(&done))
		_exit(98);
}

static bool obey(const char *line)
{
	static const struct {
		const char *order;
		void (*one)(unsigned nr);
	} orders[] = { { "tiles", decode_tile }, { "answers", answer }, { "jobs", start_job } };

	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const char *rest = after(line, orders[i].order);

		for (unsigned nr = 0; rest && nr < (unsigned)atoi(rest); nr++)
			orders[i].one(nr);
		if (rest)
			return true;
	}
	return after(line, "verify") && sum == expected && canary_holds(settings, SETTINGS);
}

int main(void)
{
	const char *line;

	settings = malloc(SETTINGS);
	if (!settings || sem_init(&done, 0, 0))
		_exit(98);
	canary_fill(settings, SETTINGS);
	first_thread();
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		say(obey(line) ? "ok" : "bad %s", line);
	return 0;
}
