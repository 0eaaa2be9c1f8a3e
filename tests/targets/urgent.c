/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that loads copies of a library (liburgent.so beside it), each a file and a module of its
 * own, which allocates at once (urgent.h). Commands: load N (copies, each with blocks of all three
 * kinds), verify, quit. With an argument N it loads so many and ends.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <sys/mman.h>

#include "urgent.h"

static char library[PATH_MAX + 16];

/* By way of a memfd: the loader knows a file by its numbers. */
static void *load(void)
{
	int to = memfd_create("urgent", 0), from = open(library, O_RDONLY);
	static char bytes[65536];
	char path[64];
	ssize_t got;

	while ((got = read(from, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)got) != got)
			return NULL;
	close(from);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", to);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static int use(void)
{
	void *handle = load();
	int (*call)(void), (*start)(pthread_t *thread);
	pthread_t thread;

	if (!handle)
		return -1;
	*(void **)&call = dlsym(handle, "urgent_call");
	*(void **)&start = dlsym(handle, "urgent_thread");
	if (!call || !start || !call() || start(&thread))
		return -1;
	return pthread_join(thread, NULL);
}

static int load_all(long n)
{
	while (n-- > 0)
		if (use())
			return -1;
	return 0;
}

int main(int argc, char **argv)
{
	char self[PATH_MAX];
	char *line;

	if (!realpath("/proc/self/exe", self))
		return 1;
	snprintf(library, sizeof(library), "%s/liburgent.so", dirname(self));
	if (argc > 1)
		return load_all(atol(argv[1])) != 0;
	say_ready();
	while ((line = hear())) {
		const char *rest = after(line, "load");

		if (after(line, "quit"))
			break;
		if (rest)
			say("%s", load_all(atol(rest)) ? "bad" : "ok");
		else
			say("%s", after(line, "verify") ? "ok" : "bad");
	}
	return 0;
}
