/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that faults pages in, for growth.
 *
 *	touch N		so many pages of new memory: `ok`
 *	huge N		a byte of each of so many huge pages, and all pages of the first one: `ok N` with
 *			the kilobytes that the kernel has in huge pages there
 *	copy N		the first page of its own file, so often, mapped anew each time: `ok`
 *	thread N	touch, in a new thread: `ok`
 *	sockets N	so many pairs of sockets, each with a message of 1000 bytes that nobody reads;
 *			they are held: `ok`
 *	verify, quit
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define PAGE	4096
#define HUGE	(2ul << 20)

__attribute__((noinline)) static void touch_pages(volatile char *at, long nr)
{
	for (long i = 0; i < nr; i++)
		at[i * PAGE] = 1;
}

__attribute__((noinline)) static void touch(long nr)
{
	char *at = mmap(NULL, nr * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		abort();
	madvise(at, nr * PAGE, MADV_NOHUGEPAGE);
	touch_pages(at, nr);
	munmap(at, nr * PAGE);
}

/* The kilobytes of AnonHugePages in the mapping that holds the address. */
static long huge_at(const char *at)
{
	FILE *smaps = fopen("/proc/self/smaps", "r");
	unsigned long start, end;
	char line[512];
	long huge = 0, kb;
	int in = 0;

	while (smaps && fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &start, &end) == 2)
			in = (unsigned long)at >= start && (unsigned long)at < end;
		else if (in && sscanf(line, "AnonHugePages: %ld", &kb) == 1)
			huge = kb;
	}
	if (smaps)
		fclose(smaps);
	return huge;
}

__attribute__((noinline)) static void touch_huge(volatile char *at, long nr)
{
	/* volatile: no compiler makes several stores of the one, which would be as many stacks. */
	for (volatile long i = 0; i < nr; i++)
		at[i * HUGE + 5 * PAGE] = 1;
}

/* A huge page comes again, in small pages. */
__attribute__((noinline)) static void touch_again(char *at)
{
	madvise(at, HUGE, MADV_NOHUGEPAGE);
	madvise(at, HUGE, MADV_DONTNEED);
	touch_pages(at, HUGE / PAGE);
}

static long use_huge(long nr)
{
	size_t len = (nr + 1) * HUGE;
	char *map = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *at = (char *)(((unsigned long)map + HUGE - 1) & -HUGE);
	long huge;

	if (map == MAP_FAILED)
		abort();
	madvise(at, nr * HUGE, MADV_HUGEPAGE);
	touch_huge(at, nr);
	huge = huge_at(at);
	touch_again(at);
	munmap(map, len);
	return huge;
}

/* Private and written to, so that each page is a fault, whatever the kernel maps around it. */
__attribute__((noinline)) static void copy_file(const char *path, long nr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	for (; nr; nr--) {
		char *at = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);

		if (at == MAP_FAILED)
			abort();
		touch_pages(at, 1);
		munmap(at, PAGE);
	}
	close(fd);
}

static void *run(void *arg)
{
	touch(*(long *)arg);
	return NULL;
}

__attribute__((noinline)) static void fill_sockets(long nr)
{
	static const char message[1000];
	int pair[2];

	while (nr--)
		if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) ||
		    send(pair[0], message, sizeof(message), 0) != sizeof(message))
			abort();
}

static void obey(const char *word, long nr, const char *path)
{
	pthread_t thread;

	if (!strcmp(word, "touch"))
		touch(nr);
	else if (!strcmp(word, "copy"))
		copy_file(path, nr);
	else if (!strcmp(word, "sockets"))
		fill_sockets(nr);
	else if (!strcmp(word, "thread") &&
		 (pthread_create(&thread, NULL, run, &nr) || pthread_join(thread, NULL)))
		abort();
}

int main(int argc, char **argv)
{
	char line[64], word[16];
	long nr;

	(void)argc;
	setvbuf(stdout, NULL, _IOLBF, 0);
	puts("ready");
	while (fgets(line, sizeof(line), stdin) && strcmp(line, "quit\n")) {
		nr = 0;
		if (sscanf(line, "%15s %ld", word, &nr) == 2 && !strcmp(word, "huge")) {
			printf("ok %ld\n", use_huge(nr));
			continue;
		}
		obey(word, nr, argv[0]);
		puts("ok");
	}
	return 0;
}
