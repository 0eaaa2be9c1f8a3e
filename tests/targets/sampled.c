/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Many blocks from two sites, 32 and 4096 bytes each. Commands: `small N`, `large N` (more of them), `pairs N` (of small
 * ones that are freed at once), `resize` (all small ones to 48 bytes), `drop` (all), verify, quit.
 */
#include <sys/mman.h>

#include "target.h"

#define BLOCKS_MAX	(8l << 20)

static void **block;
static size_t nr;

static NOINLINE void small(long n, int keep)
{
	while (n-- > 0) {
		void *p = malloc(32);

		KEEP(p);
		block[nr++] = p;
		canary_fill(p, 32);
		if (!keep)
			free(block[--nr]);
	}
}

static NOINLINE void large(long n)
{
	while (n-- > 0) {
		void *p = malloc(4096);

		KEEP(p);
		block[nr++] = p;
		canary_fill(p, 32);
	}
}

static NOINLINE void resize(void)
{
	for (size_t i = 0; i < nr; i++) {
		block[i] = realloc(block[i], 48);
		KEEP(block[i]);
		canary_fill(block[i], 32);
	}
}

static size_t verify(void)
{
	size_t i, bad = 0;

	for (i = 0; i < nr; i++)
		bad += !canary_holds(block[i], 32);
	return bad;
}

int main(void)
{
	const char *rest;
	char *line;

	block = mmap(NULL, BLOCKS_MAX * sizeof(*block), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (block == MAP_FAILED)
		return 2;
	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if ((rest = after(line, "small")))
			small(atol(rest), 1);
		else if ((rest = after(line, "pairs")))
			small(atol(rest), 0);
		else if ((rest = after(line, "large")))
			large(atol(rest));
		else if (after(line, "resize"))
			resize();
		else if (after(line, "drop"))
			while (nr)
				free(block[--nr]);
		else if (!after(line, "verify")) {
			say("bad command %s", line);
			continue;
		}
		say("%s %zu", verify() ? "bad" : "ok", nr);
	}
	return verify() != 0;
}
