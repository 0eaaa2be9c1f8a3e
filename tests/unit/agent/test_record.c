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
#include "log/layout.h"
#include "log/sample.h"
#include "same_record.h"
#include "unit.h"
#include "world.h"

void suite_record(void);

#define A	0x10000ull
#define B	0x20000ull
#define C	0x30000ull
#define D	0x40000ull

/* Without the frame that the thunk has laid. */
#define STACK_BYTES	1024
#define SIZE_LIMIT	((1ull << 48) - 1)

static const char *const names[] = {
	"allocs", "alloc_bytes", "frees", "free_bytes", "table_full", "replaced", "unknown_frees",
	"null_frees", "failed", "nested", "unstacked", "voided", "unsampled", "unsampled_frees",
	"double_frees", "own_frees",
};

/* All accounts are these. */
static void expect_accounts(struct log_accounts want, const char *what)
{
	struct log_accounts is = log_accounts_get(&world.log);
	const uint64_t *a = (const uint64_t *)&is, *b = (const uint64_t *)&want;

	for (unsigned i = 0; i < ARRAY_SIZE(names); i++)
		if (a[i] != b[i])
			printf("%s: %s is %lld, not %lld\n", what, names[i], (long long)a[i],
			       (long long)b[i]);
	CU_ASSERT(!memcmp(&is, &want, sizeof(is)));
	CU_ASSERT_EQUAL(log_live(&world.log), is.allocs - is.frees - is.replaced);
}

#define EXPECT(...)	expect_accounts((struct log_accounts){ __VA_ARGS__ }, __func__)

static struct log_record get(uint64_t block)
{
	struct log_record record = { 0 };

	CU_ASSERT(log_lookup(&world.log, block, &record));
	return record;
}

struct total {
	uint64_t function, blocks;
};

static void add_total(uint32_t stack, uint64_t blocks, uint64_t bytes, void *ctx)
{
	struct log_stack_view view = log_stack_get(&world.log, stack);
	struct total *total = ctx;

	(void)bytes;
	if (view.nr && view.pcs[0] == total->function)
		total->blocks += blocks;
}

