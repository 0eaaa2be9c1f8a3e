/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sites of two models: which are the same, by build or by name, and what their difference is. */

#include "export/compare.h"

#include <string.h>

#include "export/model.h"
#include "unit.h"

struct frame {
	const char *build, *name;	/* "": no build-id; NULL: no name */
	uint64_t offset;
	bool inlined;
};

#define BUILD(build, offset, name)	{ build, name, offset, false }
#define INLINED(build, offset, name)	{ build, name, offset, true }
#define FRAMES(...) \
	(const struct frame[]){ __VA_ARGS__ }, \
	sizeof((const struct frame[]){ __VA_ARGS__ }) / sizeof(struct frame)

#define NO_BUILD	""
#define LIBC		"1bc"
#define OLD		"01d"
#define NEW		"9e3"
#define NO_NAME		NULL
#define MALLOC		"malloc"
#define LOAD		"load"
#define MAIN		"main"
#define HELPER		"helper"

static struct model from, to;

static uint32_t module_of(struct model *model, const char *build)
{
	struct model_module module = { .path = "/bin/x", .build_id = strdup(build) };

	CU_ASSERT_PTR_NOT_NULL_FATAL(module.build_id);
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&model->modules, module));
	return (uint32_t)model->modules.nr - 1;
}

/* Inlined frames are a part of the location that the frame behind them ends. */
static void add(struct model *model, uint64_t bytes, uint64_t count, const struct frame *frames,
		size_t nr)
{
	struct model_site site = { .part = MODEL_RECORDED, .first = (uint32_t)model->path.nr,
				   .figures = { .bytes = bytes, .count = count } };
	struct model_location location = { .nr = 0 };

	for (size_t i = 0; i < nr; i++) {
		if (!location.nr++)
			location.first = (uint32_t)model->frames.nr;
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&model->frames, ((struct model_frame){
			.name = frames[i].name ? frames[i].name : "[x+0x1]",
			.full = frames[i].name, .inlined = frames[i].inlined })));
		if (frames[i].inlined)
			continue;
		location.offset = frames[i].offset;
		location.module = module_of(model, frames[i].build);
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&model->path, (uint32_t)model->locations.nr));
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&model->locations, location));
		location.nr = 0;
	}
	site.nr = (uint32_t)model->path.nr - site.first;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&model->sites, site));
}

/* Compare what was added, and forget it. */
static struct difference compared(void)
{
	struct compare compare = { .from = { .model = &from }, .to = { .model = &to } };
	struct difference *difference = &compare.difference;

	CU_ASSERT_PTR_NULL_FATAL(compare_build(&compare));
	CU_ASSERT_EQUAL(difference->to.bytes - difference->from.bytes,
			difference->grown - difference->shrunk);
	model_free(&from);
	model_free(&to);
	memset(&from, 0, sizeof(from));
	memset(&to, 0, sizeof(to));
	return compare.difference;
}

static bool has_sites(const struct difference *difference, size_t exact, size_t names, size_t only)
{
	return difference->sites[DIFFERENCE_EXACT] == exact &&
	       difference->sites[DIFFERENCE_NAMES] == names &&
	       difference->sites[DIFFERENCE_ONLY] == only;
}

static bool is_change(const struct difference *difference, size_t i, uint32_t one, uint32_t other,
		      enum difference_by by, int64_t bytes, int64_t count)
{
	const struct change *change = &difference->vec.at[i];

	return i < difference->vec.nr && change->from == one && change->to == other &&
	       change->by == by && change->bytes == bytes && change->count == count;
}

/* Names are not looked at: two lines of main stay two sites. */
TEST("matches by build")
{
	CLEANUP(difference_free) struct difference difference;

	add(&from, 100, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN)));
	add(&from, 200, 2, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 20, MAIN)));
	add(&from, 300, 3, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 30, MAIN)));
	add(&to, 250, 3, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 20, MAIN)));
	add(&to, 100, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN)));
	add(&to, 7, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 40, MAIN)));
	difference = compared();
	CU_ASSERT(has_sites(&difference, 2, 0, 2));
	CU_ASSERT_EQUAL(difference.vec.nr, 3);
	CU_ASSERT(is_change(&difference, 0, 2, DIFFERENCE_NONE, DIFFERENCE_ONLY, -300, -3));
	CU_ASSERT(is_change(&difference, 1, 1, 0, DIFFERENCE_EXACT, 50, 1));
	CU_ASSERT(is_change(&difference, 2, DIFFERENCE_NONE, 2, DIFFERENCE_ONLY, 7, 1));
	CU_ASSERT(difference.grown == 57 && difference.shrunk == 300);
	CU_ASSERT(difference.from.bytes == 600 && difference.from.blocks == 6 && difference.to.bytes == 357);
}

