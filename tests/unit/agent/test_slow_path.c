/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What calls mean to the log: made-up thunks on a made-up stack call the agent's image, and every
 * account is compared.
 */

#include "base/compiler.h"
#include "record_tests.h"
#include "same_record.h"
#include "unit.h"

RECORD_SUITES("record");

EACH(world_reset, NULL);

#define SIZE_LIMIT	((1ull << 48) - 1)

TEST("plain")
{
	struct log_stack_view stack;
	uint64_t before = log_now();

	world_new(3, MALLOC, 100, A);
	world_new(3, CALLOC, 30, B);
	EXPECT(.allocs = 2, .alloc_bytes = 130);
	CU_ASSERT_EQUAL(record_at(A).size, 100);
	CU_ASSERT_EQUAL(record_at(A).heap, LOG_HEAP_UNKNOWN);
	CU_ASSERT(record_at(A).time > before && record_at(B).time > record_at(A).time &&
		  record_at(B).time < log_now());
	CU_ASSERT_NOT_EQUAL(record_at(A).stack, record_at(B).stack);
	stack = reader_stack(&world.log, record_at(A).stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[0], 0x1000);
	CU_ASSERT_EQUAL(stack.pcs[1], WORLD_RA);
	world_free(2, FREE, A);
	world_free(2, FREE, 0);
	world_free(2, FREE, C);
	world_new(3, MALLOC, 5, 0);
	EXPECT(.allocs = 2, .alloc_bytes = 130, .frees = 1, .free_bytes = 100, .unknown_frees = 1,
	       .null_frees = 1, .failed = 1);
	CU_ASSERT(!log_record_lookup(&world.log, A, &(struct log_record){ 0 }));
}

TEST("result by reference")
{
	uint64_t result = A;

	world_begin(1, MEMALIGN_BY_REF, (uintptr_t)&result, 64, 1000);
	world_end(1, MEMALIGN_BY_REF, 0xffffffff00000000);	/* an int: the rest is anything */
	CU_ASSERT_EQUAL(record_at(A).size, 1000);
	world_end(1, MEMALIGN_BY_REF, 12);
	result = 0;
	world_end(1, MEMALIGN_BY_REF, 0);
	EXPECT(.allocs = 1, .alloc_bytes = 1000, .failed = 2);
}

/* What a reader sees of a block that a resize has in hand. */
TEST("resize in hand")
{
	struct log_record first;

	world_new(3, MALLOC, 10, A);
	first = record_at(A);
	world_begin(3, REALLOC, A, 20, 0);
	CU_ASSERT_EQUAL(reader_live(&world.log), 0);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 1);
	CU_ASSERT(world_thread()->ledger.op[0].took);
	CU_ASSERT(same_record(&world_thread()->ledger.op[0].old, &first));
	world_end(3, REALLOC, A);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 0);
	CU_ASSERT_EQUAL(record_at(A).size, 20);
}

TEST("resize that fails")
{
	struct log_record before, after;

	world_new(3, MALLOC, 10, A);
	before = record_at(A);
	world_begin(3, REALLOC, A, 1ull << 50, 0);
	world_end(3, REALLOC, 0);
	after = record_at(A);
	CU_ASSERT(before.size == after.size && before.time == after.time &&
		  before.stack == after.stack && before.thread == after.thread);
	EXPECT(.allocs = 1, .alloc_bytes = 10, .failed = 1);
}

/*
 * Switched off: nothing is touched, and who is let pass at its entry does not come back. A throwing
 * new is not called by its nothrow form, which may call it in turn.
 */
TEST("switched off")
{
	world_new(3, MALLOC, 10, A);
	world.state->enabled = 0;
	world_new(3, MALLOC, 20, B);
	world_free(3, FREE, A);
	CU_ASSERT_EQUAL(world_begin(3, REALLOC, A, 30, 0), 1);
	CU_ASSERT_EQUAL(world_begin(3, NEW, 30, 0, 0), 1);
	world.state->enabled = 1;
	EXPECT(.allocs = 1, .alloc_bytes = 10);
}

static void set_generation(uint32_t generation)
{
	world.map.generation = generation;
	world.state->setting = cache_setting(generation, world.state->ledger.depth);
}

/* The same call again and again: all but the first take the fast path, and nobody can tell. */
TEST("again and again")
{
	struct log_record last = { 0 };

	world_bound_stack();
	for (uint64_t i = 1; i <= 100; i++) {
		struct log_record record;

		world_new(4, MALLOC, i, A + i * 112);
		world_free(4, FREE, A + i * 112);
		world_new(4, MALLOC, i, A + i * 112);
		record = record_at(A + i * 112);
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
	CU_ASSERT(record_at(B).stack != last.stack);
	world_new(4, MALLOC, SIZE_LIMIT + 1, C);
	CU_ASSERT_EQUAL(record_at(C).size, SIZE_LIMIT);
	set_generation(1);
}

/* A heap so low that the directory has a place for address 0, too: NULL is still no block. */
TEST("a low heap")
{
	const uint64_t low = 0x20000;

	world_bound_stack();
	for (unsigned i = 0; i < 100; i++)
		world_new(4, MALLOC, 16, low + i * 32);
	world_new(4, MALLOC, 16, 0);
	world_free(4, FREE, 0);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 1);
	EXPECT(.allocs = 100, .alloc_bytes = 1600, .failed = 1, .null_frees = 1);
}

/* No room for a block: it is counted, and to no stack. */
TEST("table full")
{
	uint64_t nr = 0;
	struct log_accounts accounts;

	while (nr < 4000000 && !reader_accounts(&world.log).table_full)
		for (unsigned i = 0; i < 1000; i++)
			world_new(3, MALLOC, 1, ++nr * 16);
	accounts = reader_accounts(&world.log);
	CU_ASSERT(accounts.table_full > 0);
	CU_ASSERT_EQUAL(accounts.allocs + accounts.table_full, nr);
	CU_ASSERT_EQUAL(reader_live(&world.log), accounts.allocs);
}

static void play_restart(bool bounded, uint64_t sample)
{
	world_reset();
	world_sample(sample);
	world.state->probe[CALLOC].ledger.entered = sample != 0;
	if (bounded)
		world_bound_stack();
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
	return blocks_counted(0);
}

TEST("scripts")
{
	static const struct script_player player = {
		play_restart, play_enter, world_end, play_release, play_returned, play_log,
		play_thread, play_counted,
	};

	scripts_play(&player);
	play_restart(false, 0);
}

/* A block of the user's allocator at the address of the malloc's that it lies in. */
TEST("domains")
{
	uint64_t user = A | LOG_DOMAIN_USER;

	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 1;
	world_sample(0);
	world_new(9, MALLOC, 64, A);
	world_begin(7, CALLOC, 1, 16, 0);
	world_end(7, CALLOC, A);
	EXPECT(.allocs = 2, .alloc_bytes = 80);
	CU_ASSERT_EQUAL(record_at(A).size, 64);
	CU_ASSERT_EQUAL(record_at(user).size, 16);
	world_free(5, DELETE, A);
	EXPECT(.allocs = 2, .alloc_bytes = 80, .frees = 1, .free_bytes = 16);
	CU_ASSERT_EQUAL(record_at(A).size, 64);
	world_free(4, DELETE, A);
	world_free(6, FREE, A);
	world_free(5, DELETE, 0);
	EXPECT(.allocs = 2, .alloc_bytes = 80, .frees = 2, .free_bytes = 80, .unknown_frees = 1,
	       .null_frees = 1);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 0;
	world_sample(0);
}