/* All that was ever counted to this function's stacks, in the table and in this thread's memo. */
static uint64_t stack_total(enum world_probe probe)
{
	struct total total = { world.state->probe[probe].address, 0 };

	for (uint32_t i = 1; i <= log_stacks(&world.log); i++)
		add_total(i, log_stack_get(&world.log, i).total, 0, &total);
	memo_each(&world_thread()->memo, add_total, &total);
	return total.blocks;
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

static void test_sizes(void)
{
	world_reset();
	world_begin(1, CALLOC, 7, 6, 0);
	world_end(1, CALLOC, A);
	CU_ASSERT_EQUAL(get(A).size, 42);
	world_begin(1, CALLOC, 1ull << 40, 1ull << 40, 0);
	world_end(1, CALLOC, B);
	CU_ASSERT_EQUAL(get(B).size, SIZE_LIMIT);
	EXPECT(.allocs = 2, .alloc_bytes = 42 + SIZE_LIMIT);
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

/* The same address again and again, each time higher up: one call. */
static void test_nested(void)
{
	world_reset();
	world_new(9, MALLOC, 64, A);
	world_new(7, CALLOC, 50, A);
	world_new(5, NEW, 49, A);
	EXPECT(.allocs = 1, .alloc_bytes = 49, .nested = 2);
	CU_ASSERT_EQUAL(get(A).size, 49);
	CU_ASSERT_EQUAL(log_stack_get(&world.log, get(A).stack).pcs[0], 0x7000);
	world_free(4, FREE, A);
	EXPECT(.allocs = 1, .alloc_bytes = 49, .frees = 1, .free_bytes = 49, .nested = 2);
}

/* A block that is found at the address of a new one is no part of it. */
static void test_replaced(void)
{
	world_reset();
	world_new(5, MALLOC, 10, A);
	world_new(5, MALLOC, 20, A);		/* the same SP */
	world_new(7, MALLOC, 30, A);		/* deeper */
	EXPECT(.allocs = 3, .alloc_bytes = 60, .free_bytes = 30, .replaced = 2);
	world_new(9, MALLOC, 40, B);
	world_new(4, MALLOC, 50, A);		/* not the last one */
	EXPECT(.allocs = 5, .alloc_bytes = 150, .free_bytes = 60, .replaced = 3);
	world_free(4, FREE, A);
	world_new(9, MALLOC, 60, A);
	world_free(9, FREE, A);			/* the last one, but gone */
	world_new(4, MALLOC, 70, A);
	EXPECT(.allocs = 7, .alloc_bytes = 280, .frees = 2, .free_bytes = 170, .replaced = 3);
}

static void test_resize(void)
{
	struct log_record first;

	world_reset();
	world_begin(3, REALLOC, 0, 10, 0);	/* as malloc */
	world_end(3, REALLOC, A);
	first = get(A);
	world_begin(3, REALLOC, A, 20, 0);	/* in place */
	CU_ASSERT_EQUAL(log_live(&world.log), 0);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 1);
	CU_ASSERT(world_thread()->ledger.op[0].took && world_thread()->ledger.op[0].old.time == first.time);
	world_end(3, REALLOC, A);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 0);
	CU_ASSERT_EQUAL(get(A).size, 20);
	world_begin(3, REALLOC, A, 30, 0);	/* elsewhere */
	world_end(3, REALLOC, B);
	CU_ASSERT_EQUAL(get(B).size, 30);
	EXPECT(.allocs = 3, .alloc_bytes = 60, .frees = 2, .free_bytes = 30);
	world_begin(3, REALLOC, B, 0, 0);	/* freed */
	world_end(3, REALLOC, 0);
	EXPECT(.allocs = 3, .alloc_bytes = 60, .frees = 3, .free_bytes = 60);
	world_begin(3, REALLOC, C, 40, 0);	/* of a block from before */
	world_end(3, REALLOC, A);
	world_begin(3, REALLOC, 0, 40, 0);
	world_end(3, REALLOC, 0);
	EXPECT(.allocs = 4, .alloc_bytes = 100, .frees = 3, .free_bytes = 60, .unknown_frees = 1,
	       .failed = 1);
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

/* realloc calls malloc and free. */
static void test_resize_by_parts(void)
{
	world_reset();
	bound_stack();
	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOC, A, 20, 0);
	world_new(5, MALLOC, 24, B);
	world_free(5, FREE, A);
	world_end(3, REALLOC, B);
	EXPECT(.allocs = 2, .alloc_bytes = 30, .frees = 1, .free_bytes = 10, .nested = 2);
	CU_ASSERT_EQUAL(get(B).size, 20);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 1);
	CU_ASSERT_EQUAL(stack_total(REALLOC), 1);
	/* A block that is not in hand is freed as any other. */
	world_new(3, MALLOC, 1, C);
	world_begin(3, REALLOC, B, 30, 0);
	world_free(5, FREE, C);
	world_end(3, REALLOC, B);
	EXPECT(.allocs = 4, .alloc_bytes = 61, .frees = 3, .free_bytes = 31, .nested = 2);
}

/* reallocarray calls realloc: the inner one is not recorded, however it ends. */
static void test_resize_in_resize(void)
{
	world_reset();
	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOCARRAY, A, 5, 6);
	world_begin(5, REALLOC, A, 30, 0);
	world_end(5, REALLOC, B);
	world_end(3, REALLOCARRAY, B);
	EXPECT(.allocs = 2, .alloc_bytes = 40, .frees = 1, .free_bytes = 10, .nested = 1);
	world_begin(3, REALLOCARRAY, B, 5, 7);
	world_begin(5, REALLOC, B, 35, 0);
	world_end(5, REALLOC, 0);
	world_end(3, REALLOCARRAY, 0);
	EXPECT(.allocs = 2, .alloc_bytes = 40, .frees = 1, .free_bytes = 10, .nested = 2,
	       .failed = 1);
	CU_ASSERT_EQUAL(get(B).size, 30);
}

static void test_throwing(void)
{
	world_reset();
	CU_ASSERT_EQUAL(world_begin(3, NEW, 10, 0, 0), 0);
	CU_ASSERT_EQUAL(world_begin(5, NEW, 10, 0, 0), 1);	/* by its nothrow twin */
	world_new(7, MALLOC, 10, A);
	world_end(3, NEW, A);
	EXPECT(.allocs = 1, .alloc_bytes = 10, .nested = 1);
	CU_ASSERT_EQUAL(world_begin(5, NEW, 10, 0, 0), 0);	/* under way no more */
	world_end(5, NEW, 0);
	EXPECT(.allocs = 1, .alloc_bytes = 10, .nested = 1, .failed = 1);
	CU_ASSERT_EQUAL(stack_total(NEW), 1);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 0);
}

