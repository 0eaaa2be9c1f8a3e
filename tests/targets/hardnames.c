/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions whose names are commands to Tcl, to mdbg and to a shell; each holds a block. */

#include <stdio.h>
#include <stdlib.h>

void in_brackets(void) __asm__("\"zserver_a[exec touch ran]\"");
void redirected(void) __asm__("\">zserver_b\"");
void piped(void) __asm__("\"|touch ran\"");

static void *volatile kept[3];

__attribute__((noinline)) void in_brackets(void)
{
	kept[0] = malloc(1077);
}

__attribute__((noinline)) void redirected(void)
{
	kept[1] = malloc(1078);
}

__attribute__((noinline)) void piped(void)
{
	kept[2] = malloc(1079);
}

int main(void)
{
	char line[64];

	printf("ready\n");
	fflush(stdout);
	/* For each line that it is told. */
	while (fgets(line, sizeof(line), stdin)) {
		in_brackets();
		redirected();
		piped();
		printf("ok\n");
		fflush(stdout);
	}
	return 0;
}
