/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where areas lie, and what the unwinder is told about code in and between them. */

#include "probe/area.h"

#include "agent/state.h"
#include "memory_array.h"
#include "os/procfs.h"
#include "os/procparse.h"
#include "probe/probe.h"
#include "tracee/target.h"
#include "unit.h"

#define LEN	AREA_LEN

static void parse(const char *text, struct proc_maps *maps)
{
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(text, maps));
}

/* A place for the module at [start, end), which must be free and in reach. */
static uint64_t place(const char *text, uint64_t start, uint64_t end)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	uint64_t at, low, high;

	parse(text, &maps);
	at = area_place(&maps, start, end, LEN);
	for (size_t i = 0; at && i < maps.vec.nr; i++)
		CU_ASSERT_TRUE(at + LEN <= maps.vec.at[i].start || at >= maps.vec.at[i].end);
	low = at < start ? at : start;
	high = at + LEN > end ? at + LEN : end;
	CU_ASSERT_TRUE(!at || high - low < 1ull << 31);
	return at;
}

/* The usual layout: the only gap below the libraries is the one above the heap. */
TEST("above the heap")
{
	static const char maps[] =
		"555555554000-555555556000 r-xp 00000000 08:01 10 /bin/program\n"
		"555555559000-55555557a000 rw-p 00000000 00:00 0 [heap]\n"
		"7ffff7d00000-7ffff7e80000 r-xp 00000000 08:01 11 /lib/libc.so.6\n"
		"7ffff7e80000-7ffff7fff000 r-xp 00000000 08:01 12 /lib/ld.so\n"
		"7ffffffde000-7ffffffff000 rw-p 00000000 00:00 0 [stack]\n";
	uint64_t at = place(maps, 0x7ffff7d00000, 0x7ffff7e80000);

	CU_ASSERT_TRUE(at != 0 && at < 0x7ffff7d00000);
	CU_ASSERT_TRUE(at - 0x55555557a000 > 1ull << 37);
	CU_ASSERT_TRUE(place(maps, 0x555555554000, 0x555555556000) != 0);
}

TEST("the heap has room")
{
	/* A heap right below the module: its gap is not to be used, and there is no other in reach. */
	static const char maps[] =
		"10000-7fff0000 rw-p 00000000 00:00 0 \n"
		"7fff0000-80000000 rw-p 00000000 00:00 0 [heap]\n"
		"90000000-90010000 r-xp 00000000 08:01 10 /bin/program\n"
		"90010000-7ffffffff000 rw-p 00000000 00:00 0 \n";

	CU_ASSERT_EQUAL(place(maps, 0x90000000, 0x90010000), 0);
}

TEST("not below the stack")
{
	static const char maps[] =
		"10000-7fff0000 rw-p 00000000 00:00 0 \n"
		"7fff0000-80000000 r-xp 00000000 08:01 10 /bin/program\n"
		"86000000-86010000 rw-p 00000000 00:00 0 [stack]\n";

	CU_ASSERT_EQUAL(place(maps, 0x7fff0000, 0x80000000), 0);
}

/* The stacks of 300 threads fill all that is in reach below the libraries. */
TEST("many threads")
{
	static const char maps[] =
		"555555554000-555555556000 r-xp 00000000 08:01 10 /bin/program\n"
		"7fbe00000000-7fbebaf00000 rw-p 00000000 00:00 0 \n"
		"7fbebaf00000-7fbebb080000 r-xp 00000000 08:01 11 /lib/libc.so.6\n"
		"7fbebb080000-7fbebb449000 r-xp 00000000 08:01 12 /lib/ld.so\n"
		"7ffe5448c000-7ffe544ad000 rw-p 00000000 00:00 0 [stack]\n";
	uint64_t at = place(maps, 0x7fbebaf00000, 0x7fbebb080000);

	CU_ASSERT_TRUE(at > 0x7fbebb449000 && at < 0x7ffe00000000);
}

TEST("nothing in reach")
{
	static const char maps[] =
		"10000-7fff00000000 rw-p 00000000 00:00 0 \n"
		"7fff00000000-7fff00010000 r-xp 00000000 08:01 10 /lib/full.so\n"
		"7fff00010000-7fffe0000000 rw-p 00000000 00:00 0 \n";

	CU_ASSERT_EQUAL(place(maps, 0x7fff00000000, 0x7fff00010000), 0);
}

/* The program lies between an area of its own and one of the libraries: its frames are its own. */
TEST("between two areas")
{
	struct area two[] = {
		{ .address = 0x10000, .len = LEN },
		{ .address = 0x7f0000000000, .len = LEN },
	};
	struct probes probes = { .areas = { .at = two, .nr = 2, .room = 2 } };
	uint64_t pc = 0x555555554123;
	int32_t cfa_offset = -1;

	CU_ASSERT_FALSE(area_holds(&probes, pc));
	CU_ASSERT_TRUE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(pc, 0x555555554123);
	/* In an area but in no slot: a frame of ours, which is left out. */
	pc = 0x10010;
	CU_ASSERT_TRUE(area_holds(&probes, pc));
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, 8);
}

