/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target that loads and unloads a library (libplugin.so beside it) whose constructor allocates. Commands:
 * cycle N (N loads and unloads: four blocks are kept of each), churn (load and unload, nothing is kept, until the next
 * line, which is halt: `ok CYCLES`), load, unload, list (the kept blocks, then `end N`), verify, quit.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <poll.h>

#include "target.h"

#define KEPT_MAX	4096

static char library[PATH_MAX + 16];
static struct {
	void *address;
	size_t size;
} kept[KEPT_MAX];
static int nr;
static void *handle;

static int load(void)
{
	if (!handle)
		handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	return handle ? 0 : -1;
}

/* Remember the blocks that the destructor leaves. */
static int unload(void)
{
	void **block = handle ? dlsym(handle, "plugin_block") : NULL;
	size_t (*size)(int) = NULL;
	int i, ret;

	if (!block)
		return -1;
	*(void **)&size = dlsym(handle, "plugin_size");
	for (i = 1; i < 8 && nr < KEPT_MAX; i += 2) {
		kept[nr].address = block[i];
		kept[nr++].size = size(i);
	}
	ret = dlclose(handle);
	handle = NULL;
	return ret;
}

static int cycle(long n)
{
	for (; n > 0; n--)
		if (load() || unload())
			return -1;
	return 0;
}

static int line_waits(void)
{
	struct pollfd in = { .fd = STDIN_FILENO, .events = POLLIN };

	return poll(&in, 1, 0) != 0;
}

static void churn(void)
{
	int before = nr, bad = 0;
	char *line;
	long n;

	for (n = 0; !line_waits(); n++) {
		bad |= cycle(1);
		while (nr > before) {
			nr--;
			bad |= !canary_holds(kept[nr].address, kept[nr].size);
			free(kept[nr].address);
		}
	}
	line = hear();
	say(line && after(line, "halt") && !bad ? "ok %ld" : "bad %ld", n);
}

static int verify(void)
{
	int i, bad = 0;

	for (i = 0; i < nr; i++)
		bad += !canary_holds(kept[i].address, kept[i].size);
	return bad;
}

static void list(void)
{
	int i;

	for (i = 0; i < nr; i++)
		say("%p %zu", kept[i].address, kept[i].size);
	say("end %d", nr);
}

int main(int argc, char **argv)
{
	static char self[PATH_MAX];
	const char *rest;
	char *line;
	ssize_t len;

	(void)argc;
	(void)argv;
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (len < 0)
		return 1;
	snprintf(library, sizeof(library), "%s/libplugin.so", dirname(self));
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if ((rest = after(line, "cycle")))
			say("%s", cycle(atol(rest)) == 0 ? "ok" : "bad");
		else if (after(line, "churn"))
			churn();
		else if (after(line, "load"))
			say("%s", load() == 0 ? "ok" : "bad");
		else if (after(line, "unload"))
			say("%s", unload() == 0 ? "ok" : "bad");
		else if (after(line, "list"))
			list();
		else if (after(line, "verify"))
			say("%s", verify() ? "bad" : "ok");
		else
			say("bad command %s", line);
	}
	return verify() != 0;
}
