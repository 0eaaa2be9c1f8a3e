/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the suites of calls on the made-up stack have in common. */

#include "record_tests.h"

#include "unit.h"

struct log_record record_at(uint64_t block)
{
	struct log_record record = { 0 };

	CU_ASSERT(log_record_lookup(&world.log, block, &record));
	return record;
}

struct total {
	uint64_t function, blocks;	/* function 0: all */
};

static void add_total(uint32_t stack, uint64_t blocks, uint64_t bytes UNUSED, void *ctx)
{
	struct log_stack_view view = reader_stack(&world.log, stack);
	struct total *total = ctx;

	if (view.nr && (!total->function || view.pcs[0] == total->function))
		total->blocks += blocks;
}

uint64_t blocks_counted(uint64_t function)
{
	struct total total = { function, 0 };

	for (uint32_t i = 1; i <= reader_stacks(&world.log); i++)
		add_total(i, reader_stack(&world.log, i).total, 0, &total);
	unwind_cache_each(&world_thread()->cache, add_total, &total);
	return total.blocks;
}

uint64_t stack_total(enum script_function probe)
{
	return blocks_counted(world.state->probe[probe].address);
}

int record_slow(void)
{
	int ret = world_create();

	world.fast = false;
	return ret;
}
