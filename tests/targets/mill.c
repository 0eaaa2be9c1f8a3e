/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * One thread allocates and frees blocks of all kinds, always the same ones in the same order: mill WHO.
 *
 *	alone	the only thread
 *	main	the main thread; another one has blocks in an arena of its own, and waits
 *	worker	another thread, in an arena of its own; the main thread has blocks, and waits
 *
 * Commands: `work`: `ok TID` of the thread that works; `rest`: `ok` when it has come to the end of a round; `smash`, `mend`
 * (the header of a block in the arena of the thread that waits): `ok ADDRESS`; verify; quit.
 */
#include "target.h"

#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

#include "crew.h"

#define KEPT		64
#define ROUND		24

static void *kept[KEPT];
static uint64_t smashed;
static unsigned bad;
static pid_t worker;

static void *fill(void *block, size_t size)
{
	KEEP(block);
	if (block)
		canary_fill(block, size);
	return block;
}

static void drop(void *block, size_t size)
{
	bad += !block || !canary_holds(block, size);
	free(block);
}

/* Caches are filled and overflow into fastbins, unsorted and small bins; chunks are split and joined. */
static void one_round(void)
{
	static const size_t sizes[] = { 24, 24, 40, 120, 200, 700, 1100, 1500, 3000, 9000 };
	size_t size[ROUND];
	void *block[ROUND];

	for (unsigned i = 0; i < ROUND; i++) {
		size[i] = sizes[i % (sizeof(sizes) / sizeof(*sizes))];
		block[i] = fill(i % 7 == 5 ? memalign(256, size[i]) :
				i % 5 == 4 ? calloc(1, size[i]) : malloc(size[i]), size[i]);
	}
	for (unsigned i = 0; i < ROUND; i += 3) {
		block[i] = realloc(block[i], size[i] * 2);
		bad += !block[i];
		size[i] *= 2;
		fill(block[i], size[i]);
	}
	for (unsigned i = 0; i < ROUND; i += 2)
		drop(block[i], size[i]);
	for (unsigned i = 1; i < ROUND; i += 2)
		drop(block[i], size[i]);
	for (unsigned i = 0; i < ROUND; i++)
		block[i] = fill(malloc(40), 40);
	for (unsigned i = ROUND; i-- > 0;)
		drop(block[i], 40);
}

static void keep_blocks(void)
{
	for (unsigned i = 0; i < KEPT; i++)
		kept[i] = fill(malloc(16 + 48 * i), 16 + 48 * i);
}

static void *work(void *arg UNUSED)
{
	worker = my_lwp();
	while (crew_wait())
		while (crew_works())
			one_round();
	return NULL;
}

static void *wait_beside(void *arg UNUSED)
{
	keep_blocks();
	while (crew_wait())
		;
	return NULL;
}

static bool is_told(void)
{
	struct pollfd in = { .fd = 0, .events = POLLIN };

	return poll(&in, 1, 0) != 0;
}

static void start_work(bool here)
{
	say("ok %d", here ? my_lwp() : worker);
	if (!here)
		crew_set(true);
	while (here && !is_told())
		one_round();
}

int main(int argc, char **argv)
{
	bool here = argc < 2 || strcmp(argv[1], "worker") != 0;
	pthread_t thread;
	char *line;

	if (argc > 1 && strcmp(argv[1], "alone") != 0) {
		crew.members = 1;
		if (!here)
			keep_blocks();
		if (pthread_create(&thread, NULL, here ? wait_beside : work, NULL))
			return 1;
		crew_set(false);
	} else {
		drop(fill(malloc(40), 40), 40);		/* there is a heap before the first step */
	}
	say_ready();
	while ((line = hear()) && strcmp(line, "quit") != 0) {
		uint64_t *header = (uint64_t *)kept[KEPT / 2] - 1;

		if (!strcmp(line, "work")) {
			start_work(here);
		} else if (!strcmp(line, "rest")) {
			if (!here)
				crew_set(false);
			say("ok");
		} else if (!strcmp(line, "smash") && kept[0]) {
			smashed = *header;
			*header = 0x4141414141414141;
			say("ok %p", (void *)header);
		} else if (!strcmp(line, "mend") && smashed) {
			*header = smashed;
			say("ok %p", (void *)header);
		} else if (!strcmp(line, "verify")) {
			for (unsigned i = 0; kept[0] && i < KEPT; i++)
				bad += !canary_holds(kept[i], 16 + 48 * i);
			say(bad ? "bad %u" : "ok", bad);
		} else {
			say("bad command");
		}
	}
	if (crew.members) {
		crew_end();
		pthread_join(thread, NULL);
	}
	return 0;
}
