/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A program to be started by mdbg. A constructor keeps a block of 12,345 bytes and main one of 23,456; then, by the
 * arguments: `exit N`, `signal N`, `cat` (copy standard input to standard output), `args A…` (print them).
 */
#include <signal.h>
#include <sys/resource.h>

#include "target.h"

static void *volatile early, *volatile late;

static NOINLINE void keep_early(void)
{
	early = malloc(12345);
	canary_fill(early, 12345);
}

__attribute__((constructor)) static void construct(void)
{
	keep_early();
	KEEP(*(void **)&early);
}

static void copy(void)
{
	char *line;

	while ((line = hear()))
		say("%s", line);
}

static int end_by(int signal)
{
	static const struct rlimit no_core = { 0, 0 };

	setrlimit(RLIMIT_CORE, &no_core);
	raise(signal);
	return 1;
}

int main(int argc, char **argv)
{
	int i;

	late = malloc(23456);
	canary_fill(late, 23456);
	if (argc > 1 && strcmp(argv[1], "cat") == 0)
		copy();
	else if (argc > 2 && strcmp(argv[1], "exit") == 0)
		return atoi(argv[2]);
	else if (argc > 2 && strcmp(argv[1], "signal") == 0)
		return end_by(atoi(argv[2]));
	else
		for (i = 1; i < argc; i++)
			say("%s", argv[i]);
	return !canary_holds(early, 12345) || !canary_holds(late, 23456);
}
