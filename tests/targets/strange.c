/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target whose names all have what a terminal obeys, and a line that looks like another's.
 *
 *	strange PROGRAM		become PROGRAM, a copy of this one, with an argument that is no better
 *
 * It maps a file beside itself, has a thread, and holds a block. `become` executes it once more.
 */

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "target.h"

#define BAD	"\033[2J\033]0;x\a\nFORGED \x9b" "1m\xc2\x9b" "1m\xe2\x80\xae" "end"

static void *held;

/* A test gives it another name. */
NOINLINE void strange_leaf(void);
NOINLINE void strange_leaf(void)
{
	held = malloc(4321);
	KEEP(held);
}

static void become(const char *program)
{
	char *args[] = { (char *)program, (char *)BAD, NULL };

	execv(program, args);
	say("bad cannot execute");
	_exit(1);
}

static void map_beside(const char *program)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s-%s", program, BAD);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, 4096) || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		say("bad cannot map");
}

static void *wait_named(void *arg UNUSED)
{
	prctl(PR_SET_NAME, "\033[7m\nFORGED\x9b");
	for (;;)
		pause();
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	const char *line;

	if (argc == 2 && strcmp(argv[1], BAD))
		become(argv[1]);
	prctl(PR_SET_NAME, "\033[5m\nFORGED\xe2\x80");
	map_beside(argv[0]);
	pthread_create(&thread, NULL, wait_named, NULL);
	strange_leaf();
	say_ready();
	while ((line = hear())) {
		if (after(line, "again")) {
			strange_leaf();
			say("ok");
		} else if (after(line, "become")) {
			become(argv[0]);
		} else if (after(line, "quit")) {
			return 0;
		} else {
			say("bad command");
		}
	}
	return 0;
}
