/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocks that the targets of hard places hold, and know: of one size each kind, with canaries. */
#pragma once

#include "target.h"

#define HELD_MAX	65536

static struct { void *address; size_t size; } held[HELD_MAX];
static unsigned nr_held;

/* Keep one more block of size, from any thread or signal handler. Returns whether there was memory. */
static UNUSED NOINLINE int hold(size_t size)
{
	void *p = malloc(size);
	unsigned i;

	KEEP(p);
	if (!p)
		return 0;
	i = __atomic_fetch_add(&nr_held, 1, __ATOMIC_RELAXED);
	if (i >= HELD_MAX)
		_exit(96);
	canary_fill(p, size);
	held[i].size = size;
	__atomic_store_n(&held[i].address, p, __ATOMIC_RELEASE);
	return 1;
}

static UNUSED NOINLINE void pair(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	free(p);
	__asm__ volatile("" : : : "memory");	/* free is not the last call */
}

static UNUSED unsigned bad_blocks(void)
{
	unsigned i, bad = 0;

	for (i = 0; i < nr_held; i++)
		bad += !canary_holds(held[i].address, held[i].size);
	return bad;
}

static UNUSED void drop_blocks(void)
{
	while (nr_held > 0)
		free(held[--nr_held].address);
}

/* make N SIZE, pairs N, drop, verify: answered here. */
static UNUSED int obey_blocks(const char *line)
{
	const char *rest;
	unsigned long n, i;
	size_t size = 777;

	if ((rest = after(line, "make"))) {
		sscanf(rest, "%lu %zu", &n, &size);
		for (i = 0; i < n && hold(size); i++)
			;
		say(i == n ? "ok %lu" : "bad %lu", i);
	} else if ((rest = after(line, "pairs"))) {
		for (n = strtoul(rest, NULL, 10), i = 0; i < n; i++)
			pair(100 + i % 100);
		say("ok");
	} else if (after(line, "drop")) {
		drop_blocks();
		say("ok");
	} else if (after(line, "verify")) {
		say("%s %u", bad_blocks() ? "bad" : "ok", nr_held);
	} else {
		return 0;
	}
	return 1;
}