/* operator delete jumps to free, or calls it. */
static void test_free_by_free(void)
{
	world_reset();
	world_new(3, MALLOC, 10, A);
	world_free(3, DELETE, A);
	world_free(3, FREE, A);
	EXPECT(.allocs = 1, .alloc_bytes = 10, .frees = 1, .free_bytes = 10, .nested = 1);
	world_new(3, MALLOC, 20, B);
	world_free(3, DELETE, B);
	world_free(6, FREE, B);
	EXPECT(.allocs = 2, .alloc_bytes = 30, .frees = 2, .free_bytes = 30, .nested = 2);
	/* Called anew from higher up, or with the other one returned from: twice freed. */
	world_free(2, FREE, B);
	world_frame(3)->return_address = 1;
	world_release((uintptr_t)&world_frame(6)->return_address, FREE, B);
	/* Where the block has been given out again, it is a free of its own. */
	world_new(3, MALLOC, 30, C);
	world_free(3, DELETE, C);
	world_new(6, MALLOC, 5, C);
	world_free(6, FREE, C);
	/* And free leads to no other. Of B it is not known where the stack ends. */
	world_free(3, FREE, A);
	world_free(3, FREE, A);
	EXPECT(.allocs = 4, .alloc_bytes = 65, .frees = 4, .free_bytes = 65, .nested = 2,
	       .unknown_frees = 2, .double_frees = 2);
}

struct strays {
	struct log_stray at[8];
	unsigned nr;
};

static bool add_stray(const struct log_stray *stray, void *ctx)
{
	struct strays *strays = ctx;

	strays->at[strays->nr++] = *stray;
	return strays->nr == ARRAY_SIZE(strays->at);
}

static struct strays strays(enum log_stray_kind kind)
{
	struct strays ret = { .nr = 0 };

	log_each_stray(&world.log, kind, add_stray, &ret);
	return ret;
}

/* What is remembered of one: when, by whom, from where; and the block as it was. */
static void test_double_free(void)
{
	struct log_stack_view stack;
	struct log_record was;
	struct strays found;

	world_reset();
	world_new(3, MALLOC, 100, A);
	was = get(A);
	world_free(3, FREE, A);
	CU_ASSERT_EQUAL(strays(LOG_STRAY_DOUBLE).nr, 0);
	world_free(2, FREE, A);
	world_begin(2, REALLOC, A, 10, 0);
	world_end(2, REALLOC, 0);
	EXPECT(.allocs = 1, .alloc_bytes = 100, .frees = 1, .free_bytes = 100, .double_frees = 2,
	       .failed = 1);
	found = strays(LOG_STRAY_DOUBLE);
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
	struct strays found = strays(LOG_STRAY_DOUBLE);
	const struct log_stray *last = &found.at[found.nr - 1];
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
	world_history(2);		/* not of what was before */
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
	world_history(0);
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
	world_history(100);
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
	world_history(100);
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
	world_history(100);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 1;
	world_sample(0);
	world_begin(7, CALLOC, 1, 16, 0);
	world_end(7, CALLOC, A);
	world_free(5, DELETE, A);
	CU_ASSERT_EQUAL(log_accounts_get(&world.log).frees, 1);
	CU_ASSERT_EQUAL(world.log.header->frees, 0);
	world.state->probe[CALLOC].ledger.user = world.state->probe[DELETE].ledger.user = 0;
	world_sample(0);
	CU_ASSERT(!world.state->probe[FREE].quick);
	CU_ASSERT_EQUAL(world.state->probe[MALLOC].quick, world.quick);
	world_history(0);
	CU_ASSERT_EQUAL(world.state->probe[FREE].quick, world.quick);
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
	CU_ASSERT_EQUAL(strays(LOG_STRAY_DOUBLE).nr, 0);
	CU_ASSERT_EQUAL(strays(LOG_STRAY_UNKNOWN).nr, 4);
	CU_ASSERT_EQUAL(strays(LOG_STRAY_UNKNOWN).at[0].block.time, 0);
	CU_ASSERT_FALSE(strays(LOG_STRAY_UNKNOWN).at[0].on_stack);
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
	CU_ASSERT_EQUAL_FATAL(strays(LOG_STRAY_UNKNOWN).nr, 4);
	for (unsigned i = 0; i < 4; i++)
		CU_ASSERT_EQUAL(strays(LOG_STRAY_UNKNOWN).at[i].on_stack, i == 1);
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

static void test_voided(void)
{
	world_reset();
	world_new(3, MALLOC, 10, A);
	world_begin(3, REALLOC, A, 20, 0);	/* left by longjmp */
	world_begin(3, REALLOC, 0, 30, 0);	/* the same SP */
	world_end(3, REALLOC, B);
	EXPECT(.allocs = 2, .alloc_bytes = 40, .frees = 1, .free_bytes = 10, .voided = 1);
	/* An outer one returns: those inside never will. */
	world_begin(3, REALLOC, B, 40, 0);
	world_begin(5, REALLOC, C, 50, 0);
	world_begin(7, NEW, 50, 0, 0);
	world_end(3, REALLOC, B);
	EXPECT(.allocs = 3, .alloc_bytes = 80, .frees = 2, .free_bytes = 40, .unknown_frees = 1,
	       .voided = 3);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 0);
}

