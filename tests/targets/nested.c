/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * nested: functions that call one another, allocate, and then wait in the innermost one, so that a
 * block's stack can be compared with the one that the thread stands in. One is inlined.
 *
 *	deeper		calls the next function, which allocates a block of 1000 bytes and then waits in its turn; `ok DEPTH`
 *	quit
 */
#include "target.h"

static void *held[16];

static void obey(int depth);

static inline __attribute__((always_inline)) void *nested_inlined(size_t size)
{
	void *p = malloc(size);

	KEEP(p);
	return p;
}

static NOINLINE void nested_inner(int depth)
{
	held[depth] = nested_inlined(1000);
	say("ok %d", depth);
	obey(depth);
	KEEP(depth);
}

static NOINLINE void nested_middle(int depth)
{
	nested_inner(depth);
	KEEP(depth);
}

static NOINLINE void nested_outer(int depth)
{
	nested_middle(depth);
	KEEP(depth);
}

static NOINLINE void obey(int depth)
{
	const char *line;

	while ((line = hear()) && strcmp(line, "quit")) {
		if (strcmp(line, "deeper") || depth == 15) {
			say("bad command");
			continue;
		}
		nested_outer(depth + 1);
		KEEP(depth);
		return;
	}
}

int main(void)
{
	say_ready();
	obey(0);
	for (unsigned i = 0; i < 16; i++)
		free(held[i]);
	return 0;
}
