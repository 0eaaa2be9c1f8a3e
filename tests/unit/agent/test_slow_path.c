/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What calls mean to the log: made-up thunks on a made-up stack call the agent's image, and every
 * account is compared.
 */

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "log/deferred.h"
#include "log/layout.h"
#include "log/sample.h"
#include "same_record.h"
#include "unit.h"
#include "world.h"

void suite_slow_path(void);

#define A	0x10000ull
#define B	0x20000ull
#define C	0x30000ull
#define D	0x40000ull

/* Without the frame that the thunk has laid. */
#define STACK_BYTES	1024
#define SIZE_LIMIT	((1ull << 48) - 1)

#define EXPECT(...)	scripts_expect(&world.log, (struct log_accounts){ __VA_ARGS__ }, __func__)

static struct log_record get(uint64_t block)
{
	struct log_record record = { 0 };

	CU_ASSERT(log_lookup(&world.log, block, &record));
	return record;
}

struct total {
	uint64_t function, blocks;	/* function 0: all */
};

static void add_total(uint32_t stack, uint64_t blocks, uint64_t bytes UNUSED, void *ctx)
{
	struct log_stack_view view = log_stack_get(&world.log, stack);
	struct total *total = ctx;

	if (view.nr && (!total->function || view.pcs[0] == total->function))
		total->blocks += blocks;
}

static uint64_t total_of(uint64_t function)
{
	struct total total = { function, 0 };

	for (uint32_t i = 1; i <= log_stacks(&world.log); i++)
		add_total(i, log_stack_get(&world.log, i).total, 0, &total);
	unwind_cache_each(&world_thread()->cache, add_total, &total);
	return total.blocks;
}

/*
 * All that was ever counted to this function's stacks, in the table and in this thread's unwind
 * cache.
 */
static uint64_t stack_total(enum script_function probe)
{
	return total_of(world.state->probe[probe].address);
}

static void test_plain(void)
{
	struct log_stack_view stack;
	uint64_t before = log_now();

	world_reset();
	world_new(3, MALLOC, 100, A);
	world_new(3, CALLOC, 30, B);
	EXPECT(.allocs = 2, .alloc_bytes = 130);
	CU_ASSERT_EQUAL(get(A).size, 100);
	CU_ASSERT_EQUAL(get(A).heap, LOG_HEAP_UNKNOWN);
	CU_ASSERT(get(A).time > before && get(B).time > get(A).time && get(B).time < log_now());
	CU_ASSERT_NOT_EQUAL(get(A).stack, get(B).stack);
	stack = log_stack_get(&world.log, get(A).stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[0], 0x1000);
	CU_ASSERT_EQUAL(stack.pcs[1], WORLD_RA);
	world_free(2, FREE, A);
	world_free(2, FREE, 0);
	world_free(2, FREE, C);
	world_new(3, MALLOC, 5, 0);
	EXPECT(.allocs = 2, .alloc_bytes = 130, .frees = 1, .free_bytes = 100, .unknown_frees = 1,
	       .null_frees = 1, .failed = 1);
	CU_ASSERT(!log_lookup(&world.log, A, &(struct log_record){ 0 }));
}

static void test_by_ref(void)
{
	uint64_t result = A;

	world_reset();
	world_begin(1, MEMALIGN_BY_REF, (uintptr_t)&result, 64, 1000);
	world_end(1, MEMALIGN_BY_REF, 0xffffffff00000000);	/* an int: the rest is anything */
	CU_ASSERT_EQUAL(get(A).size, 1000);
	world_end(1, MEMALIGN_BY_REF, 12);
	result = 0;
	world_end(1, MEMALIGN_BY_REF, 0);
	EXPECT(.allocs = 1, .alloc_bytes = 1000, .failed = 2);
}

/* What a reader sees of a block that a resize has in hand. */
static void test_resize(void)
{
	struct log_record first;

	world_reset();
	world_new(3, MALLOC, 10, A);
	first = get(A);
	world_begin(3, REALLOC, A, 20, 0);
	CU_ASSERT_EQUAL(log_live(&world.log), 0);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 1);
	CU_ASSERT(world_thread()->ledger.op[0].took);
	CU_ASSERT(same_record(&world_thread()->ledger.op[0].old, &first));
	world_end(3, REALLOC, A);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 0);
	CU_ASSERT_EQUAL(get(A).size, 20);
}

