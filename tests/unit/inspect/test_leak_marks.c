/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The result of a leak search. */

#include "inspect/leak_marks.h"
#include "unit.h"

TEST("an error of a walk is told, unless it ends the search")
{
	struct leak_marks marks = { .held = PACKED_INIT };

	CU_ASSERT_PTR_NOT_NULL(leak_marks_take_walk(&marks, err_nomem));
	CU_ASSERT_PTR_NOT_NULL(leak_marks_take_walk(&marks, err_create(ERR_GONE, "ended")));
	CU_ASSERT_PTR_NULL(leak_marks_take_walk(&marks, err_create(ERR_NOTFOUND, "no arena")));
	CU_ASSERT_FALSE(marks.walked);
	CU_ASSERT_STRING_EQUAL(marks.why, "no arena");
}

TEST("the figures of a walk are taken over")
{
	struct leak_marks marks = { .held = PACKED_INIT };

	marks.heap.walk.damages = 2;
	marks.heap.walk.uncertain = 3;
	marks.heap.walk.caches_known = true;
	CU_ASSERT_PTR_NULL(leak_marks_take_walk(&marks, NULL));
	CU_ASSERT(marks.walked && marks.damages == 2 && marks.uncertain == 3 && marks.caches_known);
}

TEST("heaps are torn by damage, by doubts and by caches that are not known")
{
	struct leak_marks marks = { .walked = true, .caches_known = true };

	CU_ASSERT_FALSE(leak_marks_torn(&marks));
	marks.damages = 1;
	CU_ASSERT(leak_marks_torn(&marks));
	marks.damages = 0;
	marks.uncertain = 1;
	CU_ASSERT(leak_marks_torn(&marks));
	marks.uncertain = 0;
	marks.caches_known = false;
	CU_ASSERT(leak_marks_torn(&marks));
	marks.walked = false;
	CU_ASSERT_FALSE(leak_marks_torn(&marks));
}

TEST("what was lent is freed by its owner alone")
{
	struct leak_marks found = { .held = PACKED_INIT }, lent;
	struct block block = { .address = 0x1000, .size = 16 };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(&found.held, &block));
	CU_ASSERT_PTR_NULL_FATAL(leak_marks_lend(&found, &lent));
	leak_marks_free(&lent);
	CU_ASSERT_EQUAL(packed_at(&found.held, 0)->address, 0x1000);
	leak_marks_free(&found);
}

TEST("a result that is forgotten keeps only why there was no walk")
{
	struct leak_marks marks = { .walked = true, .why = "why", .blind_threads = 1, .under_way = 1,
				    .unread = { 1, 2 } };
	struct block block = { .address = 0x1000, .size = 16 };

	CU_ASSERT_PTR_NULL_FATAL(packed_add(&marks.held, &block));
	leak_marks_forget(&marks);
	CU_ASSERT(!marks.held.nr && !marks.walked && !marks.blind_threads && !marks.under_way);
	CU_ASSERT(!marks.unread.absent && !marks.unread.elsewhere);
	CU_ASSERT_STRING_EQUAL(marks.why, "why");
}
