/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that knows which of its blocks keep free memory resident.
 *
 *	pins		commands are obeyed by the first thread
 *	pins -t		... by another one, which has an arena of its own
 *	pin N		N times: ten blocks of some hundred bytes, a small one that stays, and now and then a large one that
 *			stays; then all others are freed: `ok`
 *	free small|large	free those: `ok`
 *	burst MB	allocate that much in blocks of 100000 bytes, and free all: `ok`
 *	trim		malloc_trim(0); resident bytes before and after: `ok B A`
 *	info		mallinfo2: bytes from the system, free, of chunks: `ok N N`
 *	stats		malloc_stats() on standard error
 *	verify, quit
 */
#include "target.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>

#define NODES	10u
#define MOST	1000000u

static void *node[NODES * 40000], *small[MOST], *large[MOST];
static size_t nr_nodes, nr_small, nr_large;

static NOINLINE void *new_node(size_t size)
{
	return memset(malloc(size), 1, size);
}

static NOINLINE void *keep_small(void)
{
	return memset(malloc(40), 2, 40);
}

static NOINLINE void *keep_large(void)
{
	return memset(malloc(3000), 3, 3000);
}

static void pin(size_t n)
{
	for (size_t i = 0; i < n; i++) {
		for (unsigned j = 0; j < NODES; j++) {
			void *p = new_node(200 + (i * 37 + j * 91) % 900);

			KEEP(p);
			node[nr_nodes++] = p;
		}
		small[nr_small++] = keep_small();
		if (i % 16 == 0)
			large[nr_large++] = keep_large();
	}
	while (nr_nodes)
		free(node[--nr_nodes]);
}

static void free_all(void **at, size_t *nr)
{
	while (*nr)
		free(at[--*nr]);
}

static void burst(size_t mb)
{
	for (size_t i = 0; i < mb * 10; i++)
		node[nr_nodes++] = new_node(100000);
	while (nr_nodes)
		free(node[--nr_nodes]);
}

static int is_filled(const unsigned char *at, int c, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (at[i] != c)
			return 0;
	return 1;
}

static void verify(void)
{
	int well = 1;

	for (size_t i = 0; i < nr_small; i++)
		well &= is_filled(small[i], 2, 40);
	for (size_t i = 0; i < nr_large; i++)
		well &= is_filled(large[i], 3, 3000);
	say(well ? "ok" : "bad");
}

/* Of the moment, without a block: statm is late by some pages. */
static unsigned long resident(void)
{
	char text[2048], *rss;
	int fd = open("/proc/self/smaps_rollup", O_RDONLY);
	ssize_t got = read(fd, text, sizeof(text) - 1);

	close(fd);
	text[got < 0 ? 0 : got] = '\0';
	rss = strstr(text, "Rss:");
	return rss ? strtoul(rss + 4, NULL, 10) << 10 : 0;
}

static void trim(void)
{
	unsigned long before = resident();

	malloc_trim(0);
	say("ok %lu %lu", before, resident());
}

static void obey(const char *line)
{
	struct mallinfo2 info;

	if (!strncmp(line, "pin ", 4)) {
		pin(strtoul(line + 4, NULL, 10));
	} else if (!strcmp(line, "free small")) {
		free_all(small, &nr_small);
	} else if (!strcmp(line, "free large")) {
		free_all(large, &nr_large);
	} else if (!strncmp(line, "burst ", 6)) {
		burst(strtoul(line + 6, NULL, 10));
	} else if (!strcmp(line, "trim")) {
		trim();
		return;
	} else if (!strcmp(line, "verify")) {
		verify();
		return;
	} else if (!strcmp(line, "stats")) {
		malloc_stats();
	} else if (!strcmp(line, "info")) {
		info = mallinfo2();
		say("ok %zu %zu", info.arena, info.fordblks);
		return;
	} else {
		say("bad command");
		return;
	}
	say("ok");
}

static void *run(void *arg UNUSED)
{
	char *line;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit"))
		obey(line);
	exit(0);
}

int main(int argc, char **argv)
{
	pthread_t thread;
	void *first;

	if (argc < 2 || strcmp(argv[1], "-t"))
		run(NULL);
	/* Twice as much may be free at the end of an arena then. */
	first = malloc(30 << 20);
	KEEP(first);
	free(first);
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
}
