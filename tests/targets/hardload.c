/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target with a second allocator, in a library that comes and goes (libhardpool.so beside it).
 *
 *	load, unload	the library; what it holds goes with it
 *	own N		N blocks of 654 by its malloc, kept; disown N: N pairs of them
 *	again		unload, load, at once: `ok` if it is where it was, `ok elsewhere` if not
 *	elsewhere	the same, with its old place taken, so that it is not
 *	discard NAME	what was written to the page of the C library's text that this function begins in
 *	wild		addresses that are no blocks, by its free, which does not look at them; `again` forgets them
 *	go, halt	a thread that loads it, makes 10 pairs of each allocator, and unloads it, all the time: `ok CYCLES`
 *	make N SIZE, pairs N, drop, verify, quit
 */
#include "hard.h"
#include "wild.h"

#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <sys/mman.h>

static char library[PATH_MAX + 32];
static void *handle;
static void *(*own_malloc)(size_t size);
static void (*own_free)(void *block);
static volatile int halting;
static unsigned long cycles;
static pthread_t cycler;

static int load(void)
{
	handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		return 0;
	*(void **)&own_malloc = dlsym(handle, "malloc");
	*(void **)&own_free = dlsym(handle, "free");
	return own_malloc && own_free;
}

static int again(void)
{
	void *was = *(void **)&own_malloc;

	if (dlclose(handle) || !load())
		return -1;
	return was == *(void **)&own_malloc;
}

/* A page that stays, where its code was. */
static int elsewhere(void)
{
	uintptr_t code = (uintptr_t)own_malloc & ~4095ul;

	if (dlclose(handle) || mmap((void *)code, 4096, PROT_NONE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != (void *)code)
		return 0;
	return load() && ((uintptr_t)own_malloc & ~4095ul) != code;
}

static int discard(const char *name)
{
	void *function = dlsym(RTLD_DEFAULT, name);

	return function && !madvise((void *)((uintptr_t)function & ~4095ul), 4096, MADV_DONTNEED);
}

static NOINLINE int own(int n, int give_back)
{
	int i;

	for (i = 0; i < n; i++) {
		void *p = own_malloc(654);

		KEEP(p);
		if (!p)
			break;
		canary_fill(p, 654);
		if (give_back)
			own_free(p);
	}
	return i == n;
}

static NOINLINE unsigned free_wild(void)
{
	const uintptr_t *at;
	unsigned nr = wild_addresses(&at);

	for (unsigned i = 0; i < nr; i++) {
		own_free((void *)at[i]);
		__asm__ volatile("" : : : "memory");	/* not the last call */
	}
	return nr;
}

static void *cycle(void *arg)
{
	int i;

	while (!halting) {
		if (!load() || !own(10, 1))
			_exit(95);
		for (i = 0; i < 10; i++)
			pair(100);
		dlclose(handle);
		cycles++;
	}
	return arg;
}

static void obey(const char *line)
{
	const char *rest;

	if (obey_blocks(line)) {
		return;
	} else if (after(line, "load")) {
		say(load() ? "ok" : "bad");
	} else if (after(line, "unload")) {
		say(dlclose(handle) == 0 ? "ok" : "bad");
	} else if (after(line, "again")) {
		switch (again()) {
		case 0:
			say("ok elsewhere");
			break;
		case 1:
			say("ok");
			break;
		default:
			say("bad");
		}
	} else if (after(line, "elsewhere")) {
		say(elsewhere() ? "ok" : "bad");
	} else if ((rest = after(line, "discard"))) {
		say(discard(rest) ? "ok" : "bad");
	} else if ((rest = after(line, "own"))) {
		say(own(atoi(rest), 0) ? "ok" : "bad");
	} else if ((rest = after(line, "disown"))) {
		say(own(atoi(rest), 1) ? "ok" : "bad");
	} else if (after(line, "wild")) {
		say("ok %u", free_wild());
	} else if (after(line, "go")) {
		halting = 0;
		say(pthread_create(&cycler, NULL, cycle, NULL) ? "bad" : "ok");
	} else if (after(line, "halt")) {
		halting = 1;
		pthread_join(cycler, NULL);
		say("ok %lu", cycles);
	} else {
		say("bad command %s", line);
	}
}

int main(void)
{
	static char self[PATH_MAX];
	char *line;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return 1;
	snprintf(library, sizeof(library), "%s/libhardpool.so", dirname(self));
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	return bad_blocks() != 0;
}