static void test_resize_fails(void)
{
	struct log_record before, after;

	world_reset();
	world_new(3, MALLOC, 10, A);
	before = get(A);
	world_begin(3, REALLOC, A, 1ull << 50, 0);
	world_end(3, REALLOC, 0);
	after = get(A);
	CU_ASSERT(before.size == after.size && before.time == after.time &&
		  before.stack == after.stack && before.thread == after.thread);
	EXPECT(.allocs = 1, .alloc_bytes = 10, .failed = 1);
}

static void bound_stack(void)
{
	world.state->main_low = (uintptr_t)world.stack;
	world.state->main_high = (uintptr_t)world.stack_end;
}

struct unknown_frees {
	struct log_unknown_free at[8];
	unsigned nr;
};

static bool add_unknown_free(const struct log_unknown_free *unknown, void *ctx)
{
	struct unknown_frees *unknown_frees = ctx;

	unknown_frees->at[unknown_frees->nr++] = *unknown;
	return unknown_frees->nr == ARRAY_SIZE(unknown_frees->at);
}

static struct unknown_frees unknown_frees(enum log_unknown_free_kind kind)
{
	struct unknown_frees ret = { .nr = 0 };

	log_each_unknown_free(&world.log, kind, add_unknown_free, &ret);
	return ret;
}

/* What is remembered of one: when, by whom, from where; and the block as it was. */
static void test_double_free(void)
{
	struct log_stack_view stack;
	struct log_record was;
	struct unknown_frees found;

	world_reset();
	world_new(3, MALLOC, 100, A);
	was = get(A);
	world_free(3, FREE, A);
	CU_ASSERT_EQUAL(unknown_frees(LOG_UNKNOWN_FREE_DOUBLE).nr, 0);
	world_free(2, FREE, A);
	world_begin(2, REALLOC, A, 10, 0);
	world_end(2, REALLOC, 0);
	EXPECT(.allocs = 1, .alloc_bytes = 100, .frees = 1, .free_bytes = 100, .double_frees = 2,
	       .failed = 1);
	found = unknown_frees(LOG_UNKNOWN_FREE_DOUBLE);
	CU_ASSERT_EQUAL_FATAL(found.nr, 2);
	for (unsigned i = 0; i < 2; i++) {
		CU_ASSERT_EQUAL(found.at[i].address, A);
		CU_ASSERT_EQUAL(found.at[i].thread, was.thread);
		CU_ASSERT(same_record(&found.at[i].block, &was));
		CU_ASSERT(found.at[i].time > was.time && found.at[i].time < log_now());
		stack = log_stack_get(&world.log, found.at[i].stack);
		CU_ASSERT_EQUAL(stack.pcs[0],
				world.state->probe[i ? REALLOC : FREE].address);
		CU_ASSERT_EQUAL(stack.pcs[1], WORLD_RA);
	}
	/* Nothing was allocated by these stacks. */
	CU_ASSERT_EQUAL(stack_total(FREE) + stack_total(REALLOC), 0);
}

/* The function whose stack the first free of the newest double one has; 0: it is not remembered. */
static uint64_t first_by(uint64_t block)
{
	struct unknown_frees found = unknown_frees(LOG_UNKNOWN_FREE_DOUBLE);
	const struct log_unknown_free *last = &found.at[found.nr - 1];
	struct log_stack_view stack;

	CU_ASSERT_FATAL(found.nr && last->address == block);
	if (!last->first.time)
		return 0;
	CU_ASSERT(last->first.time > last->block.time && last->first.time < last->time);
	stack = log_stack_get(&world.log, last->first.stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[1], WORLD_RA);
	return stack.pcs[0];
}

static void test_first_free(void)
{
	world_reset();
	bound_stack();
	world_new(3, MALLOC, 100, A);
	world_free(3, FREE, A);
	world_provenance(2);		/* not of what was before */
	world_free(3, FREE, A);
	CU_ASSERT_EQUAL(first_by(A), 0);
	world_new(3, MALLOC, 100, A);
	world_free(3, FREE, A);
	CU_ASSERT_EQUAL(stack_total(FREE), 0);
	world_free(3, DELETE, A);
	CU_ASSERT_EQUAL(first_by(A), 0x5000);
	world_new(3, MALLOC, 100, A);
	world_free(3, DELETE, A);	/* jumps to free: one of the two only */
	world_free(3, FREE, A);
	CU_ASSERT_EQUAL(world.log.header->frees, 2);
	world_free(1, FREE, A);
	CU_ASSERT_EQUAL(first_by(A), 0x8000);
	world_free(3, FREE, 0);
	world_free(3, FREE, C);
	CU_ASSERT_EQUAL(world.log.header->frees, 2);
	for (unsigned i = 0; i < 2; i++) {
		world_new(3, MALLOC, 10, B + 16 * i);
		world_free(3, FREE, B + 16 * i);
	}
	world_free(1, FREE, A);		/* two others since */
	CU_ASSERT_EQUAL(first_by(A), 0);
	world_free(1, FREE, B);
	CU_ASSERT_EQUAL(first_by(B), 0x5000);
	world_provenance(0);
	world_new(3, MALLOC, 10, B);
	world_free(3, FREE, B);
	world_free(1, FREE, B);
	CU_ASSERT_EQUAL(first_by(B), 0);
	EXPECT(.allocs = 6, .alloc_bytes = 330, .frees = 6, .free_bytes = 330, .nested = 1,
	       .null_frees = 1, .unknown_frees = 1, .double_frees = 6);
}

