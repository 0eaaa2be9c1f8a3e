/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program whose blocks come by a tree of calls: main, work, and from there left or right, both by make.
 *
 *	left N SIZE	N blocks, which are kept
 *	right N SIZE	N blocks, each of which is freed at once
 *	peak N SIZE	N blocks by burst, kept for 20 ms, then freed
 *	hold N SIZE	N blocks by burst, kept until `drop` (or any other line)
 *	verify, quit
 */
#include "target.h"

#include <stdbool.h>

static NOINLINE char *make(size_t size)
{
	char *p = malloc(size);

	KEEP(p);
	memset(p, 1, size);
	return p;
}

static NOINLINE void left(long n, size_t size)
{
	while (n-- > 0)
		make(size);
	CHANGE_ARGUMENTS();
}

static NOINLINE void right(long n, size_t size)
{
	while (n-- > 0)
		free(make(size));
	CHANGE_ARGUMENTS();
}

static NOINLINE void burst(long n, size_t size, bool until_told)
{
	char **held = calloc((size_t)n, sizeof(*held));

	for (long i = 0; i < n; i++)
		held[i] = make(size);
	if (until_told) {
		say("ok");
		hear();
	} else {
		nap_us(20000);
	}
	for (long i = 0; i < n; i++)
		free(held[i]);
	free(held);
}

static NOINLINE void work(char how, long n, size_t size)
{
	if (how == 'l')
		left(n, size);
	else if (how == 'r')
		right(n, size);
	else
		burst(n, size, how == 'h');
	CHANGE_ARGUMENTS();
}

int main(void)
{
	const char *line, *rest;

	say_ready();
	while ((line = hear())) {
		bool good = true;
		char *end;
		long n;

		if ((rest = after(line, "left")) || (rest = after(line, "right")) ||
		    (rest = after(line, "peak")) || (rest = after(line, "hold"))) {
			n = strtol(rest, &end, 10);
			work(line[0], n, (size_t)strtol(end, NULL, 10));
		} else if (after(line, "quit")) {
			break;
		} else if (!after(line, "verify")) {
			good = false;
		}
		say("%s", good ? "ok" : "bad");
	}
	return 0;
}
