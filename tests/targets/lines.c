/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * lines: lines that allocate, and what the program itself knows of each, as memcheck's xtree would say it.
 *
 *	make N		two callers call pair N times each, which allocates in two lines; and one that was inlined into both,
 *			which allocates in a third line
 *	drop LINE N	frees the N oldest blocks of that line
 *	lines		a line for each: LINE FUNCTION BYTES COUNT TOTALBYTES TOTAL FREEDBYTES FREED, then `end N`
 *	verify, quit
 */
#include "target.h"

#define BLOCKS_MAX	100000

struct row {
	const char *function;
	int line;
	size_t size;
	void *block[BLOCKS_MAX];
	size_t made, dropped;
};

static struct row rows[3];

static NOINLINE void keep(int site, int line, const char *function, size_t size, void *block)
{
	struct row *row = &rows[site];

	if (row->made == BLOCKS_MAX || !block)
		abort();
	row->line = line;
	row->function = function;
	row->size = size;
	canary_fill(block, size);
	row->block[row->made++] = block;
}

/* The call and its number are of one line. */
#define MAKE(site, size)	keep(site, __LINE__, __func__, size, malloc(size))

/* Behind the last call of a function: it is no jump, and the function is in the stack. */
static void stay(void)
{
	__asm__ volatile("" : : : "memory");
}

static NOINLINE void pair(void)
{
	MAKE(0, 24);
	MAKE(1, 4000);
	stay();
}

static inline __attribute__((always_inline)) void inside(void)
{
	MAKE(2, 56);
}

static NOINLINE void one(long n)
{
	for (; n > 0; n--) {
		pair();
		inside();
	}
}

static NOINLINE void other(long n)
{
	for (; n > 0; n--) {
		inside();
		pair();
	}
}

static int drop(int line, size_t n)
{
	for (int i = 0; i < 3; i++) {
		struct row *row = &rows[i];

		if (row->line != line)
			continue;
		for (; n && row->dropped < row->made; n--)
			free(row->block[row->dropped++]);
		return !n;
	}
	return 0;
}

static void list(void)
{
	for (int i = 0; i < 3; i++) {
		const struct row *row = &rows[i];
		size_t held = row->made - row->dropped;

		say("%d %s %zu %zu %zu %zu %zu %zu", row->line, row->function, held * row->size, held,
		    row->made * row->size, row->made, row->dropped * row->size, row->dropped);
	}
	say("end 3");
}

static int verify(void)
{
	for (int i = 0; i < 3; i++)
		for (size_t j = rows[i].dropped; j < rows[i].made; j++)
			if (!canary_holds(rows[i].block[j], rows[i].size))
				return 0;
	return 1;
}

int main(void)
{
	const char *line, *rest;

	say_ready();
	while ((line = hear())) {
		int good = 1;

		if ((rest = after(line, "make"))) {
			one(atol(rest));
			other(atol(rest));
		} else if ((rest = after(line, "drop"))) {
			char *end;
			long at = strtol(rest, &end, 10);

			good = drop((int)at, strtoul(end, NULL, 10));
		} else if (after(line, "lines")) {
			list();
			continue;
		} else if (after(line, "verify")) {
			good = verify();
		} else if (after(line, "quit")) {
			break;
		} else {
			good = 0;
		}
		say(good ? "ok" : "bad");
	}
	return !verify();
}
