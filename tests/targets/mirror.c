/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * mirror GB: a process that has put an arena of its own into glibc's ring, with a heap of GB gigabytes, which are the
 * same 16 MB of memory again and again: chunks of 32 bytes.
 */

#include <sys/mman.h>

#include "target.h"

#define HEAP_MAX	(1ull << 36)
#define PART		(16ull << 20)
#define BINS		127
/* Words of glibc's arena: top, the bins, next, system_mem and its maximum. */
#define TOP		(96 / 8)
#define BIN_BYTES	112
#define NEXT		((BIN_BYTES + 256 * 8) / 8)
#define SYSTEM_MEM	((BIN_BYTES + 259 * 8) / 8)
#define HEAP_INFO	48
#define FIRST		2256
#define SIZE		0x25	/* 32 bytes, in use, not of the main arena */

/* The address of main_arena, by a chunk in its unsorted bin. */
static uint64_t *main_arena(void)
{
	uint64_t *volatile p = malloc(0x500), *volatile q = malloc(16);

	KEEP(q);
	free(p);
	return (uint64_t *)(p[0] - TOP * 8);
}

static int chunks(void)
{
	int fd = memfd_create("chunks", 0);
	char *part;

	if (fd < 0 || ftruncate(fd, PART))
		_exit(98);
	part = mmap(NULL, PART, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (uint64_t i = 8; i < PART; i += 32)
		*(uint64_t *)(part + i) = SIZE;
	munmap(part, PART);
	return fd;
}

static char *map_heap(uint64_t bytes)
{
	char *at = mmap(NULL, 2 * HEAP_MAX, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *heap = (char *)(((uint64_t)at + HEAP_MAX - 1) & ~(HEAP_MAX - 1));
	int fd = chunks();

	if (at == MAP_FAILED)
		_exit(98);
	mmap(heap, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	for (uint64_t i = 0; i < bytes; i += PART)
		if (mmap(heap + 4096 + i, PART, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, fd, 0) == MAP_FAILED)
			_exit(98);
	/* The pages are there, all of them the file's. */
	for (uint64_t i = 0; i < bytes; i += 4096)
		bytes += *(volatile char *)(heap + 4096 + i) & 0;
	return heap;
}

static void forge(uint64_t bytes)
{
	char *heap = map_heap(bytes);
	uint64_t *arena = (uint64_t *)(heap + HEAP_INFO), *head = (uint64_t *)heap, *of_main = main_arena();

	head[0] = (uint64_t)arena;
	head[2] = 4096 + bytes;
	arena[TOP] = (uint64_t)heap + bytes;	/* in the last page */
	for (unsigned i = 0; i < BINS; i++)
		arena[BIN_BYTES / 8 + 2 * i] = arena[BIN_BYTES / 8 + 2 * i + 1] = (uint64_t)arena + TOP * 8 + i * 16;
	arena[NEXT] = (uint64_t)of_main;
	arena[SYSTEM_MEM] = arena[SYSTEM_MEM + 1] = bytes;
	*(uint64_t *)(heap + FIRST + 8) = 0x35;
	for (unsigned i = FIRST + 48; i < 4096; i += 32)
		*(uint64_t *)(heap + i + 8) = SIZE;
	of_main[NEXT] = (uint64_t)arena;
}

int main(int argc, char **argv)
{
	const char *line;

	forge(strtoull(argc > 1 ? argv[1] : "8", NULL, 0) << 30);
	say_ready();
	while ((line = hear())) {
		if (after(line, "quit"))
			_exit(0);
		say(after(line, "verify") ? "ok" : "bad command");
	}
	return 1;
}