/* The program was built anew, its library was not; what was a call has been inlined. */
TEST("matches by names")
{
	CLEANUP(difference_free) struct difference difference;

	add(&from, 100, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, LOAD), BUILD(OLD, 50, MAIN)));
	add(&from, 10, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 11, HELPER)));
	add(&from, 20, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(LIBC, 77, HELPER)));
	add(&to, 150, 2, FRAMES(BUILD(LIBC, 1, MALLOC), INLINED(NEW, 90, LOAD), BUILD(NEW, 90, MAIN)));
	add(&to, 10, 2, FRAMES(BUILD(LIBC, 2, MALLOC), BUILD(NEW, 99, HELPER)));
	add(&to, 20, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(LIBC, 77, NO_NAME)));
	difference = compared();
	CU_ASSERT(has_sites(&difference, 1, 1, 2));
	CU_ASSERT(is_change(&difference, 0, 0, 0, DIFFERENCE_NAMES, 50, 1));
	CU_ASSERT(is_change(&difference, 1, DIFFERENCE_NONE, 1, DIFFERENCE_ONLY, 10, 2));
	CU_ASSERT(is_change(&difference, 2, 1, DIFFERENCE_NONE, DIFFERENCE_ONLY, -10, -1));
}

/* Inlined functions of a common build follow from the offset. */
TEST("passes over inlined functions")
{
	CLEANUP(difference_free) struct difference difference;

	add(&from, 5, 1, FRAMES(INLINED(OLD, 10, LOAD), BUILD(OLD, 10, MAIN)));
	add(&to, 5, 1, FRAMES(BUILD(OLD, 10, MAIN)));
	difference = compared();
	CU_ASSERT(has_sites(&difference, 1, 0, 0) && !difference.vec.nr && !difference.grown && !difference.shrunk);
}

/* A stripped library of another build may have any function at an offset. */
TEST("nameless frames")
{
	struct difference difference;

	add(&from, 5, 1, FRAMES(BUILD(OLD, 10, NO_NAME)));
	add(&to, 5, 1, FRAMES(BUILD(NEW, 10, NO_NAME)));
	difference = compared();
	CU_ASSERT(has_sites(&difference, 0, 0, 2) && difference.grown == 5 && difference.shrunk == 5);
	difference_free(&difference);
	add(&from, 5, 1, FRAMES(BUILD(NO_BUILD, 10, HELPER)));
	add(&to, 5, 1, FRAMES(BUILD(NO_BUILD, 20, HELPER)));
	difference = compared();
	CU_ASSERT(has_sites(&difference, 0, 1, 0));
	difference_free(&difference);
}

/* Sites of a model that cannot be told apart count as one. */
TEST("adds up equal sites")
{
	CLEANUP(difference_free) struct difference difference;

	add(&from, 10, 1, FRAMES(BUILD(OLD, 10, MAIN)));
	add(&from, 30, 1, FRAMES(BUILD(OLD, 20, MAIN)));
	add(&to, 50, 4, FRAMES(BUILD(NEW, 11, MAIN)));
	add(&to, 5, 1, FRAMES(BUILD(NEW, 21, MAIN)));
	difference = compared();
	CU_ASSERT(has_sites(&difference, 0, 1, 0));
	CU_ASSERT(is_change(&difference, 0, 1, 0, DIFFERENCE_NAMES, 15, 3));
}

/* A stack that is the beginning of another one is not the same; and one without frames is. */
TEST("lengths")
{
	struct difference difference;

	add(&from, 1, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN)));
	add(&to, 1, 1, FRAMES(BUILD(LIBC, 1, MALLOC)));
	add(&to, 1, 1, FRAMES(BUILD(LIBC, 1, MALLOC), BUILD(OLD, 10, MAIN), BUILD(LIBC, 9, MAIN)));
	add(&from, 2, 1, NULL, 0);
	add(&to, 3, 1, NULL, 0);
	difference = compared();
	CU_ASSERT(has_sites(&difference, 1, 0, 3));
	difference_free(&difference);
	difference = compared();
	CU_ASSERT(has_sites(&difference, 0, 0, 0) && !difference.vec.nr);
	difference_free(&difference);
}
