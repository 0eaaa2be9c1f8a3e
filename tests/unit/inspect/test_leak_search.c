/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which memory is a root, and what is kept by it. */

#include "view_world.h"

EACH(world_open, world_close);

#define BLOCK	(BLOCKS + 0x100)

static enum leak_kind kind_of(size_t i)
{
	reach_free(&world.marks.mark);
	CU_ASSERT_PTR_NULL_FATAL(leak_search_run(&world.view, NULL, &world.marks));
	return reach_kind(packed_at(&world.marks.held, i));
}

static bool is_kept(void)
{
	return kind_of(0) == LEAK_REACHABLE;
}

TEST("a block that data points to is reachable, and one that nothing points to is lost")
{
	world_block((struct block){ .address = BLOCK, .size = 64 });
	CU_ASSERT_EQUAL(kind_of(0), LEAK_DEFINITE);
	put(DATA + 8, BLOCK);
	CU_ASSERT(is_kept());
}

TEST("a stack keeps a block from the red zone on, and not below")
{
	uint64_t low = SP - world.view.arch->red_zone;

	world_block((struct block){ .address = BLOCK, .size = 64 });
	put(low - 8, BLOCK);
	CU_ASSERT_FALSE(is_kept());
	put(low, BLOCK);
	CU_ASSERT(is_kept());
	the_thread()->exit_low = SP;
	CU_ASSERT_FALSE(is_kept());
}

/* How much of a stack's end is thread-local memory is known by that of a thread that runs. */
TEST("the stack of a thread that has ended keeps nothing")
{
	const struct arch *arch = world.view.arch;
	uint64_t tp = DATA + 0x1000, dtv = DATA + 0x1100;

	world_block((struct block){ .address = BLOCK, .size = 64 });
	put(SP + 8, BLOCK);
	CU_ASSERT(is_kept());
	the_thread()->tp = tp;
	regs_set(&the_thread()->regs, arch->sp, DATA + 0x800);
	put(tp + arch->dtv, dtv);
	put(dtv - arch->dtv_first, 1);
	put(dtv + 16, tp - 256);
	world.view.has_glibc = true;
	CU_ASSERT_FALSE(is_kept());
	put(TP - 8, BLOCK);
	CU_ASSERT(is_kept());
}

TEST("a register keeps a block, unless its thread has called exit or could not be stopped")
{
	world_block((struct block){ .address = BLOCK, .size = 64 });
	regs_set(&the_thread()->regs, world.view.arch->arg[0], BLOCK);
	CU_ASSERT(is_kept());
	CU_ASSERT_EQUAL_FATAL(world.marks.holders.nr, 1);
	CU_ASSERT_EQUAL(world.marks.holders.at[0].in, LEAK_HOLDER_REGISTER);
	CU_ASSERT_EQUAL(world.marks.holders.at[0].tid, TID);
	vec_clear(&world.marks.holders);
	the_thread()->exit_low = SP;
	CU_ASSERT_FALSE(is_kept());
	the_thread()->exit_low = 0;
	the_thread()->stopped = false;
	CU_ASSERT_FALSE(is_kept());
	CU_ASSERT(world.marks.blind_threads > 0);
}

TEST("the vector unit keeps a block where the thread is in no system call")
{
	world_block((struct block){ .address = BLOCK, .size = 64 });
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&world.view.vectors, BLOCK));
	the_thread()->nr_vectors = 1;
	CU_ASSERT(is_kept());
	vec_clear(&world.marks.holders);
	the_thread()->in_syscall = true;
	CU_ASSERT_FALSE(is_kept());
}

TEST("a pointer in the table of dynamic TLS's middle keeps all of the table")
{
	world_block((struct block){ .address = BLOCK, .size = 64 });
	put(TP + world.view.arch->dtv, BLOCK + world.view.arch->dtv_first);
	CU_ASSERT(is_kept());
}

TEST("what mdbg has mapped is no root")
{
	static union {
		struct journal journal;
		uint8_t bytes[JOURNAL_SIZE];
	} own;
	const struct journal_entry entry = {
		.kind = JOURNAL_MAPPING, .address = DATA, .len = 0x1000,
	};
	uint32_t at;

	journal_init(&own.journal, LOG_REGION_MIN, JOURNAL_SIZE);
	CU_ASSERT_PTR_NULL_FATAL(journal_plan(&own.journal, &entry, &at));
	world.region.journal = &own.journal;
	world.view.region = &world.region;
	world_block((struct block){ .address = BLOCK, .size = 64 });
	put(DATA + 8, BLOCK);
	CU_ASSERT_FALSE(is_kept());
	put(DATA + 0x1008, BLOCK);
	CU_ASSERT(is_kept());
}

TEST("a block that was freed since the moment of the view keeps what it points to")
{
	world_block((struct block){ .address = BLOCK, .size = 64, .freed = true });
	world_block((struct block){ .address = BLOCK + 0x100, .size = 64 });
	put(BLOCK + 8, BLOCK + 0x100);
	CU_ASSERT_EQUAL(kind_of(1), LEAK_REACHABLE);
}

TEST("a block in which a thread stands is kept as its stack")
{
	world_block((struct block){ .address = BLOCK, .size = 0x400 });
	regs_set(&the_thread()->regs, world.view.arch->sp, BLOCK + 0x200);
	CU_ASSERT(is_kept());
}

TEST("memory that can be written is a root, and of the rest what is private and of no file")
{
	static const struct {
		const char *map;
		bool is;
	} wanted[] = {
		{ "1000-2000 rw-p 00000000 08:01 5 /lib/a.so\n", true },
		{ "1000-2000 rw-s 00000000 08:01 5 /dev/shm/x\n", true },
		{ "1000-2000 r--p 00000000 00:00 0 \n", true },
		{ "1000-2000 r--p 00000000 00:00 0 [vvar]\n", false },
		{ "1000-2000 r--p 00000000 08:01 5 /lib/a.so\n", false },
		{ "1000-2000 r-xp 00000000 00:00 0 \n", false },
		{ "1000-2000 r--s 00000000 00:01 6 /memfd:x\n", false },
		{ "1000-2000 ---p 00000000 00:00 0 \n", false },
		/* The log. */
		{ "1000-2000 rw-s 00000000 00:01 77 /memfd:mdbg (deleted)\n", false },
	};

	world.region.origin.file = (struct file_id){ .inode = 77, .dev_major = 0, .dev_minor = 1 };
	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		struct proc_maps maps;

		CU_ASSERT_PTR_NULL_FATAL(procparse_maps(wanted[i].map, &maps));
		CU_ASSERT_EQUAL(leak_search_is_root(&world.region, maps.vec.at), wanted[i].is);
		procparse_maps_free(&maps);
	}
}