/* A resize is a free where it has moved or freed its block, and else none. */
static void test_first_free_by_resize(void)
{
	world_reset();
	bound_stack();
	world_provenance(100);
	world_begin(3, REALLOC, 0, 10, 0);
	world_end(3, REALLOC, A);
	world_begin(3, REALLOC, A, 20, 0);	/* in place */
	world_end(3, REALLOC, A);
	world_begin(3, REALLOC, A, 30, 0);	/* fails */
	world_end(3, REALLOC, 0);
	world_begin(3, REALLOC, C, 30, 0);	/* not recorded */
	world_end(3, REALLOC, D);
	CU_ASSERT_EQUAL(world.log.header->frees, 0);
	world_begin(3, REALLOC, A, 40, 0);
	world_end(3, REALLOC, B);
	CU_ASSERT_EQUAL(world.log.header->frees, 1);
	world_begin(3, REALLOC, B, 0, 0);
	world_end(3, REALLOC, 0);
	CU_ASSERT_EQUAL(world.log.header->frees, 2);
	world_free(1, FREE, A);
	CU_ASSERT_EQUAL(first_by(A), 0x3000);
	world_free(1, FREE, B);
	CU_ASSERT_EQUAL(first_by(B), 0x3000);
	/* One that never returns has freed nothing, as far as anybody knows. */
	world_new(3, MALLOC, 10, A);
	world_begin(5, REALLOC, A, 10, 0);
	world_free(2, FREE, A);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 0);
	CU_ASSERT_EQUAL(world.log.header->frees, 2);
}

/* Of a thread without state. */
static void test_first_free_alone(void)
{
	struct log_free free;
	uint64_t time;

	world_reset();
	world_provenance(100);
	world_threads(NULL);
	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOC, A, 10, 0);	/* of that nothing is remembered */
	world_end(3, REALLOC, B);
	CU_ASSERT_EQUAL(world.log.header->frees, 0);
	world_new(3, MALLOC, 10, A);
	time = get(A).time;
	world_free(3, FREE, A);
	CU_ASSERT_FATAL(log_first_free(&world.log, A, time, &free));
	CU_ASSERT_EQUAL(log_stack_get(&world.log, free.stack).pcs[0], 0x5000);
	CU_ASSERT(!free.thread && free.time > time);
	world_threads(world.threads);
}

/* Neither of the user's allocators nor of a sample are frees remembered. */
static void test_no_first_free(void)
{
	world_reset();
	world_provenance(100);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 1;
	world_sample(0);
	world_begin(7, CALLOC, 1, 16, 0);
	world_end(7, CALLOC, A);
	world_free(5, DELETE, A);
	CU_ASSERT_EQUAL(log_accounts_get(&world.log).frees, 1);
	CU_ASSERT_EQUAL(world.log.header->frees, 0);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 0;
	world_sample(0);
	CU_ASSERT(!world.state->probe[FREE].fast);
	CU_ASSERT_EQUAL(world.state->probe[MALLOC].fast, world.fast);
	world_provenance(0);
	CU_ASSERT_EQUAL(world.state->probe[FREE].fast, world.fast);
}

