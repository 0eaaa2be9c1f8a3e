/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sites of two lists: which are the same, by build or by name, and what their difference is. */

#include "heap/site_match.h"

#include "unit.h"

#define BUILD(build, offset, name)	{ build, name, offset, false }
#define INLINED(build, offset, name)	{ build, name, offset, true }
#define FRAMES(...) \
	(const struct match_frame[]){ __VA_ARGS__ }, \
	sizeof((const struct match_frame[]){ __VA_ARGS__ }) / sizeof(struct match_frame)

enum { NO_BUILD, LIBC, OLD, NEW };
enum { NO_NAME, MALLOC, LOAD, MAIN, HELPER };

static struct match_side from, to;

static void add(struct match_side *side, uint64_t bytes, uint64_t count,
		const struct match_frame *frames, size_t nr)
{
	struct match_site site = { (uint32_t)side->frames.nr, (uint32_t)nr, bytes, count };

	for (size_t i = 0; i < nr; i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&side->frames, frames[i]));
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&side->sites, site));
}

/* Match what was added, and forget it. */
static struct match matched(void)
{
	struct match match = MATCH_INIT;

	CU_ASSERT_PTR_NULL_FATAL(match_build(&from, &to, &match));
	CU_ASSERT_EQUAL(match.to.bytes - match.from.bytes, match.grown - match.shrunk);
	match_side_free(&from);
	match_side_free(&to);
	return match;
}

static bool has_sites(const struct match *match, size_t by_build, size_t by_names, size_t only)
{
	return match->sites[MATCH_BUILD] == by_build && match->sites[MATCH_NAMES] == by_names &&
	       match->sites[MATCH_ONLY] == only;
}

static bool is_change(const struct match *match, size_t i, uint32_t one, uint32_t other,
		      enum match_by by, int64_t bytes, int64_t count)
{
	const struct match_change *change = &match->vec.at[i];

	return i < match->vec.nr && change->from == one && change->to == other &&
	       change->by == by && change->bytes == bytes && change->count == count;
}

/* Names are not looked at: two lines of main stay two sites. */
TEST("matches by build")
{
	struct match match;

	add(&from, 100, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN)));
	add(&from, 200, 2, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 20, MAIN)));
	add(&from, 300, 3, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 30, MAIN)));
	add(&to, 250, 3, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 20, MAIN)));
	add(&to, 100, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN)));
	add(&to, 7, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 40, MAIN)));
	match = matched();
	CU_ASSERT(has_sites(&match, 2, 0, 2));
	CU_ASSERT_EQUAL(match.vec.nr, 3);
	CU_ASSERT(is_change(&match, 0, 2, MATCH_NONE, MATCH_ONLY, -300, -3));
	CU_ASSERT(is_change(&match, 1, 1, 0, MATCH_BUILD, 50, 1));
	CU_ASSERT(is_change(&match, 2, MATCH_NONE, 2, MATCH_ONLY, 7, 1));
	CU_ASSERT(match.grown == 57 && match.shrunk == 300);
	CU_ASSERT(match.from.bytes == 600 && match.from.blocks == 6 && match.to.bytes == 357);
	match_free(&match);
}

/* The program was built anew, its library was not; what was a call has been inlined. */
TEST("matches by names")
{
	struct match match;

	add(&from, 100, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, LOAD), BUILD(OLD, 50, MAIN)));
	add(&from, 10, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 11, HELPER)));
	add(&from, 20, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(LIBC, 77, HELPER)));
	add(&to, 150, 2, FRAMES(BUILD(LIBC, 1, MALLOC), INLINED(NEW, 90, LOAD), BUILD(NEW, 90, MAIN)));
	add(&to, 10, 2, FRAMES(BUILD(LIBC, 2, MALLOC), BUILD(NEW, 99, HELPER)));
	add(&to, 20, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(LIBC, 77, NO_NAME)));
	match = matched();
	CU_ASSERT(has_sites(&match, 1, 1, 2));
	CU_ASSERT(is_change(&match, 0, 0, 0, MATCH_NAMES, 50, 1));
	CU_ASSERT(is_change(&match, 1, MATCH_NONE, 1, MATCH_ONLY, 10, 2));
	CU_ASSERT(is_change(&match, 2, 1, MATCH_NONE, MATCH_ONLY, -10, -1));
	match_free(&match);
}

/* Inlined functions of a common build follow from the offset. */
TEST("passes over inlined functions")
{
	struct match match;

	add(&from, 5, 1, FRAMES(INLINED(OLD, 10, LOAD), BUILD(OLD, 10, MAIN)));
	add(&to, 5, 1, FRAMES(BUILD(OLD, 10, MAIN)));
	match = matched();
	CU_ASSERT(has_sites(&match, 1, 0, 0) && !match.vec.nr && !match.grown && !match.shrunk);
	match_free(&match);
}

/* A stripped library of another build may have any function at an offset. */
TEST("nameless frames")
{
	struct match match;

	add(&from, 5, 1, FRAMES(BUILD(OLD, 10, NO_NAME)));
	add(&to, 5, 1, FRAMES(BUILD(NEW, 10, NO_NAME)));
	match = matched();
	CU_ASSERT(has_sites(&match, 0, 0, 2) && match.grown == 5 && match.shrunk == 5);
	match_free(&match);
	add(&from, 5, 1, FRAMES(BUILD(NO_BUILD, 10, HELPER)));
	add(&to, 5, 1, FRAMES(BUILD(NO_BUILD, 20, HELPER)));
	match = matched();
	CU_ASSERT(has_sites(&match, 0, 1, 0));
	match_free(&match);
}

/* Sites of a list that cannot be told apart count as one, which the largest stands for. */
TEST("adds up equal sites")
{
	struct match match;

	add(&from, 10, 1, FRAMES(BUILD(OLD, 10, MAIN)));
	add(&from, 30, 1, FRAMES(BUILD(OLD, 20, MAIN)));
	add(&to, 50, 4, FRAMES(BUILD(NEW, 11, MAIN)));
	add(&to, 5, 1, FRAMES(BUILD(NEW, 21, MAIN)));
	match = matched();
	CU_ASSERT(has_sites(&match, 0, 1, 0));
	CU_ASSERT(is_change(&match, 0, 1, 0, MATCH_NAMES, 15, 3));
	match_free(&match);
}

/* A stack that is the beginning of another one is not the same; and one without frames is. */
TEST("lengths")
{
	struct match match;

	add(&from, 1, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN)));
	add(&to, 1, 1, FRAMES(BUILD(LIBC, 1, MALLOC)));
	add(&to, 1, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN), BUILD(LIBC, 9, MAIN)));
	add(&from, 2, 1, NULL, 0);
	add(&to, 3, 1, NULL, 0);
	match = matched();
	CU_ASSERT(has_sites(&match, 1, 0, 3));
	match_free(&match);
	match = matched();
	CU_ASSERT(has_sites(&match, 0, 0, 0) && !match.vec.nr);
	match_free(&match);
}

/* A file may say anything, and nothing overflows. */
TEST("absurd sums")
{
	struct match match;

	add(&from, UINT64_MAX, 1, FRAMES(BUILD(OLD, 10, MAIN)));
	add(&from, 1ull << 63, UINT64_MAX, FRAMES(BUILD(OLD, 10, MAIN)));
	add(&to, 1ull << 63, 1, FRAMES(BUILD(OLD, 11, MAIN)));
	match = matched();
	CU_ASSERT_EQUAL(match.vec.nr, 2);
	match_free(&match);
}
