/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What every unit test sees: CUnit, what nearly all of them include, how a test is written, and how
 * to skip.
 *
 *	TEST("a long message is cut")
 *	{
 *		CU_ASSERT(…);
 *	}
 *
 * TEST puts a row with the test's name into a section of the program, of which the main (unit.c)
 * makes the suites: what is written is run, and there is no list that could lack it. The tests of a
 * file are a suite, in the file's order and with its name: test_call_stack.c is "call stack".
 */
#pragma once

#include <CUnit/Basic.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/compiler.h"

/* Is it a build with sanitizers, in which all takes ten times as long? */
#ifdef __has_feature
#define UNIT_SANITIZED	__has_feature(address_sanitizer)
#else
#define UNIT_SANITIZED	0
#endif

/* A test (run), or what the tests of its file need. */
struct unit_row {
	const char *file;
	int line;
	const char *name;
	void (*run)(void);
	int (*start)(void), (*end)(void);
	void (*before)(void), (*after)(void);
};

#define TEST(title) UNIT_TEST(title, UNIT_PASTE(test_at_, __LINE__))

/*
 * These are called before the tests of this file, and after them; either may be NULL. They return 0,
 * or the suite has failed.
 */
#define FIXTURE(first, last) SUITE(NULL, first, last)

/* The same for a suite of this name. With several of them in a file its tests run in each. */
#define SUITE(title, first, last) \
	UNIT_ROW(__COUNTER__, .name = title, .start = first, .end = last)

/*
 * These are called before each test of this file and after it, even if it has failed; either may
 * be NULL.
 */
#define EACH(first, last) UNIT_ROW(__COUNTER__, .before = first, .after = last)

#define UNIT_TEST(title, fn)                                   \
	static void fn(void);                                  \
	UNIT_ROW(__COUNTER__, .name = title, .run = fn);       \
	static void fn(void)

/* Pointers lie in the section one behind the other, whatever the compiler aligns the rows to. */
#define UNIT_ROW(id, ...)                                               \
	static const struct unit_row *UNIT_PASTE(unit_row_, id)         \
		__attribute__((used, section("unit_rows"))) =           \
		&(const struct unit_row){ .file = __FILE__, .line = __LINE__, __VA_ARGS__ }

#define UNIT_PASTE(a, b) UNIT_PASTE_(a, b)
#define UNIT_PASTE_(a, b) a##b

/*
 * This test cannot run here (a missing privilege, say): print why, count it as skipped; the caller
 * returns.
 */
void unit_skip(const char *why);

/* The next of a row of numbers at random, the same for each state at first, which is not 0 (xorshift64). */
static inline uint64_t unit_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* A suite that is made by hand is one that nobody runs. */
#ifndef UNIT_MAIN
#undef CU_ADD_TEST
#pragma GCC poison CU_add_suite CU_add_test
#endif
