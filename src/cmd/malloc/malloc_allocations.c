/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc allocations, mdbg::allocations: list the blocks that are held. */

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/query/query.h"
#include "report/blocks.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_blocks(call, &query);
	struct block_source source;

	if (err)
		return err;
	source = query_source(call, &query);
	err = call->brief ?
		      blocks_print_brief(call->session, &source, &query.heap, call->out) :
		      blocks_print(call->session, &source, &query.heap, call->verbose, call->out);
	query_print_untyped(&query, call->out);
	return err;
}

/* The blocks are taken out of the query, whose memory and heap walk are freed before a script runs. */
static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_blocks(call, &query);
	struct block_source source;

	if (err)
		return err;
	source = query_source(call, &query);
	err = block_rows_pack(&source, &block_relation, ret);
	return err ? err : query_add_notes(call, &query, false, ret);
}

static const struct twin twin = {
	.name		= "mdbg::allocations",
	.brief		= "list of dicts: the blocks of `malloc allocations`",
	.help		= "Unknown values are -. Blocks with the same stack have the same value there.\n"
			  "The words are those of `help malloc allocations`. The type is there with -v, or\n"
			  "if FILTER asks for it; in an export always.\n"
			  "\n"
			  "-each runs BODY for each dict, which is in VAR then, as foreach does. This\n"
			  "takes 48 bytes a block. In a list a dict takes 0.5 KB, and 2 KB once it was\n"
			  "used. All blocks are read before BODY first runs, so BODY may use any command,\n"
			  "also detach.\n",
	.example	= "mdbg::allocations size > 1M -each block {puts [dict get $block address]}\n",
	.of		= &block_relation,
	.rows		= rows,
	.flags		= CMD_VERBOSE,
};

const struct cmd cmd_malloc_allocations = {
	.name		= "malloc allocations",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N?",
	.brief		= "list the blocks that the process holds, with tracebacks",
	.help		= "FILTER is one or more conditions ATTR RELOP VALUE, joined by `and`. RELOP: ==\n"
			  "!= < <= > >=. ATTR:\n"
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
			  "    type       its type, as in `malloc types`: a glob, with == and != only\n"
			  "\n"
			  "The list is in order of address; `sort ATTR` puts the largest first,\n"
			  "`sort ATTR up` the smallest. A > after an ATTR is a relation; after a whole\n"
			  "command it is a redirection.\n"
			  "\n"
			  "The list is that of the moment in which the process was stopped. If it has\n"
			  "more than 130,000 blocks, those that are freed before they are printed are\n"
			  "left out, and counted at the end.\n"
			  "\n"
			  "-v adds the columns AGE (seconds), USABLE: what malloc_usable_size gives, or\n"
			  "- where the heap was not walked; and TYPE, for which the process is looked at\n"
			  "a second time, as for `malloc types`. -brief prints a line for each block, with\n"
			  "the function that has allocated it.\n",
	.example	= "malloc allocations size > 4K and age > 5m > old.txt\n"
			  "malloc allocations function == parse* sort size limit 10 -brief\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF | CMD_VERBOSE,
	.complete	= COMPLETE_BLOCKS,
};
