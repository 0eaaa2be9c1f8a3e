/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Frees of what is not recorded: what is remembered of each, and of the first free of a block that
 * is freed twice.
 */

#include <sys/mman.h>

#include "record_tests.h"
#include "same_record.h"
#include "unit.h"

RECORD_SUITES("unknown free");

EACH(world_reset, NULL);

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

	reader_each_unknown_free(&world.log, kind, add_unknown_free, &ret);
	return ret;
}

/* What is remembered of one: when, by whom, from where; and the block as it was. */
TEST("double free")
{
	struct log_stack_view stack;
	struct log_record was;
	struct unknown_frees found;

	world_new(3, MALLOC, 100, A);
	was = record_at(A);
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
		stack = reader_stack(&world.log, found.at[i].stack);
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
	stack = reader_stack(&world.log, last->first.stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[1], WORLD_RA);
	return stack.pcs[0];
}

TEST("first free")
{
	world_bound_stack();
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

/* The size of a block that nobody has seen being made is in the word before it. */
TEST("sizes")
{
	static uint64_t memory[8] __attribute__((aligned(16)));
	uint64_t block = (uintptr_t)&memory[2];
	static const struct {
		uint64_t head, bytes;
	} heads[] = {
		{ 0x21, 24 }, { 0x65, 88 }, { 0x1002, 4080 }, { 0x21 | 8, 0 }, { 0x11, 0 }, { 0, 0 },
		{ UINT64_MAX - 15, 0 },
	};
	uint64_t sum = 0, nr = 0;

	world_bound_stack();
	for (unsigned i = 0; i < ARRAY_SIZE(heads); i++) {
		memory[1] = heads[i].head;
		world_free(3, FREE, block);
		sum += heads[i].bytes;
		nr += heads[i].bytes != 0;
	}
	/* Not known without a head; read by the one that another leads to, and once. */
	EXPECT(.unknown_frees = 7);
	world_head(true);
	world.state->stacks.asks = 1;
	for (unsigned i = 0; i < ARRAY_SIZE(heads); i++) {
		memory[1] = heads[i].head;
		world_free(3, FREE, block);
	}
	EXPECT(.unknown_frees = 14, .sized_frees = nr, .sized_bytes = sum);
	memory[1] = 0x31;
	world_free(3, DELETE, block);
	EXPECT(.unknown_frees = 15, .sized_frees = nr, .sized_bytes = sum);
	world_free(3, FREE, block);
	world_begin(3, REALLOC, block, 10, 0);
	EXPECT(.unknown_frees = 16, .nested = 1, .sized_frees = nr + 2, .sized_bytes = sum + 80);
	world_end(3, REALLOC, 0);		/* it has failed */
	EXPECT(.unknown_frees = 15, .nested = 1, .sized_frees = nr + 1, .sized_bytes = sum + 40,
	       .failed = 1);
	world_new(3, MALLOC, 10, block);	/* a double free has none */
	world_free(3, FREE, block);
	world_free(2, FREE, block);
	EXPECT(.unknown_frees = 15, .nested = 1, .sized_frees = nr + 1, .sized_bytes = sum + 40,
	       .failed = 1, .allocs = 1, .alloc_bytes = 10, .frees = 1, .free_bytes = 10,
	       .double_frees = 1);
	memory[1] = 0x31;
	world_free(3, FREE, block + 1);		/* no block, and none that can be read */
	world_free(3, FREE, (uintptr_t)world.stack_end + 16);
	world.state->stacks.asks = 0;		/* nobody may be asked */
	world_free(3, FREE, block + 16);
	CU_ASSERT_EQUAL(reader_accounts(&world.log).sized_frees, nr + 1);
	world_head(false);
}

/* A resize is a free where it has moved or freed its block, and else none. */
TEST("first free by a resize")
{
	world_bound_stack();
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
TEST("first free, without state")
{
	struct log_free free;
	uint64_t time;

	world_provenance(100);
	world_threads(NULL);
	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOC, A, 10, 0);	/* of that nothing is remembered */
	world_end(3, REALLOC, B);
	CU_ASSERT_EQUAL(world.log.header->frees, 0);
	world_new(3, MALLOC, 10, A);
	time = record_at(A).time;
	world_free(3, FREE, A);
	CU_ASSERT_FATAL(free_history_first(&world.log, A, time, &free));
	CU_ASSERT_EQUAL(reader_stack(&world.log, free.stack).pcs[0], 0x5000);
	CU_ASSERT(!free.thread && free.time > time);
	world_threads(world.threads);
}

/* Neither of the user's allocators nor of a sample are frees remembered. */
TEST("no first free")
{
	world_provenance(100);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 1;
	world_sample(0);
	world_begin(7, CALLOC, 1, 16, 0);
	world_end(7, CALLOC, A);
	world_free(5, DELETE, A);
	CU_ASSERT_EQUAL(reader_accounts(&world.log).frees, 1);
	CU_ASSERT_EQUAL(world.log.header->frees, 0);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 0;
	world_sample(0);
	CU_ASSERT(!world.state->probe[FREE].fast);
	CU_ASSERT_EQUAL(world.state->probe[MALLOC].fast, world.fast);
	world_provenance(0);
	CU_ASSERT_EQUAL(world.state->probe[FREE].fast, world.fast);
}

/* What may be something else is not called a double free. */
TEST("no double free")
{
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
TEST("free of what is on the stack")
{
	uint64_t sp = (uintptr_t)&world_frame(3)->return_address;

	world_free(3, FREE, sp + 16);
	world_bound_stack();
	world_free(3, FREE, sp + 16);
	world_free(3, FREE, sp - 16);
	world_free(3, FREE, (uintptr_t)world.stack_end);
	CU_ASSERT_EQUAL_FATAL(unknown_frees(LOG_UNKNOWN_FREE_OTHER).nr, 4);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(unknown_frees(LOG_UNKNOWN_FREE_OTHER).at[i].on_stack, i == 1);
	EXPECT(.unknown_frees = 4);
}

/* Memory of another stack may be gone: the word of the other free is not looked at there. */
TEST("freed on another stack")
{
	uint64_t *near = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	uint64_t *far = near + 512;

	CU_ASSERT_NOT_EQUAL_FATAL(near, MAP_FAILED);
	world_release((uintptr_t)far, DELETE, A);
	mprotect(far, 4096, PROT_NONE);
	world_release((uintptr_t)near, FREE, A);
	EXPECT(.unknown_frees = 2);
	munmap(near, 8192);
}
