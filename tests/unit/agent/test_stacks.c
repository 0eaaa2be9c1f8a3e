/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Stacks that are neither the main thread's nor in a control block: the made-up one, whose second
 * page is the callers'. Nothing has unwind information here, so frame pointers lead the walks.
 */

#include <sys/mman.h>

#include "record_tests.h"
#include "unit.h"
#include "world.h"

FIXTURE(world_create, world_destroy);

#define CALLER	(WORLD_RA + 0x1000)
#define PAGE	4096u

/* A frame in the first page, called by one in the second, called by the outermost at `last`. */
static struct agent_frame *lay_frames(uint64_t *last)
{
	struct agent_frame *frame = (struct agent_frame *)(world.stack + PAGE / 2);
	uint64_t *middle = (uint64_t *)(world.stack + PAGE + 64);

	world_reset();
	memset(&world.state->stacks, 0, sizeof(world.state->stacks));
	memset(frame, 0, sizeof(*frame));
	frame->return_address = WORLD_RA;
	frame->bp = (uintptr_t)middle;
	middle[0] = (uintptr_t)last;
	middle[1] = CALLER;
	return frame;
}

static struct log_stack_view stack_of(struct agent_frame *frame, uint64_t block)
{
	world_leave(frame, MALLOC, block);
	return reader_stack(&world.log, record_at(block).stack);
}

static uint64_t *outermost(void)
{
	uint64_t *last = (uint64_t *)(world.stack + PAGE + 128);

	last[0] = last[1] = 0;
	return last;
}

/* The rest of SP's page is all that is certain; mdbg learns what was needed. */
TEST("unknown")
{
	struct agent_frame *frame = lay_frames(outermost());
	struct log_stack_view view = stack_of(frame, A);

	CU_ASSERT_EQUAL(view.nr, 2);
	CU_ASSERT_EQUAL(world.state->stacks.misses, 1);
	CU_ASSERT_EQUAL(world.state->stacks.missed[0], frame->bp);
}

/* The kernel says what can be read. The last frame is where nobody can read. */
TEST("asked")
{
	struct agent_frame *frame = lay_frames(outermost());
	struct log_stack_view view;

	world.state->stacks.asks = 1;
	view = stack_of(frame, A);
	CU_ASSERT_EQUAL(view.nr, 3);
	CU_ASSERT_EQUAL(view.pcs[2], CALLER);
	CU_ASSERT_EQUAL(world.state->stacks.misses, 1);
	frame = lay_frames((uint64_t *)(world.stack_end + 8));
	world.state->stacks.asks = 1;
	view = stack_of(frame, A);
	CU_ASSERT_EQUAL(view.nr, 3);
	CU_ASSERT_EQUAL(world.state->stacks.misses, 2);
}

static void tell(uint64_t start, uint64_t end)
{
	struct agent_stacks *stacks = &world.state->stacks;

	stacks->at[0] = (struct agent_range){ 8, 16 };
	stacks->at[1] = (struct agent_range){ start, end };
	stacks->at[2] = (struct agent_range){ UINT64_MAX - 16, UINT64_MAX };
	stacks->nr = 3;
	stacks->until = log_now() + (1ull << 40);
}

/* In the table: whole, without a question, and remembered. */
TEST("known")
{
	struct agent_frame *frame = lay_frames(outermost());
	struct log_stack_view view;

	tell((uintptr_t)world.stack, (uintptr_t)world.stack_end);
	view = stack_of(frame, A);
	CU_ASSERT_EQUAL(view.nr, 3);
	CU_ASSERT_EQUAL(world.state->stacks.misses, 0);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 1);
	view = stack_of(frame, A + 64);
	CU_ASSERT_EQUAL(view.nr, 3);
	CU_ASSERT_EQUAL(world_thread()->cache.misses, 1);
}

/* A table that is being written, that is too old, or that ends in between does not count. */
TEST("not good any more")
{
	struct agent_frame *frame;

	for (unsigned i = 0; i < 3; i++) {
		frame = lay_frames(outermost());
		tell((uintptr_t)world.stack, (uintptr_t)world.stack + (i == 2 ? PAGE : 2 * PAGE));
		world.state->stacks.turn = i == 0;
		if (i == 1)
			world.state->stacks.until = log_now() - 1;
		CU_ASSERT_EQUAL(stack_of(frame, A).nr, 2);
		CU_ASSERT_EQUAL(world.state->stacks.misses, 1);
	}
	memset(&world.state->stacks, 0, sizeof(world.state->stacks));
}

/* What has another stack called: a word of it is no reason to remember the walk. */
TEST("another stack")
{
	static uint64_t last[2];
	struct agent_frame *frame = lay_frames(last);
	struct log_stack_view view;

	last[1] = CALLER + 1;
	tell((uintptr_t)world.stack, (uintptr_t)world.stack_end);
	world.state->main_low = (uintptr_t)last;
	world.state->main_high = (uintptr_t)(last + 2);
	view = stack_of(frame, A);
	if ((uintptr_t)last > (uintptr_t)world.stack) {
		CU_ASSERT_EQUAL(view.nr, 4);
		CU_ASSERT_EQUAL(world_thread()->cache.misses, 0);
	} else {
		CU_ASSERT_EQUAL(view.nr, 3);	/* frame pointers do not lead down */
	}
	memset(&world.state->stacks, 0, sizeof(world.state->stacks));
}

/* Whether nobody can read a word or nobody was asked are two reasons. CFI leads behind the stack here. */
TEST("reason")
{
	static const struct row row = { .cfa = ROW_CFA_SP, .cfa_offset = 2 * PAGE };
	static const struct walk_module module = { WORLD_RA - 1, WORLD_RA + 1, { .row = &row, .nr = 1 } };

	world.map.module = &module;
	world.map.nr = 1;
	for (unsigned asks = 0; asks < 2; asks++) {
		struct agent_frame *frame = lay_frames(outermost());
		struct log_stack_view view;

		world.state->stacks.asks = asks;
		view = stack_of(frame, A);
		CU_ASSERT_EQUAL(view.nr, 2);
		CU_ASSERT_EQUAL(view.end, asks ? WALK_MEMORY : WALK_STACK);
	}
	world.map.nr = 0;
}