/* What may be something else is not called a double free. */
static void test_no_double_free(void)
{
	world_reset();
	world_new(3, MALLOC, 100, A);
	world_free(3, FREE, A);
	log_note_gap(&world.log);
	world_free(3, FREE, A);		/* recorded before the gap */
	world_free(3, FREE, B);		/* never recorded */
	world.state->ledger.facts.complete = 0;
	world_new(3, MALLOC, 100, C);
	world_free(3, FREE, C);
	world_free(3, FREE, C);
	world.state->ledger.facts.complete = 1;
	world_threads(NULL);		/* then a free inside another one is not told */
	world_free(3, FREE, C);
	world_threads(world.threads);
	world_new(3, MALLOC, 100, C);	/* given out again */
	world_free(3, FREE, C);
	EXPECT(.allocs = 3, .alloc_bytes = 300, .frees = 3, .free_bytes = 300, .unknown_frees = 4);
	CU_ASSERT_EQUAL(unknown_frees(LOG_UNKNOWN_FREE_DOUBLE).nr, 0);
	CU_ASSERT_EQUAL(unknown_frees(LOG_UNKNOWN_FREE_OTHER).nr, 4);
	CU_ASSERT_EQUAL(unknown_frees(LOG_UNKNOWN_FREE_OTHER).at[0].block.time, 0);
	CU_ASSERT_FALSE(unknown_frees(LOG_UNKNOWN_FREE_OTHER).at[0].on_stack);
}

/* The word above SP is on the stack, where it is known to be one. */
static void test_free_of_stack(void)
{
	uint64_t sp = (uintptr_t)&world_frame(3)->return_address;

	world_reset();
	world_free(3, FREE, sp + 16);
	world.state->main_low = (uintptr_t)world.stack;
	world.state->main_high = (uintptr_t)world.stack_end;
	world_free(3, FREE, sp + 16);
	world_free(3, FREE, sp - 16);
	world_free(3, FREE, (uintptr_t)world.stack_end);
	CU_ASSERT_EQUAL_FATAL(unknown_frees(LOG_UNKNOWN_FREE_OTHER).nr, 4);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(unknown_frees(LOG_UNKNOWN_FREE_OTHER).at[i].on_stack, i == 1);
	EXPECT(.unknown_frees = 4);
}

/* Memory of another stack may be gone: the word of the other free is not looked at there. */
static void test_freed_elsewhere(void)
{
	uint64_t *near = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	uint64_t *far = near + 512;

	world_reset();
	CU_ASSERT_NOT_EQUAL_FATAL(near, MAP_FAILED);
	world_release((uintptr_t)far, DELETE, A);
	mprotect(far, 4096, PROT_NONE);
	world_release((uintptr_t)near, FREE, A);
	EXPECT(.unknown_frees = 2);
	munmap(near, 8192);
}

/*
 * Switched off: nothing is touched, and who is let pass at its entry does not come back. A throwing new
 * is not called by its nothrow form, which may call it in turn.
 */
static void test_off(void)
{
	world_reset();
	world_new(3, MALLOC, 10, A);
	world.state->enabled = 0;
	world_new(3, MALLOC, 20, B);
	world_free(3, FREE, A);
	CU_ASSERT_EQUAL(world_begin(3, REALLOC, A, 30, 0), 1);
	CU_ASSERT_EQUAL(world_begin(3, NEW, 30, 0, 0), 1);
	world.state->enabled = 1;
	EXPECT(.allocs = 1, .alloc_bytes = 10);
}

/* The stack ends with the page that SP is in; nothing behind is looked at. */
static void test_page_end(void)
{
	struct agent_frame *frame = (struct agent_frame *)(world.stack_end - sizeof(*frame));

	world_reset();
	memset(frame, 0, sizeof(*frame));
	frame->bp = frame->bx = (uintptr_t)world.stack_end;
	frame->return_address = WORLD_RA;
	world_leave(frame, MALLOC, A);
	frame->bp = (uintptr_t)world.stack_end - 8;
	world_leave(frame, MALLOC, B);
	EXPECT(.allocs = 2);
	CU_ASSERT_EQUAL(log_stack_get(&world.log, get(A).stack).nr, 2);
}

/* Return addresses into thunks and stubs are no frames; into displaced prologues they stay. */
static void test_areas(void)
{
	uint8_t *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	struct agent_slot *slot = (struct agent_slot *)(area + AGENT_SLOT);
	uint64_t at = (uintptr_t)slot, *above = (uint64_t *)(world_frame(2) + 1);
	struct agent_frame *frame = world_frame(2);
	struct log_stack_view stack;

	world_reset();
	bound_stack();
	CU_ASSERT_NOT_EQUAL_FATAL(area, MAP_FAILED);
	world.state->area[0] = (struct agent_range){ 8, 16 };
	world.state->area[1] = (struct agent_range){ (uintptr_t)area, (uintptr_t)area + 4096 };
	world.state->nr_areas = 2;
	slot->thunk_cfa = 32;
	slot->stub_cfa = 24;
	memset(frame, 0, sizeof(*frame));
	frame->return_address = at + AGENT_SLOT_THUNK + 9;
	above[3] = at + AGENT_SLOT_STUB + 9;
	above[3 + 3] = WORLD_RA;
	world_leave(frame, MALLOC, A);
	stack = log_stack_get(&world.log, get(A).stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[1], WORLD_RA);
	frame->return_address = at + AGENT_SLOT_DISPLACED + 9;
	world_leave(frame, MALLOC, B);
	stack = log_stack_get(&world.log, get(B).stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[1], frame->return_address);
	munmap(area, 4096);
}

