/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc freespace, mdbg::freespace: list the free chunks of the heaps. */

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/query/query.h"
#include "report/blocks.h"
#include "report/out.h"
#include "session/session.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_free_chunks(call, &query);
	struct session_core core;

	if (!err)
		return chunks_print(query.list, &query.heap, call->out);
	/*
	 * For a process this is an answer, as it is for `malloc check`; for a core file it is an
	 * error, as it is there.
	 */
	if (err->code != ERR_UNSUPPORTED || query.heap.walked || session_core(call->session, &core))
		return err;
	out_f(call->out, "The heaps cannot be looked at: %s\n", query.heap.why);
	out_text(call->out, "Which chunks are free is not known.\n");
	return NULL;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_free_chunks(call, &query);
	struct block_source source;

	if (err)
		return err;
	source = query_source(call, &query);
	err = block_rows_pack(&source, &chunk_relation, ret);
	return err ? err : query_add_notes(call, &query, false, ret);
}

static const struct twin twin = {
	.name		= "mdbg::freespace",
	.brief		= "list of dicts: the free chunks of `malloc freespace`",
	.help		= "The words are those of `help malloc freespace`; for -each see\n"
			  "`help mdbg::allocations`.\n"
			  "Error: {MDBG UNSUPPORTED} if the heaps cannot be walked.\n",
	.of		= &chunk_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_freespace = {
	.name		= "malloc freespace",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N?",
	.brief		= "list the free chunks of the heaps",
	.help		= "ADDRESS is that of the block which the chunk would become, SIZE that of the\n"
			  "chunk, with its header. KIND:\n"
			  "    tcache     in a thread's cache\n"
			  "    fastbin    in a fastbin\n"
			  "    bin        in another bin\n"
			  "    top        not yet given out, at the end of the heap\n"
			  "    kept       (not of glibc) whole pages that were taken back, and are kept\n"
			  "FILTER may use address, size and heap: see `help malloc allocations`. Heaps\n"
			  "are numbered from the oldest; 0 is the main one. If the heaps cannot be walked\n"
			  "(of an allocator that mdbg does not know), it says why and has no line\n"
			  "`N free chunks`, because the free chunks are not known then.\n",
	.example	= "malloc freespace size > 1M sort size limit 10\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_BLOCKS,
};
