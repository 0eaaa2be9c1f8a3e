/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A C++ program with an operator new of its own, which throws bad_alloc when asked for more than LIMIT.
 *
 * Threads fill and empty standard containers and provoke bad_alloc through the (perhaps probed) operator. With -r they
 * rest between. Commands: go, pause, more N (returns when N more were caught), keep N (N blocks of 77 bytes from
 * operator new in the main thread), list (their addresses, then `end N`), counts (`ok CAUGHT`), verify, quit. Include
 * once, in a file that defines the operators.
 */
#pragma once

#include <map>
#include <new>
#include <pthread.h>
#include <string>
#include <vector>

#include "crew.h"
#include "target.h"

#define LIMIT		(1u << 20)
#define THREADS		8
#define KEPT_MAX	4096
#define KEPT_SIZE	77

static bool resting;
static uint64_t caught, bad;
static void *kept[KEPT_MAX];
static int nr_kept;

static NOINLINE void *provoke(size_t size)
{
	void *p = operator new(size);

	KEEP(p);
	return p;
}

/* bad_alloc must come through every frame between here and operator new. */
static NOINLINE void throw_once(size_t size)
{
	try {
		operator delete(provoke(size));
		__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
	} catch (const std::bad_alloc &) {
		__atomic_add_fetch(&caught, 1, __ATOMIC_RELAXED);
	}
}

static NOINLINE void use_containers(uint64_t *random)
{
	std::map<uint64_t, std::string> map;
	std::vector<std::string> vector;
	int i;

	for (i = 0; i < 50 && crew_works(); i++) {
		uint64_t key = next_random(random);

		map[key % 64] = std::string(key % 200, 'm');
		vector.push_back(std::string(key % 300, 'v'));
	}
	for (const auto &pair : map)
		for (char c : pair.second)
			if (c != 'm')
				__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
	for (const auto &text : vector)
		if (text.find_first_not_of('v') != std::string::npos)
			__atomic_add_fetch(&bad, 1, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	uint64_t random = 0x9e3779b97f4a7c15ull ^ (uint64_t)(uintptr_t)arg;

	while (crew_wait()) {
		while (crew_works()) {
			use_containers(&random);
			throw_once(LIMIT + 1);
			if (resting)
				nap_us(1000);
		}
	}
	return NULL;
}

static void keep(long n)
{
	while (n-- > 0 && nr_kept < KEPT_MAX) {
		void *p = provoke(KEPT_SIZE);

		canary_fill(p, KEPT_SIZE);
		kept[nr_kept++] = p;
	}
}

static uint64_t verify(void)
{
	int i;

	for (i = 0; i < nr_kept; i++)
		if (!canary_holds(kept[i], KEPT_SIZE))
			bad++;
	return bad;
}

static void list(void)
{
	int i;

	for (i = 0; i < nr_kept; i++)
		say("%p %d %d", kept[i], KEPT_SIZE, (int)my_lwp());
	say("end %d", nr_kept);
}

static void obey(const char *line)
{
	const char *rest;

	if (after(line, "go") || after(line, "pause")) {
		crew_set(line[0] == 'g');
		say("ok");
	} else if ((rest = after(line, "more"))) {
		uint64_t until = __atomic_load_n(&caught, __ATOMIC_RELAXED) + (uint64_t)atol(rest);

		while (__atomic_load_n(&caught, __ATOMIC_RELAXED) < until)
			nap_us(500);
		say("ok");
	} else if ((rest = after(line, "keep"))) {
		keep(atol(rest));
		say("ok %d", nr_kept);
	} else if (after(line, "list")) {
		list();
	} else if (after(line, "counts")) {
		say("ok %llu", (unsigned long long)caught);
	} else if (after(line, "verify")) {
		say("%s", verify() ? "bad" : "ok");
	} else {
		say("bad command %s", line);
	}
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	char *line;
	long i;

	resting = argc > 1 && strcmp(argv[1], "-r") == 0;

	crew.members = THREADS;
	for (i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)(i + 1)) != 0)
			return 1;
	throw_once(LIMIT + 1);
	crew_set(false);
	say_ready();
	while ((line = hear()) && !after(line, "quit"))
		obey(line);
	crew_end();
	for (i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	return verify() != 0;
}