static void set_generation(uint32_t generation)
{
	world.map.generation = generation;
	world.state->setting = cache_setting(generation, world.state->ledger.depth);
}

/* The same call again and again: all but the first go the short way, and nobody can tell. */
static void test_again(void)
{
	struct log_record last = { 0 };

	world_reset();
	bound_stack();
	for (uint64_t i = 1; i <= 100; i++) {
		struct log_record record;

		world_new(4, MALLOC, i, A + i * 112);
		world_free(4, FREE, A + i * 112);
		world_new(4, MALLOC, i, A + i * 112);
		record = get(A + i * 112);
		CU_ASSERT_EQUAL(record.size, i);
		CU_ASSERT(record.time > last.time);
		CU_ASSERT_EQUAL(record.thread, world_thread()->ledger.log_thread);
		CU_ASSERT_EQUAL(record.heap, LOG_HEAP_UNKNOWN);
		CU_ASSERT(record.stack == last.stack || i == 1);
		last = record;
	}
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 1);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 200);
	EXPECT(.allocs = 200, .alloc_bytes = 2 * 5050, .frees = 100, .free_bytes = 5050);
	set_generation(2);
	world_new(4, MALLOC, 1, B);
	CU_ASSERT(get(B).stack != last.stack);
	world_new(4, MALLOC, SIZE_LIMIT + 1, C);
	CU_ASSERT_EQUAL(get(C).size, SIZE_LIMIT);
	set_generation(1);
}

/* A heap so low that the directory has a place for address 0, too: NULL is still no block. */
static void test_low_heap(void)
{
	const uint64_t low = 0x20000;

	world_reset();
	bound_stack();
	for (unsigned i = 0; i < 100; i++)
		world_new(4, MALLOC, 16, low + i * 32);
	world_new(4, MALLOC, 16, 0);
	world_free(4, FREE, 0);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 1);
	EXPECT(.allocs = 100, .alloc_bytes = 1600, .failed = 1, .null_frees = 1);
}

static void defer_stacks(void)
{
	world.log.deferred->used = 0;
	CU_ASSERT_PTR_NULL_FATAL(log_reserve(&world.log, 0));
}

/* However a call goes, it takes little of the stack. */
static void test_stack_use(void)
{
	uint64_t bytes[6], most = 0;

	world_reset();
	bound_stack();
	world_begin(2, MALLOC, 10, 0, 0);
	bytes[0] = world_leave_bytes(2, MALLOC, A);
	bytes[1] = world_leave_bytes(2, MALLOC, B);
	world_begin(2, REALLOC, A, 10, 0);
	bytes[2] = world_leave_bytes(2, REALLOC, A);
	world_threads(NULL);
	world_begin(2, REALLOC, B, 10, 0);
	bytes[3] = world_leave_bytes(2, REALLOC, C);
	world_provenance(10);
	world_begin(2, REALLOC, C, 10, 0);
	bytes[4] = world_leave_bytes(2, REALLOC, D);
	world_threads(world.threads);
	world_begin(2, REALLOC, D, 10, 0);
	bytes[5] = world_leave_bytes(2, REALLOC, B);
	for (unsigned i = 0; i < ARRAY_SIZE(bytes); i++) {
		printf("%u ", (unsigned)bytes[i]);
		most = MAX(most, bytes[i]);
	}
	CU_ASSERT(bytes[1] <= bytes[0]);
	defer_stacks();
	world_begin(5, MALLOC, 10, 0, 0);
	bytes[0] = world_leave_bytes(5, MALLOC, A + 64);
	CU_ASSERT_EQUAL(log_stack_get(&world.log, get(A + 64).stack).end, WALK_DEFERRED);
	printf("%u ", (unsigned)bytes[0]);
	most = MAX(most, bytes[0]);
	CU_ASSERT(most <= STACK_BYTES);
	EXPECT(.allocs = 7, .alloc_bytes = 70, .frees = 4, .free_bytes = 40);
	CU_ASSERT_EQUAL(world.log.header->frees, 1);
}