/* A higher SP voids on the same stack only, for every kind of event. */
static void test_voided_by_height(void)
{
	uint64_t elsewhere = WORLD_RA;

	world_reset();
	world_begin(8, REALLOC, A, 10, 0);
	world_begin(6, REALLOC, B, 10, 0);
	world_free(4, FREE, B);			/* not inside either */
	world_new(4, MALLOC, 1, C);
	world_end(6, REALLOC, B);
	world_end(8, REALLOC, A);
	CU_ASSERT_EQUAL(world_begin(8, NEW, 10, 0, 0), 0);
	CU_ASSERT_EQUAL(world_begin(4, NEW, 10, 0, 0), 0);
	world_end(4, NEW, 0);
	world_end(8, NEW, 0);
	EXPECT(.allocs = 3, .alloc_bytes = 21, .unknown_frees = 3, .failed = 2);
	bound_stack();
	world_begin(8, REALLOC, 0, 10, 0);
	world_begin(6, REALLOC, 0, 10, 0);
	world_release((uintptr_t)&elsewhere, FREE, 8);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 1);
	world_free(4, FREE, C);
	CU_ASSERT_EQUAL(world_thread()->ledger.nr_ops, 0);
	world_begin(6, REALLOC, 0, 10, 0);
	world_new(4, MALLOC, 1, C);
	world_begin(8, REALLOC, 0, 10, 0);
	CU_ASSERT_EQUAL(world_begin(4, NEW, 10, 0, 0), 0);
	world_end(4, NEW, 0);
	EXPECT(.allocs = 4, .alloc_bytes = 22, .unknown_frees = 4, .frees = 1, .free_bytes = 1,
	       .voided = 4, .failed = 3);
}

