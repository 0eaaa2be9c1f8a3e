/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc allocations, mdbg::allocations: list the blocks that are held. */

#include "base/cleanup.h"
#include "cmd/block_values.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "report/blocks.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_blocks(call, &query);

	return err ? err : blocks_print(call->session, query.list, &query.heap, call->out);
}

const struct cmd cmd_malloc_allocations = {
	.name		= "malloc allocations",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N?",
	.brief		= "list the blocks that the process holds, with tracebacks",
	.help		= "FILTER is one or more conditions ATTR RELOP VALUE, joined by `and`.\n"
			  "RELOP: == != < <= > >=. ATTR:\n"
			  "    address    start of the block: hex or decimal\n"
			  "    size       bytes asked for: 17, 4K, 1.5M, 2G\n"
			  "    heap       arena number, mmap, or user (see `help probe alloc`)\n"
			  "    pid        process\n"
			  "    thread     LWP id or pthread_t\n"
			  "    time       time of allocation: seconds since the epoch or\n"
			  "               'YYYY-MM-DD hh:mm:ss'\n"
			  "    age        time since then: 90s, 5m, 2h, 1d\n"
			  "    seq        order of allocation\n"
			  "    function   any frame of its stack: a glob, with == and != only\n"
			  "    module     any frame's module: a glob, with == and != only\n"
			  "The list is in order of address; `sort ATTR` puts the largest first,\n"
			  "`sort ATTR up` the smallest. A > after an ATTR is a relation; after a\n"
			  "whole command it is a redirection:\n"
			  "malloc allocations size > 4K and age > 5m > old.txt\n"
			  "The list is that of the moment in which the process was stopped. If it\n"
			  "has more than 130,000 blocks, those that are freed before they are\n"
			  "printed are left out, and counted at the end.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_BLOCKS,
};

static void add_origin(struct block_values *blocks, const struct block_value *block)
{
	struct log_thread_view thread = blocks->threads.at[block->thread];
	struct dicts *dicts = &blocks->dicts;
	uint64_t now = MAX(blocks->now_ns, block->realtime);

	if (thread.lwp)
		dicts_number(dicts, "thread", thread.lwp);
	else
		dicts_text(dicts, "thread", "-");
	if (thread.thread_pointer)
		dicts_address(dicts, "pthread", thread.thread_pointer);
	else
		dicts_text(dicts, "pthread", "-");
	dicts_double(dicts, "time", (double)block->realtime / 1e9);
	dicts_double(dicts, "age", (double)(now - block->realtime) / 1e9);
	dicts_number(dicts, "seq", block->seq);
}

static void add_no_origin(struct dicts *dicts)
{
	static const char *const keys[] = { "thread", "pthread", "time", "age", "seq" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		dicts_text(dicts, keys[i], "-");
}

static Tcl_Obj *block_dict(void *ctx, size_t i)
{
	struct block_values *blocks = ctx;
	const struct block_value *block = &blocks->vec.at[i];
	struct dicts *dicts = &blocks->dicts;

	dicts_address(dicts, "address", block->address);
	dicts_number(dicts, "size", block->size);
	dicts_heap(dicts, "heap", block->heap);
	dicts_number(dicts, "pid", (uint64_t)blocks->pids[block->process]);
	if (block->preattach)
		add_no_origin(dicts);
	else
		add_origin(blocks, block);
	dicts_number(dicts, "preattach", block->preattach);
	dicts_number(dicts, "stack", block->stack);
	return dicts_end(dicts);
}

static struct err *allocations(struct call *call, Tcl_Obj **ret)
{
	return block_values_give(call, query_blocks, block_dict, ret);
}

const struct cmd cmd_api_allocations = {
	.name		= "mdbg::allocations",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N? ?-each VAR BODY?",
	.brief		= "list of dicts: the blocks of `malloc allocations`",
	.help		= "Each dict has: address size heap pid thread pthread time age (seconds)\n"
			  "seq preattach stack. Unknown values are -. stack is for mdbg::frames;\n"
			  "blocks with the same stack have the same value there. The words are\n"
			  "those of `help malloc allocations`.\n"
			  "-each runs BODY for each dict, which is in VAR then, as foreach does.\n"
			  "This takes 40 bytes a block; in a list a dict takes 0.5 KB, and 2 KB\n"
			  "once it was used. All blocks are read before BODY first runs, so BODY\n"
			  "may use any command, also detach.\n",
	.value		= allocations,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_EACH,
	.complete	= COMPLETE_BLOCKS,
};