/* The stack is kept from the caller on; the whole one that it becomes is its place for all. */
static void test_deferred(void)
{
	static const uint64_t pcs[] = { 1, 2, 3 };
	static struct deferred_seen seen;
	static struct deferred_copy copy;
	struct log_stack_view view;
	uint32_t first, whole;

	world_reset();
	bound_stack();
	defer_stacks();
	for (unsigned i = 0; i < 100; i++)
		world_new(3, MALLOC, 10, A + 16 * i);
	first = get(A).stack;
	view = log_stack_get(&world.log, first);
	CU_ASSERT(view.end == WALK_DEFERRED && view.nr == 2 && view.pcs[1] == WORLD_RA);
	CU_ASSERT(view.total == 100 && view.total_bytes == 1000);
	CU_ASSERT_EQUAL(get(A + 16 * 99).stack, first);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 0);
	world_new(4, MALLOC, 10, B);
	CU_ASSERT_NOT_EQUAL(get(B).stack, first);
	log_deferred_look(&world.log, &seen);
	CU_ASSERT(seen.nr == 2 && seen.pc[0] == WORLD_RA);
	CU_ASSERT_FATAL(log_deferred_take(&world.log, &seen, 0, &copy, &first));
	CU_ASSERT_EQUAL(copy.walk.sp + copy.walk.len, (uintptr_t)world.stack_end);
	CU_ASSERT_EQUAL(copy.walk.sp, (uintptr_t)&world_frame(3)->return_address + 8);
	CU_ASSERT(!memcmp(copy.stack, (void *)(uintptr_t)copy.walk.sp, copy.walk.len));
	whole = log_stack(&world.log, pcs, 3, WALK_COMPLETE, 1);
	log_deferred_finish(&world.log, 0, first, whole);
	CU_ASSERT(get(A).stack == whole && get(A + 16 * 99).stack == whole);
	world_new(3, MALLOC, 10, C);
	CU_ASSERT_EQUAL(get(C).stack, whole);
	/* A JIT's code: walked, and remembered, as ever. */
	log_deferred_mark(&world.log, WORLD_RA - 16, WORLD_RA + 16, world.map.generation);
	world_new(3, MALLOC, 10, D);
	CU_ASSERT_EQUAL(log_stack_get(&world.log, get(D).stack).end, WALK_NO_MODULE);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 1);
	CU_ASSERT_EQUAL(log_accounts_get(&world.log).undeferred, 0);
}

/* What may be a return address, or a frame pointer, tells stacks apart; a mere number does not. */
static void test_deferred_apart(void)
{
	uint64_t *word, far = WORLD_RA + (1ull << 40);
	uint32_t first;

	world_reset();
	bound_stack();
	defer_stacks();
	word = &world_frame(3)->return_address + 5;
	*word = 1ull << 44;
	world_new(3, MALLOC, 10, A);
	first = get(A).stack;
	*word = far;
	world_new(3, MALLOC, 10, B);
	CU_ASSERT_EQUAL(get(B).stack, first);
	*word = WORLD_RA + 4096;
	world_new(3, MALLOC, 10, C);
	CU_ASSERT_NOT_EQUAL(get(C).stack, first);
	*word = ((uintptr_t)word + 64) & ~15ull;
	world_new(3, MALLOC, 10, D);
	CU_ASSERT(get(D).stack != first && get(D).stack != get(C).stack);
	*word = 1ull << 45;
	world_new(3, MALLOC, 10, B);
	CU_ASSERT_EQUAL(get(B).stack, first);
}

/* No copy left: as far as it was walked, and counted. */
static void test_undeferred(void)
{
	world_reset();
	bound_stack();
	defer_stacks();
	world.log.deferred->ready = 0;
	world_new(3, MALLOC, 10, A);
	world_new(3, MALLOC, 10, B);
	CU_ASSERT_EQUAL(log_stack_get(&world.log, get(A).stack).end, WALK_NO_MODULE);
	CU_ASSERT_EQUAL(log_accounts_get(&world.log).undeferred, 2);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 0);
}

/* No room for a block: it is counted, and to no stack. */
static void test_full(void)
{
	uint64_t nr = 0;
	struct log_accounts accounts;

	world_reset();
	while (nr < 4000000 && !log_accounts_get(&world.log).table_full)
		for (unsigned i = 0; i < 1000; i++)
			world_new(3, MALLOC, 1, ++nr * 16);
	accounts = log_accounts_get(&world.log);
	CU_ASSERT(accounts.table_full > 0);
	CU_ASSERT_EQUAL(accounts.allocs + accounts.table_full, nr);
	CU_ASSERT_EQUAL(log_live(&world.log), accounts.allocs);
}

