/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that faults pages in, for growth.
 *
 *	touch N		so many pages of new memory: `ok`
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
		if (sscanf(line, "%15s %ld", word, &nr) > 0)
			obey(word, nr, argv[0]);
		puts("ok");
	}
	return 0;
}
