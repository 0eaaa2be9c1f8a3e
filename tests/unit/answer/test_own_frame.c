/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which frame of a stack a site is named after. */

#include <string.h>

#include "answer/own_frame.h"
#include "unit.h"

/*
 * A stack, a frame a letter: e entry, w wrapper, n without a name, f with a name; in the program, or
 * behind a digit in another module: 1 a library, 2 the C library, 3 no file.
 */
static void check(const char *stack, size_t own, size_t caller)
{
	static const char *const modules[] = { "program", "libfoo.so", "libc.so.6", NULL };
	struct own_search search = OWN_SEARCH_INIT;
	const char *module = modules[0];
	bool more = true;

	search.with_caller = true;
	for (const char *at = stack; *at && more; at++) {
		if (*at >= '1' && *at <= '3') {
			module = modules[*at - '0'];
			continue;
		}
		more = own_frame_next(&search, *at == 'e' ? OWN_ENTRY : *at == 'w' ? OWN_WRAPPER :
					*at == 'n' ? OWN_NAMELESS : OWN_NAMED, module);
		module = modules[0];
	}
	if (own_frame_end(&search) != own || search.caller != caller)
		CU_FAIL("another own frame, or caller");
}

TEST("a frame with a name")
{
	check("eff", 1, OWN_NONE);
	check("ewwf", 3, OWN_NONE);
	check("2e1wf", 2, OWN_NONE);
}

TEST("nothing but wrappers, or the entry")
{
	check("eww", 1, OWN_NONE);
	check("w", 0, OWN_NONE);
	check("e", OWN_NONE, OWN_NONE);
	check("", OWN_NONE, OWN_NONE);
}

TEST("a frame without a name has a caller")
{
	check("enf", 1, 2);
	check("ennnnnnf", 1, 7);
	check("ewnwnf", 4, 5);
	/* What starts the program is no caller; what the C library's own part has called is. */
	check("en2f", 1, OWN_NONE);
	check("en2ff", 1, 3);
	check("e2n2ff", 1, 2);
	check("en1f", 1, 2);
}

TEST("a wrapper has parts without a name")
{
	check("enwf", 3, OWN_NONE);
	check("ennwwnf", 5, 6);
	check("ennnwf", 5, OWN_NONE);
	check("ennnnwf", 1, 6);
	check("enw", 1, OWN_NONE);
	/* A wrapper of another file has called it back: it is no part of that one. */
	check("en1wf", 1, 3);
	check("e1n1wf", 3, OWN_NONE);
}

TEST("code of no file")
{
	check("e3n3nf", 1, 3);
	check("e3nwf", 1, 3);
}

TEST("without the caller it ends early")
{
	struct own_search search = OWN_SEARCH_INIT;

	CU_ASSERT_TRUE(own_frame_next(&search, OWN_ENTRY, "libc.so.6"));
	CU_ASSERT_TRUE(own_frame_next(&search, OWN_NAMELESS, "program"));
	CU_ASSERT_TRUE(own_frame_next(&search, OWN_NAMELESS, "program"));
	CU_ASSERT_TRUE(own_frame_next(&search, OWN_NAMELESS, "program"));
	CU_ASSERT_TRUE(own_frame_next(&search, OWN_NAMELESS, "program"));
	CU_ASSERT_FALSE(own_frame_next(&search, OWN_NAMELESS, "program"));
	CU_ASSERT_EQUAL(own_frame_end(&search), 1);
}