static void play_restart(bool bounded, uint64_t sample)
{
	world_reset();
	world_sample(sample);
	world.state->probe[CALLOC].ledger.entered = sample != 0;
	if (bounded)
		bound_stack();
}

static bool play_enter(unsigned depth, enum script_function fn, const uint64_t arg[3])
{
	return world_begin(depth, fn, arg[0], arg[1], arg[2]);
}

static void play_release(unsigned depth, enum script_function fn, uint64_t block)
{
	static uint64_t elsewhere = WORLD_RA;

	if (depth == ELSEWHERE)
		world_release((uintptr_t)&elsewhere, fn, block);
	else
		world_free(depth, fn, block);
}

static void play_returned(unsigned depth)
{
	world_frame(depth)->return_address = 1;
}

static struct log *play_log(void)
{
	return &world.log;
}

static struct ledger_thread *play_thread(void)
{
	return &world_thread()->ledger;
}

static uint64_t play_counted(void)
{
	return total_of(0);
}

static void test_scripts(void)
{
	static const struct script_player player = {
		play_restart, play_enter, world_end, play_release, play_returned, play_log,
		play_thread, play_counted,
	};

	scripts_play(&player);
	play_restart(false, 0);
}

/* As mdbg sets up a log that samples, and a thread whose next sample is so many bytes ahead. */
static void sample_begin(uint64_t mean, uint64_t gap)
{
	world_reset();
	world_sample(mean);
	world_new(3, MALLOC, 1, C);
	world_free(3, FREE, C);
	log_reset(&world.log);
	world_thread()->ledger.random = 1;
	world_thread()->ledger.gap = gap;
}

static void sample_end(void)
{
	world_sample(0);
}

/* The sample is in the byte behind the gap. */
static void test_sampled(void)
{
	sample_begin(1 << 20, 250);
	world_new(3, MALLOC, 100, A);
	world_new(3, MALLOC, 150, B);
	EXPECT(.unsampled = 2);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 0);
	world_new(3, CALLOC, 1, C);
	EXPECT(.allocs = 1, .alloc_bytes = 1, .unsampled = 2);
	CU_ASSERT_EQUAL(get(C).size, 1);
	CU_ASSERT(stack_total(CALLOC) > 900000);
	CU_ASSERT_EQUAL(stack_total(CALLOC), sample_share(1 << 20, 1, get(C).time).blocks);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 0);
	world_free(3, FREE, A);
	world_free(3, FREE, C);
	world_free(3, FREE, 0);
	EXPECT(.allocs = 1, .alloc_bytes = 1, .frees = 1, .free_bytes = 1, .unsampled = 2,
	       .unsampled_frees = 1, .null_frees = 1);
	sample_end();
}

/* A block that is not recorded, and stays where it is. */
static void test_sampled_resize_fails(void)
{
	sample_begin(1 << 20, 1000);
	world_new(9, MALLOC, 10, A);
	world_begin(5, REALLOC, A, 30, 0);
	world_end(5, REALLOC, 0);
	EXPECT(.unsampled = 1, .failed = 1);
	world_threads(NULL);
	world_begin(5, REALLOC, A, 30, 0);
	world_end(5, REALLOC, 0);
	world_threads(world.threads);
	EXPECT(.unsampled = 1, .failed = 2);
	world_begin(5, REALLOC, A, 0, 0);
	world_end(5, REALLOC, 0);
	EXPECT(.unsampled = 1, .unsampled_frees = 1, .failed = 2);
	sample_end();
}

static void *free_a(void *unused)
{
	world_free(5, FREE, A);
	return unused;
}

static void free_elsewhere(void)
{
	pthread_t thread;

	CU_ASSERT_FALSE_FATAL(pthread_create(&thread, NULL, free_a, NULL));
	pthread_join(thread, NULL);
}

/* Another thread has freed it, so that this one does not know; from further up the stack it gets it again. */
static void test_sampled_freed_elsewhere(void)
{
	sample_begin(1 << 20, 1000);
	world_new(9, MALLOC, 10, A);
	free_elsewhere();
	world_new(8, MALLOC, 10, A);
	free_elsewhere();
	world_new(7, CALLOC, 10, A);
	EXPECT(.unsampled = 3, .unsampled_frees = 2);
	free_elsewhere();
	world_begin(6, NEW, 10, 0, 0);
	world_end(6, NEW, A);
	free_elsewhere();
	world_begin(5, REALLOC, 0, 10, 0);
	world_end(5, REALLOC, A);
	EXPECT(.unsampled = 5, .unsampled_frees = 4);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 950);
	world_thread()->ledger.gap = 5;
	free_elsewhere();
	world_new(4, MALLOC, 10, A);
	CU_ASSERT_EQUAL(get(A).size, 10);
	free_elsewhere();
	EXPECT(.allocs = 1, .alloc_bytes = 10, .frees = 1, .free_bytes = 10, .unsampled = 5,
	       .unsampled_frees = 5);
	sample_end();
}