/* What was taken for void, and returns: it was not void, and its block counts. */
static void test_back_after_all(void)
{
	world_reset();
	for (unsigned i = 0; i < LEDGER_OPS + 1; i++)
		world_begin(i, REALLOC, 0, 10, 0);
	EXPECT(.voided = 1);
	for (unsigned i = 0; i < LEDGER_OPS; i++)
		CU_ASSERT_EQUAL(world_thread()->ledger.op[i].sp,
				(uintptr_t)&world_frame(i + 1)->return_address);
	for (unsigned i = LEDGER_OPS + 1; i-- > 0;)
		world_end(i, REALLOC, A + i);
	EXPECT(.allocs = LEDGER_OPS + 1, .alloc_bytes = 10 * (LEDGER_OPS + 1));
	world_new(3, MALLOC, 10, B);
	bound_stack();
	world_begin(8, REALLOC, B, 20, 0);
	world_new(4, MALLOC, 30, C);		/* in a signal handler, say */
	world_end(8, REALLOC, 0);
	EXPECT(.allocs = LEDGER_OPS + 3, .alloc_bytes = 10 * (LEDGER_OPS + 1) + 40, .frees = 1,
	       .free_bytes = 10, .failed = 1);
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

/* The same call again and again: all but the first go the short way, and nobody can tell. */
static void test_again(void)
{
	struct log_record last = { 0 };

	world_reset();
	bound_stack();
	for (uint64_t i = 1; i <= 100; i++) {
		struct log_record record;

		world_new(4, MALLOC, i, A + i * 16);
		world_free(4, FREE, A + i * 16);
		world_new(4, MALLOC, i, A + i * 16);
		record = get(A + i * 16);
		CU_ASSERT_EQUAL(record.size, i);
		CU_ASSERT(record.time > last.time);
		CU_ASSERT_EQUAL(record.thread, world_thread()->ledger.log_thread);
		CU_ASSERT_EQUAL(record.heap, LOG_HEAP_UNKNOWN);
		CU_ASSERT(record.stack == last.stack || i == 1);
		last = record;
	}
	CU_ASSERT_EQUAL(world_thread()->memo.misses, 1);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 200);
	EXPECT(.allocs = 200, .alloc_bytes = 2 * 5050, .frees = 100, .free_bytes = 5050);
	world.map.generation++;
	world_new(4, MALLOC, 1, B);
	CU_ASSERT(get(B).stack != last.stack);
	world_new(4, MALLOC, SIZE_LIMIT + 1, C);
	CU_ASSERT_EQUAL(get(C).size, SIZE_LIMIT);
	world.map.generation--;
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
	world_history(10);
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
	CU_ASSERT(most <= STACK_BYTES);
	EXPECT(.allocs = 6, .alloc_bytes = 60, .frees = 4, .free_bytes = 40);
	CU_ASSERT_EQUAL(world.log.header->frees, 1);
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

/* An outer function, with malloc inside it, gives a block. */
static void new_by_malloc(enum world_probe outer, uint64_t size, uint64_t inner_size, uint64_t block)
{
	world_begin(7, outer, size, 1, 1);
	world_new(9, MALLOC, inner_size, block);
	world_end(7, outer, block);
}

/* Of one block that two functions give the outer one is drawn for, however the inner one went. */
static void test_sampled_nested(void)
{
	sample_begin(1 << 20, 50);
	new_by_malloc(NEW, 45, 40, A);		/* no, no */
	EXPECT(.unsampled = 1, .nested = 1);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 5);
	new_by_malloc(NEW, 6, 4, B);		/* no, yes */
	EXPECT(.allocs = 1, .alloc_bytes = 6, .unsampled = 1, .nested = 2);
	world_thread()->ledger.gap = 10;
	new_by_malloc(NEW, 19, 20, C);		/* yes, yes */
	EXPECT(.allocs = 2, .alloc_bytes = 25, .unsampled = 1, .nested = 3);
	world_thread()->ledger.gap = 10;
	new_by_malloc(NEW, 8, 20, A);		/* yes, no */
	EXPECT(.allocs = 2, .alloc_bytes = 25, .unsampled = 2, .nested = 4);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 2);
	CU_ASSERT_EQUAL(stack_total(MALLOC), 0);
	CU_ASSERT_EQUAL(log_live(&world.log), 2);
	sample_end();
}

/* A block that was freed, or resized, and given again is another one. */
static void test_sampled_again(void)
{
	sample_begin(1 << 20, 1000);
	world_new(9, MALLOC, 10, A);
	world_free(8, FREE, A);
	world_new(7, MALLOC, 10, A);
	EXPECT(.unsampled = 2, .unsampled_frees = 1);
	world_begin(5, REALLOC, A, 30, 0);
	world_end(5, REALLOC, A);
	EXPECT(.unsampled = 3, .unsampled_frees = 2);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 950);
	world_thread()->ledger.gap = 0;
	world_begin(3, REALLOC, A, 40, 0);
	world_end(3, REALLOC, B);
	EXPECT(.allocs = 1, .alloc_bytes = 40, .unsampled = 3, .unsampled_frees = 3);
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

/* A function that has an entry in a log that samples. */
static void set_entered(enum world_probe probe, bool entered)
{
	world.state->probe[probe].ledger.entered = entered;
}

