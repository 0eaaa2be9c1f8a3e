/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that allocates behind the back of malloc's entry, as one does whose code is translated: a thread calls
 * libc's _int_malloc itself all the time.
 *
 *	behind INT_MALLOC MAIN_ARENA
 *
 * Offsets of both in libc, hex; without them nothing is done. Commands: call (malloc itself, once); quit.
 */
#include <link.h>
#include <pthread.h>
#include <string.h>

#include "target.h"

#define BLOCK	3000	/* too large for a thread's cache */
#define BLOCKS	20000

static void *(*int_malloc)(void *arena, size_t size);
static void *main_arena;
static void *volatile kept;

static int find_libc(struct dl_phdr_info *info, size_t size, void *ret)
{
	(void)size;
	if (!strstr(info->dlpi_name, "libc.so"))
		return 0;
	*(uintptr_t *)ret = info->dlpi_addr;
	return 1;
}

static void *work(void *arg)
{
	(void)arg;
	for (int i = 0; i < BLOCKS; i++) {
		kept = int_malloc(main_arena, BLOCK);
		nap_us(1000);
	}
	return NULL;
}

static void find_inside(const char *malloc_offset, const char *arena_offset)
{
	uintptr_t base = 0;

	dl_iterate_phdr(find_libc, &base);
	main_arena = (void *)(base + strtoul(arena_offset, NULL, 16));
	int_malloc = (void *(*)(void *, size_t))(base + strtoul(malloc_offset, NULL, 16));
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char *line;

	kept = malloc(5000);
	if (argc == 3) {
		find_inside(argv[1], argv[2]);
		if (pthread_create(&thread, NULL, work, NULL) != 0)
			return 2;
	}
	say("ready");
	while ((line = hear()) && strcmp(line, "quit") != 0) {
		kept = malloc(5000);
		say("ok");
	}
	return 0;
}
