/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Functions whose names harm who demangles them without limits: two that refer to themselves, one
 * with a loop of lifetimes that are not printed, and LONG, which a test makes of 4,000 letters.
 */

#include "target.h"

#ifndef LONG
#define LONG	"_Z1fI1aIiEEvRT_"
#endif

static void *volatile held;

#define FUNCTION(number, name, size) \
	void bad_##number(void) __asm__(name); \
	NOINLINE void bad_##number(void) { held = malloc(size); KEEP(held); }

FUNCTION(1, "_RB_", 101)
FUNCTION(2, "_RNvB_1a", 102)
FUNCTION(3, "_RMINvC1a1fFGzzzzzzzzz_EuEu", 103)
FUNCTION(4, LONG, 104)

int main(void)
{
	const char *line;

	say_ready();
	while ((line = hear())) {
		if (after(line, "allocate")) {
			bad_1();
			bad_2();
			bad_3();
			bad_4();
			say("ok");
		} else if (after(line, "verify")) {
			say("ok");
		} else if (after(line, "quit")) {
			return 0;
		} else {
			say("bad command");
		}
	}
	return 1;
}
