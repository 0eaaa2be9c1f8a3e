/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc allocations, mdbg::allocations: list the blocks that are held. */

#include "base/cancel.h"
#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shell.h"
#include "cmd/values.h"
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
			  "    time       when allocated: seconds since the epoch or\n"
			  "               'YYYY-MM-DD hh:mm:ss'\n"
			  "    age        how long ago: 90s, 5m, 2h, 1d\n"
			  "    seq        order of allocation\n"
			  "    function   any frame of its stack: a glob, with == and != only\n"
			  "    module     the same\n"
			  "In order of address, or sorted with the largest (with `up` the\n"
			  "smallest) first. A > after an ATTR is a relation, after a whole\n"
			  "command a redirection:\n"
			  "malloc allocations size > 4K and age > 5m > old.txt\n"
			  "The blocks are those of the moment in which the process was stopped. Of\n"
			  "a list of more than 130,000 those that are freed before they are\n"
			  "printed are left out, and counted at the end.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_BLOCKS,
};

static void add_origin(Tcl_Obj *dict, const struct log *log, const struct query *query,
		       const struct block *block)
{
	struct log_thread_view thread = log_thread_get(log, block->thread);
	uint64_t realtime = log_clock_realtime(log, block->time);

	if (thread.lwp)
		dict_number(dict, "thread", thread.lwp);
	else
		dict_text(dict, "thread", "-");
	dict_address_or_none(dict, "pthread", thread.thread_pointer);
	dict_double(dict, "time", (double)realtime / 1e9);
	dict_double(dict, "age",
		    query->now_ns > realtime ? (double)(query->now_ns - realtime) / 1e9 : 0);
	dict_number(dict, "seq", log_seq(log, block->time));
}

static void add_no_origin(Tcl_Obj *dict)
{
	static const char *const keys[] = { "thread", "pthread", "time", "age", "seq" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		dict_text(dict, keys[i], "-");
}

static Tcl_Obj *block_dict(const struct call *call, const struct query *query,
			   const struct block *block)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "address", block->address);
	dict_number(dict, "size", block->size);
	dict_heap(dict, "heap", block->heap);
	dict_number(dict, "pid", (uint64_t)session_pids(call->session)[block->process]);
	if (block->preattach)
		add_no_origin(dict);
	else
		add_origin(dict, session_log(call->session), query, block);
	dict_number(dict, "preattach", block->preattach);
	dict_number(dict, "stack", block->stack);
	return dict;
}

static struct err *allocations(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_blocks(call, &query);
	const struct block *block = NULL;

	*ret = Tcl_NewObj();
	if (!err)
		err = list_next(query.list, &block);
	for (size_t i = 0; !err && block; i++) {
		Tcl_ListObjAppendElement(NULL, *ret, block_dict(call, &query, block));
		if (i % 1024 == 0)
			err = cancel_check();
		if (!err)
			err = list_next(query.list, &block);
	}
	return err;
}

const struct cmd cmd_api_allocations = {
	.name		= "mdbg::allocations",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N?",
	.brief		= "list of dicts: the blocks of `malloc allocations`",
	.help		= "address size heap pid thread pthread time age (seconds) seq\n"
			  "preattach stack.\n"
			  "What is not known is -. stack is for mdbg::frames; equal stacks are\n"
			  "equal.\n"
			  "Words as in `help malloc allocations`.\n",
	.value		= allocations,
	.max_args	= CMD_ANY,
};
