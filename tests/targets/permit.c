/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target whose second thread is about to execute another program for as long as its first one wants: the kernel
 * asks whether it may (fanotify), and the thread sleeps uninterruptibly until there is an answer.
 *
 *	exec PATH	have the thread execute it; `ok` when it is asked about, `bad` where that cannot be
 *	allow		the program begins
 *	deny		the thread ends
 *	alloc N		N blocks of 333 bytes
 *	quit
 */
#include "target.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/fanotify.h>

static int group = -1, asked = -1;
static pthread_t thread;
static char *volatile kept;

static void *execute(void *path)
{
	if (path)
		execl(path, path, "cat", NULL);
	return NULL;
}

/* The first thread leaves a stack for the next, and libc's signal handler. */
static int run_thread(void *path)
{
	return !pthread_create(&thread, NULL, execute, path);
}

/* False: not allowed to be asked (CAP_SYS_ADMIN), or the kernel does not ask. */
static int be_asked(char *path)
{
	struct fanotify_event_metadata event;

	group = fanotify_init(FAN_CLASS_CONTENT | FAN_CLOEXEC, O_RDONLY | O_CLOEXEC);
	if (group < 0 || fanotify_mark(group, FAN_MARK_ADD, FAN_OPEN_EXEC_PERM, AT_FDCWD, path) < 0)
		return 0;
	if (!run_thread(path))
		return 0;
	if (read(group, &event, sizeof(event)) != sizeof(event))
		return 0;
	asked = event.fd;
	return 1;
}

static void answer(uint32_t what)
{
	struct fanotify_response response = { asked, what };

	if (write(group, &response, sizeof(response)) != sizeof(response))
		_exit(98);
}

static void deny(void)
{
	answer(FAN_DENY);
	pthread_join(thread, NULL);
	close(asked);
	close(group);
	say("ok");
}

static void keep(unsigned nr)
{
	while (nr--)
		kept = malloc(333);
	say("ok");
}

int main(void)
{
	static char path[4096];
	const char *line, *rest;

	if (!run_thread(NULL) || pthread_join(thread, NULL))
		return 1;
	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		if ((rest = after(line, "exec"))) {
			strncpy(path, rest, sizeof(path) - 1);
			say("%s", be_asked(path) ? "ok" : "bad");
		} else if (!strcmp(line, "allow")) {
			answer(FAN_ALLOW);
			for (;;)
				pause();
		} else if (!strcmp(line, "deny")) {
			deny();
		} else if ((rest = after(line, "alloc"))) {
			keep((unsigned)atoi(rest));
		} else {
			say("ok");
		}
	}
	return 0;
}