#define SLOT	(0x10000ull + AREA_AGENT)

TEST("in a slot")
{
	struct area area = { .address = 0x10000, .len = LEN };
	struct probe probe = {
		.address = 0x555555554000, .stays = { 3, 24 }, .patch = 0x555555554003, .slot = SLOT, .prologue = SLOT + AGENT_SLOT_DISPLACED,
		.stub = SLOT + AGENT_SLOT_STUB, .thunk_at = SLOT + AGENT_SLOT_THUNK,
		.displaced = {
			.nr = 2, .consumed = 6, .len = 14,
			.insn = { { .from = 0, .to = 0 }, { .from = 3, .to = 5 }, { .from = 6, .to = 9 } },
		},
	};
	struct probe *all[] = { &probe };
	struct target target = { .kind = &target_kind_process, .arch = arch_host() };
	struct probes probes = {
		.target = &target,
		.areas = { .at = &area, .nr = 1, .room = 1 },
		.all = { .at = all, .nr = 1, .room = 1 },
	};
	struct thunk_spec spec = { .kind = THUNK_NEW, .at = SLOT + AGENT_SLOT_THUNK, .undo = 24 };
	const struct stub_spec stub = { .at = probe.stub, .undo = 24, .call = probe.prologue,
					.counts = SLOT };
	uint64_t pc = probe.prologue + 5;
	int32_t cfa_offset = 0;

	CU_ASSERT_PTR_NULL_FATAL(target.arch->thunk(&spec, &probe.thunk));
	CU_ASSERT_PTR_NULL_FATAL(target.arch->stub(&stub, &probe.made));

	/* A displaced instruction stands for its original. */
	CU_ASSERT_TRUE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(pc, probe.patch);
	/* A stub has its frame between the entry's registers and its trap. */
	pc = probe.stub;
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, 8 + 24);
	pc = probe.stub + probe.made.entry;
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, 8);
	pc = probe.stub + probe.made.ret;
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, (int32_t)probe.made.frame);
	pc = probe.stub + probe.made.len - 1;	/* its last instruction */
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, 8);
	/* A thunk has what its calls found on the stack. */
	pc = probe.thunk_at;
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, 8 + 24);
	pc = probe.thunk_at + probe.thunk.entry;
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, 8);
	pc = probe.thunk_at + probe.thunk.call_ret;
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, (int32_t)probe.thunk.call_cfa);
	pc = probe.thunk_at + probe.thunk.leave_ret;
	CU_ASSERT_FALSE(area_translate(&probes, &pc, &cfa_offset));
	CU_ASSERT_EQUAL(cfa_offset, (int32_t)probe.thunk.agent_cfa);
	CU_ASSERT_PTR_EQUAL(area_probe(&probes, SLOT + AGENT_SLOT - 1), &probe);
	CU_ASSERT_PTR_NULL(area_probe(&probes, SLOT + AGENT_SLOT));
}

#define SP	0x7fff0000ull

/*
 * A thread in the agent's C code: the thunk that has called it is found on its stack as that is in
 * the memory that the walk is over, which is not the target's if it is a snapshot.
 */
TEST("in the agent")
{
	const struct alloc_function fn = { .role = ALLOC_NEW };
	struct area area = { .address = 0x10000, .len = LEN, .agent = true };
	struct probe probe = { .fn = &fn, .slot = SLOT, .thunk_at = SLOT + AGENT_SLOT_THUNK,
			       .thunk.leave_ret = 40 };
	struct probe *all[] = { &probe };
	struct { uint64_t local, ret; struct agent_frame frame; } now = { .local = 1 }, then = {
		.local = 2, .ret = SLOT + AGENT_SLOT_THUNK + 40, .frame = { .bp = 0x7fff1000 },
	};
	struct memory_array live, snapshot;
	struct target target = { .kind = &target_kind_process, .arch = arch_host(), .memory = &live.memory };
	struct probes probes = {
		.target = &target, .agent = area.address,
		.areas = { .at = &area, .nr = 1, .room = 1 },
		.all = { .at = all, .nr = 1, .room = 1 },
	};
	struct regs regs = { .word = { 0 } }, got;

	memory_array_init(&live, &now, SP, sizeof(now));
	memory_array_init(&snapshot, &then, SP, sizeof(then));
	regs_set(&regs, target.arch->pc, area.address + 64);
	regs_set(&regs, target.arch->sp, SP);
	area_walk_regs(&probes, &snapshot.memory, &regs, &got);
	CU_ASSERT_EQUAL(regs_get(&got, target.arch->pc), then.ret);
	CU_ASSERT_EQUAL(regs_get(&got, target.arch->sp), SP + 16);
	CU_ASSERT_EQUAL(regs_get(&got, target.arch->fp), then.frame.bp);
	area_walk_regs(&probes, &live.memory, &regs, &got);
	CU_ASSERT(!memcmp(&got, &regs, sizeof(got)));
}

