/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc freespace: list the free chunks of the heaps. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "report/blocks.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_free_chunks(call, &query);

	return err ? err : chunks_print(query.list, &query.heap, call->out);
}

const struct cmd cmd_malloc_freespace = {
	.name		= "malloc freespace",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N?",
	.brief		= "list the free chunks of the heaps",
	.help		= "ADDRESS is that of a block which would be made of the chunk, SIZE the\n"
			  "chunk's, with its header. KIND:\n"
			  "    tcache     in a thread's cache\n"
			  "    fastbin    in a fastbin\n"
			  "    bin        in another bin\n"
			  "    top        not yet given out, at the end of the heap\n"
			  "FILTER is of address, size and heap: see `help malloc allocations`.\n"
			  "Heaps are numbered from the oldest, 0 is the main one.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_BLOCKS,
};
