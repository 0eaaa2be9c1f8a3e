/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The stack of a call: how far it is walked at once, what of it is kept to be walked later, and how
 * much of it the agent takes.
 */

#include <sys/mman.h>

#include "log/log_deferred.h"
#include "record_tests.h"
#include "unit.h"

RECORD_SUITES("call stack");

EACH(world_reset, NULL);

/* Without the frame that the thunk has laid. */
#define STACK_BYTES	1024

/* The stack ends with the page that SP is in; nothing behind is looked at. */
TEST("end of the page")
{
	struct agent_frame *frame = (struct agent_frame *)(world.stack_end - sizeof(*frame));

	memset(frame, 0, sizeof(*frame));
	frame->bp = frame->bx = (uintptr_t)world.stack_end;
	frame->return_address = WORLD_RA;
	world_leave(frame, MALLOC, A);
	frame->bp = (uintptr_t)world.stack_end - 8;
	world_leave(frame, MALLOC, B);
	EXPECT(.allocs = 2);
	CU_ASSERT_EQUAL(reader_stack(&world.log, record_at(A).stack).nr, 2);
}

/* Return addresses into thunks and stubs are no frames; into displaced prologues they stay. */
TEST("areas")
{
	uint8_t *area = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			     0);
	struct agent_slot *slot = (struct agent_slot *)(area + AGENT_SLOT);
	uint64_t at = (uintptr_t)slot, *above = (uint64_t *)(world_frame(2) + 1);
	struct agent_frame *frame = world_frame(2);
	struct log_stack_view stack;

	world_bound_stack();
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
	stack = reader_stack(&world.log, record_at(A).stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[1], WORLD_RA);
	frame->return_address = at + AGENT_SLOT_DISPLACED + 9;
	world_leave(frame, MALLOC, B);
	stack = reader_stack(&world.log, record_at(B).stack);
	CU_ASSERT_EQUAL_FATAL(stack.nr, 2);
	CU_ASSERT_EQUAL(stack.pcs[1], frame->return_address);
	munmap(area, 4096);
}

static void defer_stacks(void)
{
	world.log.deferred->used = 0;
	CU_ASSERT_PTR_NULL_FATAL(log_reserve(&world.log, 0));
}

/* However a call goes, it takes little of the stack. */
TEST("stack use")
{
	uint64_t bytes[6], most = 0;

	world_bound_stack();
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
	CU_ASSERT_EQUAL(reader_stack(&world.log, record_at(A + 64).stack).end, WALK_DEFERRED);
	printf("%u ", (unsigned)bytes[0]);
	most = MAX(most, bytes[0]);
	CU_ASSERT(most <= STACK_BYTES);
	EXPECT(.allocs = 7, .alloc_bytes = 70, .frees = 4, .free_bytes = 40);
	CU_ASSERT_EQUAL(world.log.header->frees, 1);
}

/* The stack is kept from the caller on; the whole one that it becomes is its place for all. */
TEST("deferred")
{
	static const uint64_t pcs[] = { 1, 2, 3 };
	static struct deferred_seen seen;
	static struct deferred_copy copy;
	struct log_stack_view view;
	uint32_t first, whole;

	world_bound_stack();
	defer_stacks();
	for (unsigned i = 0; i < 100; i++)
		world_new(3, MALLOC, 10, A + 16 * i);
	first = record_at(A).stack;
	view = reader_stack(&world.log, first);
	CU_ASSERT(view.end == WALK_DEFERRED && view.nr == 2 && view.pcs[1] == WORLD_RA);
	CU_ASSERT(view.total == 100 && view.total_bytes == 1000);
	CU_ASSERT_EQUAL(record_at(A + 16 * 99).stack, first);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 0);
	world_new(4, MALLOC, 10, B);
	CU_ASSERT_NOT_EQUAL(record_at(B).stack, first);
	log_deferred_take_look(&world.log, &seen);
	CU_ASSERT(seen.nr == 2 && seen.pc[0] == WORLD_RA);
	CU_ASSERT_FATAL(log_deferred_take(&world.log, &seen, 0, &copy, &first));
	CU_ASSERT_EQUAL(copy.walk.sp + copy.walk.len, (uintptr_t)world.stack_end);
	CU_ASSERT_EQUAL(copy.walk.sp, (uintptr_t)&world_frame(3)->return_address + 8);
	CU_ASSERT(!memcmp(copy.stack, (void *)(uintptr_t)copy.walk.sp, copy.walk.len));
	whole = stack_table_insert(&world.log, pcs, 3, WALK_COMPLETE, 1);
	log_deferred_take_finish(&world.log, 0, first, whole);
	CU_ASSERT(record_at(A).stack == whole && record_at(A + 16 * 99).stack == whole);
	world_new(3, MALLOC, 10, C);
	CU_ASSERT_EQUAL(record_at(C).stack, whole);
	/* A JIT's code: walked, and remembered, as ever. */
	log_deferred_take_mark(&world.log, WORLD_RA - 16, WORLD_RA + 16, world.map.generation);
	world_new(3, MALLOC, 10, D);
	CU_ASSERT_EQUAL(reader_stack(&world.log, record_at(D).stack).end, WALK_NO_MODULE);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 1);
	CU_ASSERT_EQUAL(reader_accounts(&world.log).undeferred, 0);
}

/* What may be a return address, or a frame pointer, tells stacks apart; a mere number does not. */
TEST("deferred, told apart")
{
	uint64_t *word, far = WORLD_RA + (1ull << 40);
	uint32_t first;

	world_bound_stack();
	defer_stacks();
	word = &world_frame(3)->return_address + 5;
	*word = 1ull << 44;
	world_new(3, MALLOC, 10, A);
	first = record_at(A).stack;
	*word = far;
	world_new(3, MALLOC, 10, B);
	CU_ASSERT_EQUAL(record_at(B).stack, first);
	*word = WORLD_RA + 4096;
	world_new(3, MALLOC, 10, C);
	CU_ASSERT_NOT_EQUAL(record_at(C).stack, first);
	*word = ((uintptr_t)word + 64) & ~15ull;
	world_new(3, MALLOC, 10, D);
	CU_ASSERT(record_at(D).stack != first && record_at(D).stack != record_at(C).stack);
	*word = 1ull << 45;
	world_new(3, MALLOC, 10, B);
	CU_ASSERT_EQUAL(record_at(B).stack, first);
}

/* No copy left: as far as it was walked, and counted. */
TEST("no room to defer")
{
	world_bound_stack();
	defer_stacks();
	world.log.deferred->ready = 0;
	world_new(3, MALLOC, 10, A);
	world_new(3, MALLOC, 10, B);
	CU_ASSERT_EQUAL(reader_stack(&world.log, record_at(A).stack).end, WALK_NO_MODULE);
	CU_ASSERT_EQUAL(reader_accounts(&world.log).undeferred, 2);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 0);
}
