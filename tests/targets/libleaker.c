/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * To be preloaded: each thousandth read loses a block of 1777 bytes. How many it were stands in the first word of
 * the file that LEAKER_FILE names.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EVERY	1000u
#define SIZE	1777u

static uint64_t *lost, here, reads;

__attribute__((constructor)) static void construct(void)
{
	const char *path = getenv("LEAKER_FILE");
	int fd = path ? open(path, O_RDWR) : -1;
	void *map = fd < 0 ? MAP_FAILED : mmap(NULL, 8, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (fd >= 0)
		close(fd);
	lost = map == MAP_FAILED ? &here : map;
}

static __attribute__((noinline)) void leak_one(void)
{
	void *volatile block = malloc(SIZE);

	memset(block, 0, SIZE);
	block = NULL;
	__atomic_fetch_add(lost, 1, __ATOMIC_RELAXED);
}

ssize_t read(int fd, void *buf, size_t len)
{
	if (__atomic_add_fetch(&reads, 1, __ATOMIC_RELAXED) % EVERY == 0 && lost)
		leak_one();
	return syscall(SYS_read, fd, buf, len);
}