/* In a signal handler, which finds its thread in the agent. */
static void test_sampled_busy(void)
{
	sample_begin(1 << 20, 1000);
	world_new(9, MALLOC, 10, A);
	world_thread()->ledger.busy = 1;
	world_new(9, MALLOC, 1, B);
	world_free(9, FREE, B);
	world_free(9, FREE, A);
	world_thread()->ledger.busy = 0;
	EXPECT(.unsampled = 2, .unsampled_frees = 2);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 990);
	sample_end();
}

/* By millions of blocks: those that are recorded stand for all. */
static void test_sampled_share(void)
{
	uint64_t blocks = 0;

	sample_begin(4096, 0);
	for (unsigned i = 0; i < 1000000; i++) {
		world_new(3, MALLOC, 64, A);
		world_free(3, FREE, A);
	}
	blocks = stack_total(MALLOC);
	printf("%llu for 1000000 ", (unsigned long long)blocks);
	CU_ASSERT(blocks > 950000 && blocks < 1050000);		/* 6 sigma */
	sample_end();
}

/* A block of the user's allocator at the address of the malloc's that it lies in. */
static void test_domains(void)
{
	uint64_t user = A | LOG_DOMAIN_USER;

	world_reset();
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 1;
	world_sample(0);
	world_new(9, MALLOC, 64, A);
	world_begin(7, CALLOC, 1, 16, 0);
	world_end(7, CALLOC, A);
	EXPECT(.allocs = 2, .alloc_bytes = 80);
	CU_ASSERT_EQUAL(get(A).size, 64);
	CU_ASSERT_EQUAL(get(user).size, 16);
	world_free(5, DELETE, A);
	EXPECT(.allocs = 2, .alloc_bytes = 80, .frees = 1, .free_bytes = 16);
	CU_ASSERT_EQUAL(get(A).size, 64);
	world_free(4, DELETE, A);
	world_free(6, FREE, A);
	world_free(5, DELETE, 0);
	EXPECT(.allocs = 2, .alloc_bytes = 80, .frees = 2, .free_bytes = 80, .unknown_frees = 1,
	       .null_frees = 1);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 0;
	world_sample(0);
}

static const struct record_test {
	const char *name;
	void (*fn)(void);
} tests[] = {
	{ "scripts", test_scripts },
	{ "plain", test_plain },
	{ "result by reference", test_by_ref },
	{ "resize in hand", test_resize },
	{ "resize that fails", test_resize_fails },
	{ "double free", test_double_free },
	{ "first free", test_first_free },
	{ "first free by a resize", test_first_free_by_resize },
	{ "first free, without state", test_first_free_alone },
	{ "no first free", test_no_first_free },
	{ "no double free", test_no_double_free },
	{ "free of what is on the stack", test_free_of_stack },
	{ "freed on another stack", test_freed_elsewhere },
	{ "switched off", test_off },
	{ "end of the page", test_page_end },
	{ "areas", test_areas },
	{ "again and again", test_again },
	{ "a low heap", test_low_heap },
	{ "stack use", test_stack_use },
	{ "deferred", test_deferred },
	{ "deferred, told apart", test_deferred_apart },
	{ "no room to defer", test_undeferred },
	{ "table full", test_full },
	{ "domains", test_domains },
	{ "sampled", test_sampled },
	{ "sampled, resize that fails", test_sampled_resize_fails },
	{ "sampled, freed elsewhere", test_sampled_freed_elsewhere },
	{ "sampled, busy", test_sampled_busy },
	{ "sampled, in sum", test_sampled_share },
};

static void add_suite(const char *name, int (*create)(void))
{
	CU_pSuite suite = CU_add_suite(name, create, world_destroy);

	for (unsigned i = 0; i < ARRAY_SIZE(tests); i++)
		CU_add_test(suite, tests[i].name, tests[i].fn);
}

static int create_slow(void)
{
	int ret = world_create();

	world.fast = false;
	return ret;
}

/* Both ways must come to the same. */
void suite_slow_path(void)
{
	add_suite("record", world_create);
	add_suite("record, the long way", create_slow);
}