/* With an entry of its own a plain function knows what was inside, one within the other. */
static void test_sampled_entered(void)
{
	set_entered(CALLOC, true);
	sample_begin(1 << 20, 1000);
	new_by_malloc(CALLOC, 10, 10, A);
	EXPECT(.unsampled = 1, .nested = 1);
	world_begin(7, NEW, 20, 0, 0);
	world_begin(8, CALLOC, 20, 1, 0);
	world_new(9, MALLOC, 30, B);
	world_end(8, CALLOC, B);
	world_end(7, NEW, B);
	EXPECT(.unsampled = 2, .nested = 3);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 970);
	world_begin(7, CALLOC, 1, 1, 0);
	world_end(7, CALLOC, C);		/* nothing inside */
	EXPECT(.unsampled = 3, .nested = 3);
	world_thread()->ledger.gap = 10;
	new_by_malloc(CALLOC, 8, 20, A);	/* yes, no */
	EXPECT(.unsampled = 4, .nested = 4);
	CU_ASSERT_EQUAL(world_thread()->ledger.gap, 2);
	world_begin(7, CALLOC, 1, 1, 0);
	world_new(9, MALLOC, 1, B);
	world_end(7, CALLOC, 0);
	EXPECT(.unsampled = 5, .nested = 4, .failed = 1);
	set_entered(CALLOC, false);
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

/* operator delete leads to free; the next free of the same block, given again, is another one. */
static void test_sampled_free_by_free(void)
{
	sample_begin(1 << 20, 1000);
	for (unsigned i = 0; i < 3; i++) {
		world_new(9, MALLOC, 10, A);
		world_free(7, DELETE, A);
		world_free(7, FREE, A);
		world_new(9, MALLOC, 10, A);
		world_free(7, FREE, A);
	}
	EXPECT(.unsampled = 6, .unsampled_frees = 6, .nested = 3);
	world_thread()->ledger.gap = 0;
	world_new(9, MALLOC, 10, A);
	world_free(7, DELETE, A);
	world_free(7, FREE, A);
	EXPECT(.allocs = 1, .alloc_bytes = 10, .frees = 1, .free_bytes = 10, .unsampled = 6,
	       .unsampled_frees = 6, .nested = 4);
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

/* Neighbours of a block that is sampled share its counter in the sieve. */
static void test_sampled_neighbours(void)
{
	sample_begin(1 << 20, 10);
	world_new(9, MALLOC, 20, A);
	world_thread()->ledger.gap = 1000;
	world_new(9, MALLOC, 10, A + 32);
	world_free(8, FREE, A + 32);
	world_free(8, FREE, A + 64);
	EXPECT(.allocs = 1, .alloc_bytes = 20, .unsampled = 1, .unsampled_frees = 2);
	world_free(8, FREE, A);
	world_free(8, FREE, A);
	EXPECT(.allocs = 1, .alloc_bytes = 20, .frees = 1, .free_bytes = 20, .unsampled = 1,
	       .unsampled_frees = 3);
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
	{ "plain", test_plain },
	{ "sizes", test_sizes },
	{ "result by reference", test_by_ref },
	{ "nested", test_nested },
	{ "replaced", test_replaced },
	{ "resize", test_resize },
	{ "resize that fails", test_resize_fails },
	{ "resize by malloc and free", test_resize_by_parts },
	{ "resize in a resize", test_resize_in_resize },
	{ "throwing", test_throwing },
	{ "free by another free", test_free_by_free },
	{ "double free", test_double_free },
	{ "first free", test_first_free },
	{ "first free by a resize", test_first_free_by_resize },
	{ "first free, without state", test_first_free_alone },
	{ "no first free", test_no_first_free },
	{ "no double free", test_no_double_free },
	{ "free of what is on the stack", test_free_of_stack },
	{ "freed on another stack", test_freed_elsewhere },
	{ "voided", test_voided },
	{ "voided by height", test_voided_by_height },
	{ "back after all", test_back_after_all },
	{ "switched off", test_off },
	{ "end of the page", test_page_end },
	{ "areas", test_areas },
	{ "again and again", test_again },
	{ "stack use", test_stack_use },
	{ "table full", test_full },
	{ "domains", test_domains },
	{ "sampled", test_sampled },
	{ "sampled, nested", test_sampled_nested },
	{ "sampled, given again", test_sampled_again },
	{ "sampled, resize that fails", test_sampled_resize_fails },
	{ "sampled, entered", test_sampled_entered },
	{ "sampled, freed elsewhere", test_sampled_freed_elsewhere },
	{ "sampled, free by another free", test_sampled_free_by_free },
	{ "sampled, busy", test_sampled_busy },
	{ "sampled, neighbours", test_sampled_neighbours },
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

	world.quick = false;
	return ret;
}

/* Both ways must come to the same. */
void suite_record(void)
{
	add_suite("record", world_create);
	add_suite("record, the long way", create_slow);
}
