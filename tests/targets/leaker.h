/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What libleaker and libdrip have in common: blocks that are lost, and how many, in the file that LEAKER_FILE names. */
#pragma once

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVERY	1000u

static uint64_t here;
static uint64_t *lost = &here;

/* What was lost before this (in constructors of other libraries) counts, too. */
__attribute__((constructor)) static void construct(void)
{
	const char *path = getenv("LEAKER_FILE");
	int fd = path ? open(path, O_RDWR) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	if (map == MAP_FAILED)
		return;
	__atomic_fetch_add((uint64_t *)map, here, __ATOMIC_RELAXED);
	lost = map;
}

static __attribute__((noinline)) void leak_one(void *(*allocate)(size_t), size_t size)
{
	void *volatile block = allocate(size);

	memset(block, 0, size);
	block = NULL;
	__atomic_fetch_add(lost, 1, __ATOMIC_RELAXED);
}
