/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which functions pprof's readers leave out. */

#include <string.h>

#include "export/drop_frames.h"
#include "model.h"
#include "unit.h"

static struct model model;

static void end(struct model **unused)
{
	(void)unused;
	model_free(&model);
}

/* Each test changes the model. */
#define MODEL	struct model *made __attribute__((cleanup(end), unused)) = (model_make(&model), &model)

static void check(const char *want)
{
	AUTO_STR struct str text = STR_INIT;

	CU_ASSERT_PTR_NULL(drop_frames_add(&model, &text));
	CU_ASSERT_STRING_EQUAL(str_text(&text), want);
}

static struct model_frame *frame(const char *name)
{
	vec_each(each, &model.frames)
		if (!strcmp(each->name, name))
			return each;
	return NULL;
}

TEST("the allocator's entry")
{
	MODEL;

	check("malloc");
}

TEST("wrappers, without parameters, quoted")
{
	MODEL;

	frame(model_hostile)->name = "std::vector<int*>::operator()(int)";
	frame("std::vector<int*>::operator()(int)")->skipped = true;
	check("malloc|std::vector<int\\*>::operator\\(\\)");
	frame("std::vector<int*>::operator()(int)")->name = "(anonymous namespace)::get.part(char)";
	check("malloc|\\(anonymous namespace\\)::get\\.part");
}

/* The outer f is the own frame of one stack, so that the inner one, a wrapper there, cannot go. */
TEST("a function that is elsewhere, too, stays")
{
	MODEL;

	frame("f")->skipped = true;
	check("malloc");
}

/* Nothing tells of wrappers where there is nothing else. */
TEST("a stack of wrappers alone")
{
	MODEL;

	vec_each(each, &model.frames)
		each->skipped = true;
	check("");
}

TEST("names of any length have an end")
{
	AUTO_STR struct str text = STR_INIT;
	MODEL;

	frame(model_long())->skipped = true;
	CU_ASSERT_PTR_NULL(drop_frames_add(&model, &text));
	CU_ASSERT_EQUAL(text.len, strlen("malloc|") + MODEL_LONG);
}
