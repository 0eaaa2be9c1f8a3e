/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A target with a text at places that are known, variables that each thread has, and a thread that computes in vector
 * registers. Commands: verify, quit.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>

#include "target.h"

struct pair {
	int x, y;
};

char in_data[] = "a needle in data";
char *in_heap;
uint64_t marked[4] = { 0, 0x6e65656400000001, 0, 0x6e65656400000001 };
struct pair pairs[3] = { { 7, 8 }, { 9, 10 }, { 7, 8 } };

__thread int own = 1;
__thread struct pair own_pair = { 2, 3 };
static __thread char own_text[16] = "first";
static volatile int go_on = 1, spins;
static volatile double seed = 1.5;

NOINLINE static int counted(void)
{
	static __thread int calls = 20;

	return ++calls;
}

/* What it has lives in registers that calls do not keep: none is made. */
NOINLINE static double spin(double from, float small)
{
	double sum = from * 3;
	float part = small + 0.5f;

	spins = 1;
	while (go_on)
		spins++;
	return sum + (double)part;
}

static void *second(void *arg)
{
	own = 11;
	own_pair = (struct pair){ 12, 13 };
	strcpy(own_text, "second");
	counted();
	counted();
	seed = spin(seed, 2.25f);
	return arg;
}

/* A library, whose thread-local data are in a block. */
static void load(void)
{
	char program[PATH_MAX], library[PATH_MAX + 16];
	ssize_t len = readlink("/proc/self/exe", program, sizeof(program) - 1);
	void (*fill)(void);
	void *handle;

	program[len < 0 ? 0 : len] = '\0';
	snprintf(library, sizeof(library), "%s/libplaces.so", dirname(program));
	handle = dlopen(library, RTLD_NOW);
	*(void **)&fill = handle ? dlsym(handle, "places_fill") : NULL;
	if (!fill)
		_exit(98);
	fill();
}

int main(void)
{
	pthread_t thread;
	char line[64];

	in_heap = malloc(100);
	strcpy(in_heap, "a needle in the heap");
	load();
	counted();
	pthread_create(&thread, NULL, second, NULL);
	while (!spins)
		usleep(1000);
	say_ready();
	while (fgets(line, sizeof(line), stdin) && strncmp(line, "quit", 4))
		say("ok %d", own + own_pair.x + own_text[0] + (int)marked[1] + pairs[0].x + in_data[0]);
	go_on = 0;
	pthread_join(thread, NULL);
	return 0;
}
