/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program that has a function of its own with the name of an allocator's, and more arguments. Commands: `calls N` (the
 * reply is what has arrived in N calls), verify, quit.
 */
#include "target.h"

long free_sized(char *at, size_t len, const char *file, long line, long tag, long more);

NOINLINE long free_sized(char *at, size_t len, const char *file, long line, long tag, long more)
{
	long arrived = at && file ? (long)len + line + tag + more : 0;

	KEEP(arrived);
	CHANGE_ARGUMENTS();
	return arrived;
}

static NOINLINE long call(long n)
{
	long arrived = 0;
	char at[16];

	while (n-- > 0)
		arrived += free_sized(at, 300, __FILE__, 10000, 2000000, 300000000);
	return arrived;
}

int main(void)
{
	const char *line, *rest;

	say_ready();
	while ((line = hear()) && !after(line, "quit")) {
		if ((rest = after(line, "calls")))
			say("%ld", call(atol(rest)));
		else
			say("ok");
	}
	return 0;
}
