/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A process that is an array, as a view has it: data of a program, mapped memory with blocks in it,
 * and a thread's stack, which ends with its control block as libc lays it out.
 */
#pragma once

#include "arch/arch.h"
#include "inspect/leak_marks.h"
#include "inspect/leak_search.h"
#include "inspect/memory_view.h"
#include "memory_array.h"
#include "os/procparse.h"
#include "tracee/region.h"
#include "tracee/target.h"
#include "unit.h"

#define DATA		0x10000ull
#define BLOCKS		0x14000ull	/* ... to BLOCKS_END */
#define BLOCKS_END	0x18000ull
#define GUARD		0x1f000ull
#define STACK		0x20000ull
#define END		0x30000ull
#define TP		0x2f800ull
#define STACK_OFFSET	64u		/* where the control block has the stack's start and size */
#define SP		0x28000ull
#define TID		7

struct view_world {
	struct memory_view view;
	struct target target;
	struct region region;
	struct leak_marks marks;
	struct memory_array memory;
	uint64_t word[(END - DATA) / 8];
};

static struct view_world world;

static inline void put(uint64_t address, uint64_t word)
{
	world.word[(address - DATA) / 8] = word;
}

static inline void world_thread(struct memory_view_thread thread)
{
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&world.view.threads, thread));
}

static inline struct memory_view_thread *the_thread(void)
{
	return world.view.threads.at;
}

/* With one thread that is stopped, and with no block. */
static inline void world_open(void)
{
	static const char maps[] =
		"00010000-00012000 rw-p 00000000 08:01 5 /bin/program\n"
		"00014000-00018000 rw-p 00000000 00:00 0 \n"
		"0001f000-00020000 ---p 00000000 00:00 0 \n"
		"00020000-00030000 rw-p 00000000 00:00 0 \n";
	struct memory_view_thread thread = {
		.tid = TID, .stopped = true, .placed = true, .tp = TP,
	};

	memset(&world, 0, sizeof(world));
	put(TP, TP);
	put(TP + 16, TP);
	put(TP + STACK_OFFSET, GUARD);
	put(TP + STACK_OFFSET + 8, END - GUARD);
	memory_array_init(&world.memory, world.word, DATA, sizeof(world.word));
	world.target = (struct target){
		.kind = &target_kind_process, .pid = TID, .arch = arch_host(),
		.memory = &world.memory.memory,
	};
	world.view = (struct memory_view){
		.target = &world.target, .memory = &world.memory.memory, .arch = arch_host(),
		.stack_offset = STACK_OFFSET, .until = UINT64_MAX,
	};
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(maps, &world.view.maps));
	world_thread(thread);
	regs_set(&the_thread()->regs, world.view.arch->sp, SP);
}

static inline void world_close(void)
{
	memory_view_free(&world.view);
	leak_marks_free(&world.marks);
}

static inline void world_block(struct block block)
{
	CU_ASSERT_PTR_NULL_FATAL(packed_add(&world.marks.held, &block));
	CU_ASSERT_PTR_NULL_FATAL(packed_sort(&world.marks.held, NULL));
}
