/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc allocations: list the blocks that are held. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/query.h"
#include "cmd/shell.h"
#include "report/blocks.h"

static struct err *run(struct call *call)
{
	struct query query;
	struct err *err = query_blocks(call, &query);

	if (!err)
		err = blocks_print(call->session, query.list, &query.heap, call->out);
	query_free(&query);
	return err;
}

const struct cmd cmd_malloc_allocations = {
	.name		= "malloc allocations",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N?",
	.brief		= "list the blocks that the process holds, each with its traceback",
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
