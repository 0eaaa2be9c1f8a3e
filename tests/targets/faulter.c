/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Faults pages in from two functions, so many as it is asked for: `touch N` a line on standard
 * input, for anonymous memory, and `read N` for its own file's copy, which is mapped anew for each;
 * it answers `done`. `thread N` touches in a new thread.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

int main(int argc, char **argv)
{
	char word[16];
	long nr;

	(void)argc;
	while (scanf("%15s %ld", word, &nr) == 2) {
		if (!strcmp(word, "touch")) {
			touch(nr);
		} else if (!strcmp(word, "read")) {
			copy_file(argv[0], nr);
		} else if (!strcmp(word, "thread")) {
			pthread_t thread;

			if (pthread_create(&thread, NULL, run, &nr))
				abort();
			pthread_join(thread, NULL);
		}
		puts("done");
		fflush(stdout);
	}
	return 0;
}
