/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks of which only the compiler could say what they are, at the call: the case writes that into the debug
 * information. Commands: go (ten blocks), verify, quit.
 */
#include "target.h"

struct stated {
	int a[10];
	double b;
};

struct stated example;
void *stated[64];
int nr_stated;

NOINLINE void keep_one(int at)
{
	void *one = malloc(sizeof(struct stated));

	KEEP(one);
	stated[at] = one;
}

int main(void)
{
	char *line;

	say_ready();
	while ((line = hear()) && strcmp(line, "quit")) {
		for (int i = 0; i < 10 && !strcmp(line, "go"); i++)
			keep_one(nr_stated++);
		say("ok %d %d", nr_stated, example.a[0]);
	}
	return 0;
}
