/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What traps mean to the log: entries and returns are played to trap_ledger.c by hand, with this
 * process' own memory as the target's and no module to walk through.
 */

#include "probe/trap_ledger.h"

#include <sys/mman.h>

#include "ledger_scripts.h"
#include "log/log_layout.h"
#include "probe/probe.h"
#include "tracee/target.h"
#include "unit.h"

#define STACK_WORDS	512
#define FRAME		16	/* of every stub: its own word and the return address */

static struct target target;
static struct probes probes;
static struct thread thread;
static uint64_t stack[STACK_WORDS];
static void *region;
static struct probe p_malloc, p_calloc, p_realloc, p_reallocarray, p_free, p_delete, p_memalign;
static struct probe p_new;

static void make_probe(struct probe *probe, const char *symbol)
{
	static char path[] = "program";
	static struct module module = { .path = path };

	memset(probe, 0, sizeof(*probe));
	probe->module = &module;
	probe->fn = alloc_function_find(symbol);
	probe->address = probe->patch = 0x1000;
	probe->prologue = probe->resume = 0x2000;
	probe->stub = 0x2020;
	probe->stub_frame = FRAME;
}

static uint64_t sample;			/* of the log, from the next start on */

static int start(void)
{
	const struct log_config config = {
		.region_size = LOG_REGION_MIN, .stack_depth = 4, .sample = sample,
	};
	static struct log log;

	region = mmap(NULL, LOG_REGION_MIN, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (region == MAP_FAILED || log_format(region, &config, &log))
		return 1;
	memset(&target, 0, sizeof(target));
	memset(&probes, 0, sizeof(probes));
	memset(&thread, 0, sizeof(thread));
	memset(stack, 0, sizeof(stack));
	target.kind = &target_kind_process;
	target.arch = arch_host();
	target.memory = &target.mem.memory;
	if (procmem_open(getpid(), &target.mem))
		return 1;
	probes.target = thread.target = &target;
	probes.log = &log;
	probes.plain_free = alloc_function_find("free");
	thread.tid = 1000;
	make_probe(&p_malloc, "malloc");
	make_probe(&p_calloc, "calloc");
	make_probe(&p_realloc, "realloc");
	make_probe(&p_reallocarray, "reallocarray");
	make_probe(&p_free, "free");
	make_probe(&p_delete, "_ZdlPv");
	make_probe(&p_memalign, "posix_memalign");
	make_probe(&p_new, "_Znwm");
	p_new.nothrow = 0x3000;
	return 0;
}

static int end(void)
{
	trap_ledger_void(&probes, &thread);
	procmem_close(&target.mem);
	return munmap(region, LOG_REGION_MIN);
}

FIXTURE(start, end);

static void restart(void)
{
	CU_ASSERT_EQUAL_FATAL(end(), 0);
	CU_ASSERT_EQUAL_FATAL(start(), 0);
}

/* The address of a word of the stack: the deeper a call, the higher depth. */
static uint64_t sp(unsigned depth)
{
	return (uint64_t)(uintptr_t)&stack[STACK_WORDS - 8 - 8 * depth];
}

static uint64_t enter(struct probe *probe, unsigned depth, uint64_t arg0, uint64_t arg1)
{
	regs_set(&thread.regs, target.arch->sp, sp(depth));
	regs_set(&thread.regs, target.arch->arg[0], arg0);
	regs_set(&thread.regs, target.arch->arg[1], arg1);
	stack[STACK_WORDS - 8 - 8 * depth] = 0x4000 + depth;	/* the return address */
	return trap_ledger_entry(&probes, probe, &thread);
}

static bool leave(struct probe *probe, unsigned depth, uint64_t result)
{
	regs_set(&thread.regs, target.arch->sp, sp(depth) - FRAME + sizeof(uint64_t));
	regs_set(&thread.regs, target.arch->ret, result);
	return trap_ledger_return(&probes, probe, &thread);
}

/* The size that is recorded for a block; 0: none. */
static uint64_t recorded(uint64_t block)
{
	struct log_record record;

	return log_record_lookup(probes.log, block, &record) ? record.size : 0;
}

struct figures {
	uint64_t allocs, frees, nested, voided, failed, unknown, doubles, live;
};

static void check(struct figures want)
{
	struct log_accounts got = reader_accounts(probes.log);

	CU_ASSERT_EQUAL(got.allocs, want.allocs);
	CU_ASSERT_EQUAL(got.frees, want.frees);
	CU_ASSERT_EQUAL(got.nested, want.nested);
	CU_ASSERT_EQUAL(got.voided, want.voided);
	CU_ASSERT_EQUAL(got.failed, want.failed);
	CU_ASSERT_EQUAL(got.unknown_frees, want.unknown);
	CU_ASSERT_EQUAL(got.double_frees, want.doubles);
	CU_ASSERT_EQUAL(got.alloc_bytes - got.free_bytes, want.live);
}

static struct probe *const scripted[SCRIPT_FUNCTIONS] = {
	&p_malloc, &p_calloc, &p_realloc, &p_reallocarray, &p_free, &p_memalign, &p_new, &p_delete,
};

/* A caller, which is in no library, by a frame pointer. */
static void make_caller(void)
{
	stack[STACK_WORDS - 4] = 0;
	stack[STACK_WORDS - 3] = 0x5555;
	regs_set(&thread.regs, target.arch->fp, (uintptr_t)&stack[STACK_WORDS - 4]);
	probes.ledger.facts.complete = 1;
}

static void play_restart(bool bounded, uint64_t mean)
{
	sample = mean;
	restart();
	sample = 0;
	make_caller();
	if (bounded) {
		probes.main_low = (uintptr_t)stack;
		probes.main_high = (uintptr_t)(stack + STACK_WORDS);
	}
}

static bool play_enter(unsigned depth, enum script_function fn, const uint64_t arg[3])
{
	struct probe *probe = scripted[fn];

	regs_set(&thread.regs, target.arch->arg[2], arg[2]);
	return enter(probe, depth, arg[0], arg[1]) == probe->resume;
}

static void play_leave(unsigned depth, enum script_function fn, uint64_t block)
{
	CU_ASSERT_TRUE(leave(scripted[fn], depth, block));
}

static void play_release(unsigned depth, enum script_function fn, uint64_t block)
{
	static uint64_t elsewhere = 0x4000;

	if (depth != ELSEWHERE) {
		enter(scripted[fn], depth, block, 0);
		return;
	}
	regs_set(&thread.regs, target.arch->sp, (uintptr_t)&elsewhere);
	regs_set(&thread.regs, target.arch->arg[0], block);
	trap_ledger_entry(&probes, scripted[fn], &thread);
}

static void play_returned(unsigned depth)
{
	stack[STACK_WORDS - 8 - 8 * depth] = 1;
}

static struct log *play_log(void)
{
	return probes.log;
}

static struct ledger_thread *play_thread(void)
{
	return &((struct thread_ops *)thread.data)->ledger;
}

static uint64_t play_counted(void)
{
	uint64_t blocks = 0;

	for (uint32_t i = 1; i <= reader_stacks(probes.log); i++)
		blocks += reader_stack(probes.log, i).total;
	return blocks;
}

TEST("scripts")
{
	static const struct script_player player = {
		play_restart, play_enter, play_leave, play_release, play_returned, play_log,
		play_thread, play_counted,
	};

	scripts_play(&player);
}

/* A call in another one, which is listed: its block is counted when it is known whose it is. */
TEST("uncounted")
{
	restart();
	enter(&p_new, 1, 100, 0);
	enter(&p_malloc, 2, 100, 0);
	leave(&p_malloc, 2, 0xa000);
	CU_ASSERT_EQUAL(recorded(0xa000), 100);
	CU_ASSERT_EQUAL(play_counted(), 0);
	leave(&p_new, 1, 0xa000);
	CU_ASSERT_EQUAL(play_counted(), 1);
	/* Two of its own, in a new that gives a third one. */
	enter(&p_new, 1, 100, 0);
	enter(&p_malloc, 2, 10, 0);
	leave(&p_malloc, 2, 0xb000);
	enter(&p_malloc, 2, 20, 0);
	leave(&p_malloc, 2, 0xc000);
	CU_ASSERT_EQUAL(play_counted(), 2);
	leave(&p_new, 1, 0xd000);
	CU_ASSERT_EQUAL(play_counted(), 4);
	/* In one that never returns: with the next event that shows it, or with the thread. */
	enter(&p_new, 2, 100, 0);
	enter(&p_malloc, 3, 10, 0);
	leave(&p_malloc, 3, 0xe000);
	CU_ASSERT_EQUAL(play_counted(), 4);
	trap_ledger_void(&probes, &thread);
	CU_ASSERT_EQUAL(play_counted(), 5);
	/* What was forgotten meanwhile is not counted. */
	enter(&p_new, 1, 100, 0);
	enter(&p_malloc, 2, 10, 0);
	leave(&p_malloc, 2, 0xf000);
	log_reset(probes.log);
	leave(&p_new, 1, 0x10000);
	CU_ASSERT_EQUAL(play_counted(), 1);
}

/* Where a thread is sent on, and what returns that nobody waits for. */
TEST("malloc and free")
{
	restart();
	CU_ASSERT_EQUAL(enter(&p_malloc, 1, 100, 0), p_malloc.stub);
	CU_ASSERT_EQUAL(recorded(0xa000), 0);
	CU_ASSERT_TRUE(leave(&p_malloc, 1, 0xa000));
	CU_ASSERT_EQUAL(recorded(0xa000), 100);
	CU_ASSERT_EQUAL(enter(&p_free, 1, 0xa000, 0), p_free.resume);
	check((struct figures){ .allocs = 1, .frees = 1 });
	CU_ASSERT_FALSE(leave(&p_malloc, 1, 0xb000));
	CU_ASSERT_EQUAL(recorded(0xb000), 0);
	CU_ASSERT_EQUAL(enter(&p_new, 1, 100, 0), p_new.stub);
	CU_ASSERT_EQUAL(enter(&p_new, 2, 100, 0), p_new.resume);
}

/* By free, and by realloc; told where all functions are known, and remembered with what it was. */
TEST("double free")
{
	restart();
	enter(&p_malloc, 1, 100, 0);
	leave(&p_malloc, 1, 0xa000);
	enter(&p_free, 1, 0xa000, 0);
	enter(&p_free, 2, 0xa000, 0);
	check((struct figures){ .allocs = 1, .frees = 1, .unknown = 1 });
	make_caller();
	enter(&p_free, 2, 0xa000, 0);
	enter(&p_realloc, 2, 0xa000, 10);
	leave(&p_realloc, 2, 0);
	enter(&p_free, 2, 0xb000, 0);
	check((struct figures){ .allocs = 1, .frees = 1, .unknown = 2, .doubles = 2, .failed = 1 });
	log_note_gap(probes.log);
	enter(&p_free, 2, 0xa000, 0);
	check((struct figures){ .allocs = 1, .frees = 1, .unknown = 3, .doubles = 2, .failed = 1 });
	/* Behind the gap all is known again. */
	enter(&p_malloc, 1, 100, 0);
	leave(&p_malloc, 1, 0xa000);
	enter(&p_free, 1, 0xa000, 0);
	enter(&p_free, 1, 0xa000, 0);
	check((struct figures){ .allocs = 2, .frees = 2, .unknown = 3, .doubles = 3, .failed = 1 });
}

static bool see(const struct log_unknown_free *unknown, void *ctx)
{
	*(struct log_unknown_free *)ctx = *unknown;
	return false;
}

/* Who freed it first: by free, by operator delete that leads to free, by realloc. */
TEST("first free")
{
	struct log_unknown_free unknown = { .address = 0 };

	restart();
	make_caller();
	CU_ASSERT_PTR_NULL(log_set_free_history(probes.log, 100));
	for (unsigned i = 0; i < 4; i++) {
		struct probe *by[] = { &p_free, &p_delete, &p_realloc, &p_realloc };
		uint64_t size = i == 3 ? 0 : 20;

		by[i]->address = 0x1100 + i;
		enter(&p_malloc, 1, 100, 0);
		leave(&p_malloc, 1, 0xa000);
		enter(by[i], 1, 0xa000, size);
		if (i == 1)
			enter(&p_free, 2, 0xa000, 0);
		if (i > 1)
			leave(by[i], 1, size ? 0xb000 : 0);
		stack[STACK_WORDS - 8 - 8] = 0;	/* it has returned */
		enter(&p_free, 0, 0xa000, 0);
		reader_each_unknown_free(probes.log, LOG_UNKNOWN_FREE_DOUBLE, see, &unknown);
		CU_ASSERT_EQUAL(probes.log->header->frees, i + 1);
		CU_ASSERT(unknown.first.time > unknown.block.time &&
			  unknown.first.time < unknown.time);
		CU_ASSERT_EQUAL(reader_stack(probes.log, unknown.first.stack).pcs[0], 0x1100 + i);
	}
	enter(&p_malloc, 1, 100, 0);
	leave(&p_malloc, 1, 0xc000);
	enter(&p_realloc, 1, 0xc000, 20);	/* fails, stays */
	leave(&p_realloc, 1, 0);
	enter(&p_realloc, 1, 0xc000, 20);
	leave(&p_realloc, 1, 0xc000);
	CU_ASSERT_EQUAL(probes.log->header->frees, 4);
}

/* longjmp out of a malloc: it is void when another call starts there. */
TEST("void operations")
{
	struct log_stack_view view;

	restart();
	enter(&p_malloc, 1, 100, 0);
	enter(&p_malloc, 1, 60, 0);
	leave(&p_malloc, 1, 0xa000);
	CU_ASSERT_EQUAL(recorded(0xa000), 60);
	check((struct figures){ .allocs = 1, .voided = 1, .live = 60 });
	/* An inner one, when the outer one returns. */
	enter(&p_calloc, 1, 1, 10);
	enter(&p_malloc, 2, 26, 0);
	leave(&p_calloc, 1, 0xb000);
	check((struct figures){ .allocs = 2, .voided = 2, .live = 70 });
	/* With its thread. A block that realloc had in hand is gone. */
	enter(&p_realloc, 1, 0xb000, 500);
	trap_ledger_void(&probes, &thread);
	check((struct figures){ .allocs = 2, .frees = 1, .voided = 3, .live = 60 });
	view = reader_stack(probes.log, 1);	/* all have the same */
	CU_ASSERT_EQUAL(view.total, 2);
}

/* A realloc that is under way at `malloc reset`, and fails, puts no record from before back. */
TEST("a reset")
{
	restart();
	enter(&p_malloc, 1, 60, 0);
	leave(&p_malloc, 1, 0xa000);
	enter(&p_realloc, 1, 0xa000, 500);
	log_reset(probes.log);
	trap_ledger_reset(&thread);
	leave(&p_realloc, 1, 0);
	CU_ASSERT_EQUAL(recorded(0xa000), 0);
	check((struct figures){ .failed = 1 });
	/* One that succeeds is recorded as ever. */
	enter(&p_realloc, 1, 0xa000, 500);
	log_reset(probes.log);
	trap_ledger_reset(&thread);
	leave(&p_realloc, 1, 0xb000);
	CU_ASSERT_EQUAL(recorded(0xb000), 500);
	check((struct figures){ .allocs = 1, .live = 500 });
}

/* More operations than the list holds: the outermost is dropped, the others return as they should. */
TEST("a full list")
{
	restart();
	for (unsigned i = 1; i <= EVENT_CALLS + 1; i++)
		enter(&p_malloc, i, i, 0);
	for (unsigned i = EVENT_CALLS + 1; i > 1; i--)
		CU_ASSERT_TRUE(leave(&p_malloc, i, 0x10000 * i));
	CU_ASSERT_FALSE(leave(&p_malloc, 1, 0x10000));
	CU_ASSERT_EQUAL(recorded(0x20000), 2);
	CU_ASSERT_TRUE(((struct thread_ops *)thread.data)->lost);
	check((struct figures){ .allocs = EVENT_CALLS, .voided = 1,
				.live = EVENT_CALLS * (EVENT_CALLS + 3) / 2 });
}

TEST("posix_memalign")
{
	uint64_t result = 0xa000;

	restart();
	regs_set(&thread.regs, target.arch->arg[2], 100);
	enter(&p_memalign, 1, (uint64_t)(uintptr_t)&result, 64);
	leave(&p_memalign, 1, 0);
	CU_ASSERT_EQUAL(recorded(0xa000), 100);
	enter(&p_memalign, 1, (uint64_t)(uintptr_t)&result, 64);
	leave(&p_memalign, 1, 12);
	check((struct figures){ .allocs = 1, .failed = 1, .live = 100 });
}

/* Processes that share a log do not see each other's blocks. */
TEST("two processes")
{
	restart();
	enter(&p_malloc, 1, 100, 0);
	leave(&p_malloc, 1, 0xa000);
	probes.process = 3;
	enter(&p_free, 1, 0xa000, 0);
	CU_ASSERT_EQUAL(recorded(0xa000), 100);
	enter(&p_malloc, 1, 40, 0);
	leave(&p_malloc, 1, 0xa000);
	CU_ASSERT_EQUAL(recorded(0xa000 | 3ull << LOG_PROCESS_SHIFT), 40);
	check((struct figures){ .allocs = 2, .unknown = 1, .live = 140 });
}

/* A pool's first block at the address of the malloc's that it lies in. */
TEST("an allocator in malloc")
{
	static const struct alloc_function pool_alloc = {
		.symbol = "pool_alloc", .name = "pool_alloc", .role = ALLOC_NEW, .size = 0,
		.count = ALLOC_NO_ARG, .ptr = ALLOC_NO_ARG, .user = true,
	}, pool_free = {
		.symbol = "pool_free", .name = "pool_free", .role = ALLOC_FREE,
		.size = ALLOC_NO_ARG, .count = ALLOC_NO_ARG, .ptr = 0, .user = true,
	}, pool_resize = {
		.symbol = "pool_resize", .name = "pool_resize", .role = ALLOC_RESIZE, .size = 1,
		.count = ALLOC_NO_ARG, .ptr = 0, .user = true,
	};
	struct probe alloc = p_malloc, take = p_free, resize = p_realloc;

	restart();
	alloc.fn = &pool_alloc;
	take.fn = &pool_free;
	enter(&alloc, 1, 16, 0);
	enter(&p_malloc, 2, 100, 0);
	leave(&p_malloc, 2, 0xa000);
	leave(&alloc, 1, 0xa000);
	CU_ASSERT_EQUAL(recorded(0xa000), 100);
	CU_ASSERT_EQUAL(recorded(0xa000 | LOG_DOMAIN_USER), 16);
	check((struct figures){ .allocs = 2, .live = 116 });
	enter(&take, 2, 0xa000, 0);
	CU_ASSERT_EQUAL(recorded(0xa000), 100);
	check((struct figures){ .allocs = 2, .frees = 1, .live = 100 });
	enter(&take, 1, 0xa000, 0);
	enter(&p_free, 1, 0xa000, 0);
	check((struct figures){ .allocs = 2, .frees = 2, .unknown = 1, .live = 0 });
	/* A free inside of the pool's resize, of malloc's block at the same address. */
	resize.fn = &pool_resize;
	enter(&p_malloc, 1, 100, 0);
	leave(&p_malloc, 1, 0xa000);
	enter(&resize, 1, 0xa000, 10);
	enter(&p_free, 2, 0xa000, 0);
	leave(&resize, 1, 0xb000);
	check((struct figures){ .allocs = 4, .frees = 3, .unknown = 2, .live = 10 });
}

