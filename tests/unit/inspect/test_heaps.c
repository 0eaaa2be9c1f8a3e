/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The heaps of a view with the log: of which moment the answer is, and whether it is complete. */

#include "heap/fixture.h"
#include "inspect/heap_view.h"
#include "os/memory_limits.h"
#include "probe/allocators.h"
#include "view_world.h"

static struct err *walk_nothing(const struct heap_source *source UNUSED,
				struct heap_walk *ret UNUSED)
{
	return NULL;
}

static struct err *walk_fails(const struct heap_source *source UNUSED, struct heap_walk *ret UNUSED)
{
	return err_create(ERR_NOTFOUND, "no arena");
}

static const struct allocator empty = { .walk = walk_nothing }, broken = { .walk = walk_fails };
static const struct memory_limit own = { .left = UINT64_MAX };
static struct log log_;

static void record(uint64_t address, uint64_t time)
{
	struct log_record is = { .address = address, .size = 64, .time = time, .thread = 1,
				 .stack = LOG_STACK_NONE };

	CU_ASSERT_TRUE_FATAL(log_record_insert(&log_, &is, NULL));
}

static void begin(void)
{
	fixture_open(&log_);
	CU_ASSERT_EQUAL_FATAL(registry_thread(&log_, 1, 1), 1);
	world_open();
	world.view.log = &log_;
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&world.view.libcs,
					  ((struct memory_view_libc){ .allocator = &empty })));
	record(BLOCKS, 100);
	record(BLOCKS + 64, 300);
	world.view.accounts = reader_accounts(&log_);
}

static void end(void)
{
	world_close();
	fixture_close(&log_);
}

EACH(begin, end);

TEST("the log's blocks are those of the moment of the view")
{
	struct packed_list list;

	CU_ASSERT_PTR_NULL_FATAL(heaps_list_log(&world.view, true, &list));
	CU_ASSERT_EQUAL(list.nr, 2);
	packed_free(&list);
	world.view.until = 200;
	CU_ASSERT_PTR_NULL_FATAL(heaps_list_log(&world.view, true, &list));
	CU_ASSERT_EQUAL_FATAL(list.nr, 1);
	CU_ASSERT_EQUAL(packed_at(&list, 0)->address, BLOCKS);
	packed_free(&list);
	world.view.log = NULL;
	CU_ASSERT_PTR_NULL_FATAL(heaps_list_log(&world.view, true, &list));
	CU_ASSERT_EQUAL(list.nr, 0);
}

static bool is_complete(bool walk_only)
{
	struct word_list left_out = { VEC_INIT };
	struct heaps heaps = HEAPS_INIT;
	struct packed_list list = PACKED_INIT;
	struct heap_view walk = { .view = &world.view, .own_memory = &own, .ret = &heaps };

	if (walk_only)
		CU_ASSERT_PTR_NULL_FATAL(heaps_walk_past(&walk, &left_out))
	else
		CU_ASSERT_PTR_NULL_FATAL(heaps_list_past(&world.view, &own, false, &heaps, &list));
	CU_ASSERT_TRUE(heaps.walked);
	heap_view_free(&walk);
	heaps_free(&heaps);
	packed_free(&list);
	vec_free(&left_out.vec);
	return heaps.complete;
}

TEST("a view of a log that lacks something is not complete, whatever came after")
{
	CU_ASSERT_FALSE(is_complete(true));
	CU_ASSERT_FALSE(is_complete(false));
}

TEST("a view stays complete as long as nothing was freed since")
{
	world.view.complete = true;
	CU_ASSERT(is_complete(true) && is_complete(false));
	record(BLOCKS + 128, 400);
	CU_ASSERT(is_complete(true) && is_complete(false));
}

TEST("after a free a view is complete only if all its records are found again")
{
	world.view.complete = true;
	world.view.until = 350;
	record(BLOCKS + 128, 400);
	CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BLOCKS + 128, 1, NULL));
	CU_ASSERT(is_complete(true));
	/* A list does not count them. */
	CU_ASSERT_FALSE(is_complete(false));
	CU_ASSERT_TRUE_FATAL(log_record_remove(&log_, BLOCKS, 1, NULL));
	CU_ASSERT_FALSE(is_complete(true));
}

TEST("a walk of the past that fails leaves nothing")
{
	struct heaps heaps = HEAPS_INIT;
	struct packed_list list = PACKED_INIT;

	world.view.libcs.at[0].allocator = &broken;
	CU_ASSERT_EQUAL(heaps_list_past(&world.view, &own, false, &heaps, &list)->code, ERR_NOTFOUND);
	CU_ASSERT_FALSE(heaps.walked);
	CU_ASSERT_EQUAL(list.nr, 0);
}

TEST("a walk of now lists the log as it is, in place of an earlier list")
{
	struct reconcile_history before = { .any = false };
	struct word_list left_out = { VEC_INIT };
	struct heaps heaps = HEAPS_INIT;
	struct packed_list list = { .timed = true };
	struct heap_view walk = { .view = &world.view, .own_memory = &own, .ret = &heaps };

	world.view.complete = true;
	for (unsigned i = 0; i < 2; i++)
		CU_ASSERT_PTR_NULL_FATAL(heaps_walk(&walk, &before, &list, &left_out));
	CU_ASSERT(list.nr == 2 && list.timed && heaps.complete && heaps.walked);
	heap_view_free(&walk);
	heaps_free(&heaps);
	packed_free(&list);
	vec_free(&left_out.vec);
}
