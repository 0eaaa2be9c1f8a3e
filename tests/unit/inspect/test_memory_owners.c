/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whose anonymous memory is. */

#include "heap/fixture.h"
#include "inspect/memory_owners.h"
#include "os/pagemap.h"
#include "view_world.h"

#define TID_OFFSET	128u	/* where a control block has its thread */

static struct smaps smaps;
static struct proc_tasks tasks;
static struct pagemap pagemap = { .fd = -1 };
static struct memory_facts facts;
static struct memory_owners owners;
static struct memory_owners_of of;

static void begin(void)
{
	static const pid_t tids[] = { 1, TID };

	world_open();
	put(TP + TID_OFFSET, TID);
	smaps = (struct smaps){ .maps = world.view.maps };
	world.view.maps = (struct proc_maps){ VEC_INIT };
	for (size_t i = 0; i < ARRAY_SIZE(tids); i++)
		CU_ASSERT_PTR_NULL_FATAL(vec_push(&tasks.vec, tids[i]));
	facts = (struct memory_facts){ .tid_offset = TID_OFFSET, .stack_offset = STACK_OFFSET };
	of = (struct memory_owners_of){
		.pid = 1, .smaps = &smaps, .memory = &world.memory.memory, .pagemap = &pagemap,
		.tasks = &tasks,
	};
}

static void end(void)
{
	smaps_free(&smaps);
	vec_free(&tasks.vec);
	vec_free(&owners.vec);
	world_close();
}

EACH(begin, end);

static void check(uint64_t start, uint64_t stop, enum memory_kind kind, pid_t thread)
{
	CU_ASSERT_EQUAL_FATAL(owners.vec.nr, 1);
	CU_ASSERT(owners.vec.at[0].start == start && owners.vec.at[0].end == stop);
	CU_ASSERT(owners.vec.at[0].kind == kind && owners.vec.at[0].thread == thread);
	vec_clear(&owners.vec);
}

static void find(void)
{
	CU_ASSERT_PTR_NULL_FATAL(memory_owners_find(&of, &facts, &owners));
}

TEST("a stack, with its guard, is told by the control block in its last page")
{
	find();
	check(GUARD, END, MEMORY_STACKS, TID);
	put(TP + 16, 0);
	find();
	CU_ASSERT_EQUAL(owners.vec.nr, 0);
}

TEST("a stack whose thread is not there is one of a thread that has ended")
{
	tasks.vec.nr = 1;
	find();
	check(GUARD, END, MEMORY_STACKS, MEMORY_ENDED);
}

TEST("where the bounds are not known a guard page tells a stack")
{
	facts = (struct memory_facts){ .tid_offset = 0 };
	find();
	check(STACK, END, MEMORY_STACKS, 0);
	smaps.maps.vec.at[2].read = true;
	find();
	CU_ASSERT_EQUAL(owners.vec.nr, 0);
}

TEST("a mapping with a block is a heap, where no allocator's data say where its heaps are")
{
	struct log_record block = { .address = BLOCKS + 64, .size = 64, .time = 1, .thread = 1,
				    .stack = LOG_STACK_NONE };
	CLEANUP(fixture_close) struct log log;

	fixture_open(&log);
	CU_ASSERT_EQUAL_FATAL(registry_thread(&log, 1, 1), 1);
	CU_ASSERT_TRUE_FATAL(log_record_insert(&log, &block, NULL));
	of.tasks = NULL;
	of.log = &log;
	find();
	CU_ASSERT(owners.vec.nr == 0 && owners.whole);
	of.unknown_heaps = true;
	find();
	CU_ASSERT(owners.vec.nr == 0 && !owners.whole && owners.rest_is_heap);
	/* A runtime has a heap of its own beside it. */
	of.runtimes = true;
	find();
	CU_ASSERT(!owners.whole && !owners.rest_is_heap);
	check(BLOCKS, BLOCKS_END, MEMORY_HEAP, 0);
	of.log = NULL;
	find();
	CU_ASSERT(owners.vec.nr == 0 && !owners.whole);
	/* What was taken for glibc is not. */
	of.unknown_heaps = of.runtimes = false;
	of.guessed_heaps = true;
	find();
	CU_ASSERT(!owners.whole && owners.rest_is_heap);
}

TEST("mdbg's memory is what is in its journal, as long as it is there")
{
	static union {
		struct journal journal;
		uint8_t bytes[JOURNAL_SIZE];
	} own;
	const struct journal_entry entry = {
		.kind = JOURNAL_MAPPING, .address = BLOCKS, .len = 0x1000,
	};
	uint32_t at;

	journal_init(&own.journal, LOG_REGION_MIN, JOURNAL_SIZE);
	CU_ASSERT_PTR_NULL_FATAL(journal_plan(&own.journal, &entry, &at));
	journal_done(&own.journal, at);
	world.region.journal = &own.journal;
	world.target.region = &world.region;
	CU_ASSERT_PTR_NULL(memory_owners_facts(&world.target, NULL, &smaps.maps, &facts, &owners));
	check(BLOCKS, BLOCKS + 0x1000, MEMORY_OWN, 0);
	journal_undone(&own.journal, at);
	CU_ASSERT_PTR_NULL(memory_owners_facts(&world.target, NULL, &smaps.maps, &facts, &owners));
	CU_ASSERT_EQUAL(owners.vec.nr, 0);
}

TEST("a core file's stacks are where the thread pointers of its other threads lie")
{
	struct thread first = { .tid = 1 }, other = { .tid = TID };

	regs_set(&first.regs, world.target.arch->tp, BLOCKS);
	regs_set(&other.regs, world.target.arch->tp, TP);
	world.target.kind = &target_kind_core;
	world.target.pid = 1;
	CU_ASSERT_PTR_NULL_FATAL(map_put(&world.target.threads, 1, &first));
	CU_ASSERT_PTR_NULL_FATAL(map_put(&world.target.threads, TID, &other));
	CU_ASSERT_PTR_NULL(memory_owners_facts(&world.target, NULL, &smaps.maps, &facts, &owners));
	check(STACK, END, MEMORY_STACKS, TID);
	map_free(&world.target.threads, NULL);
}
