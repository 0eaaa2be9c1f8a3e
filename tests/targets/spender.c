/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that makes a log grow as fast as memory is:
 *
 *	hold N		N MB of memory, touched
 *	ways N		N blocks of 24 bytes, each by a way of its own through the code
 *	far N		N blocks, each megabytes from the one before
 *	threads N	N threads that live at once, each with a block, and end
 *	verify, quit
 */

#include <pthread.h>
#include <sys/mman.h>

#include "target.h"

#define DEPTH	28

static unsigned long nr, bad;
static void *last;

static NOINLINE void even(unsigned path, int depth);

static void *block(size_t size, unsigned path)
{
	unsigned *made = malloc(size);

	if (!made) {
		bad++;
		return NULL;
	}
	*made = path;
	last = made;
	nr++;
	return made;
}

static NOINLINE void odd(unsigned path, int depth)
{
	if (!depth)
		block(24, path);
	else if (path & 1)
		odd(path >> 1, depth - 1);
	else
		even(path >> 1, depth - 1);
	KEEP(depth);
}

static NOINLINE void even(unsigned path, int depth)
{
	if (!depth)
		block(24, path);
	else if (path & 1)
		odd(path >> 1, depth - 1);
	else
		even(path >> 1, depth - 1);
	KEEP(depth);
}

/* Malloc maps each of these for itself; only its first page is touched. */
static void take_far(unsigned long count)
{
	for (unsigned i = 0; i < count; i++)
		block(3 << 20, i);
}

static pthread_barrier_t barrier;

static void *allocate_and_wait(void *arg)
{
	block(40, 1);
	pthread_barrier_wait(&barrier);
	return arg;
}

static void run_threads(unsigned long count)
{
	pthread_attr_t attr;
	pthread_t *thread = mmap(NULL, count * sizeof(*thread), PROT_READ | PROT_WRITE,
				 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 64 << 10);
	pthread_barrier_init(&barrier, NULL, (unsigned)count);
	for (unsigned long i = 0; i < count; i++)
		bad += pthread_create(&thread[i], &attr, allocate_and_wait, NULL) != 0;
	for (unsigned long i = 0; i < count; i++)
		pthread_join(thread[i], NULL);
}

#define ALIGN	(64ul << 20)

/* Where a heap of glibc's might begin. */
static void hold(unsigned long megabytes)
{
	unsigned long len = megabytes << 20;
	char *room = mmap(NULL, len + ALIGN, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at = (char *)(((uintptr_t)room + ALIGN - 1) & ~(ALIGN - 1));

	if (room == MAP_FAILED || mprotect(at, len, PROT_READ | PROT_WRITE))
		bad++;
	else
		memset(at, 1, len);
}

int main(void)
{
	const char *line, *arg;

	say_ready();
	while ((line = hear())) {
		if ((arg = after(line, "hold"))) {
			hold(strtoul(arg, NULL, 0));
		} else if ((arg = after(line, "ways"))) {
			for (unsigned i = 0, n = (unsigned)strtoul(arg, NULL, 0); i < n; i++)
				even(i, DEPTH);
		} else if ((arg = after(line, "far"))) {
			take_far(strtoul(arg, NULL, 0));
		} else if ((arg = after(line, "threads"))) {
			run_threads(strtoul(arg, NULL, 0));
		} else if (after(line, "quit")) {
			return 0;
		} else if (!after(line, "verify")) {
			say("bad command");
			continue;
		}
		say(bad ? "bad %lu" : "ok %lu", bad ? bad : nr);
	}
	return 1;
}
