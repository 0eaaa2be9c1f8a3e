/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc leaks, mdbg::leaks: blocks that the program cannot get at any more. */

#include "base/cleanup.h"
#include "cmd/shell/about.h"
#include "cmd/shell/cmd.h"
#include "cmd/query/query.h"
#include "cmd/shell/shell.h"
#include "report/leak_text.h"
#include "report/pool/pool_text.h"
#include "report/pool/python_text.h"

#define PYTHON_ROWS	5u	/* `malloc pymalloc lost` has all */

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks(call, &query);

	if (!err)
		err = (call->brief ? leak_text_print_brief : leak_text_print)(
			call->session, &query.found, &query.leaks, &call->shell->suppressions,
			call->out);
	query_print_untyped(&query, call->out);
	if (!err && !query.filter.conds.nr)
		err = python_text_print_lost(call->session, &query.names, PYTHON_ROWS, call->brief,
					     call->out);
	if (!err)
		err = pool_text_print_whole(call->session, call->out);
	return err ? err : pool_text_print(call->session, call->out);
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks(call, &query);

	if (!err)
		err = about_give(call, &query.found, &query.leaks);
	if (!err)
		err = leak_rows(call->session, &query.found, &query.leaks,
				&call->shell->suppressions, ret);
	return err ? err : query_add_notes(call, &query, true, ret);
}

static const struct twin twin = {
	.name		= "mdbg::leaks",
	.brief		= "list of dicts: the loss records of `malloc leaks`",
	.help		= "Each dict of heldby has: kind (stack, register, vector) block (address) bytes\n"
			  "count (of all that hangs on the word), and place thread register pc returns as\n"
			  "in `help mdbg::find`.\n"
			  "\n"
			  "If no kind is named, the definite and possible ones are listed. The words are\n"
			  "those of `help malloc leaks`; for -each see `help mdbg::allocations`.\n"
			  "\n"
			  "-about sets VAR to a dict on the search, since what was not read may hide the\n"
			  "only pointers to blocks that then seem lost:\n"
			  "    walked             0: only recorded blocks are known\n"
			  "    roots blocks       bytes that were searched\n"
			  "    unread blind       bytes that could not be read; threads whose registers\n"
			  "                       could not be\n"
			  "    absent elsewhere   bytes of shared memory that were not read, as for\n"
			  "                       mdbg::find\n"
			  "    damages uncertain  places of the heaps, as of `malloc check`\n"
			  "    hidden             bytes of heap that are taken for roots\n"
			  "    underway           blocks that a realloc is at work on\n"
			  "    snapshot stood     1: one was searched; seconds for which the process\n"
			  "                       stood still\n"
			  "    lost inuse unknown the verdict, in bytes; lostcount inusecount\n"
			  "                       unknowncount are its blocks\n",
	.of		= &leak_relation,
	.rows		= rows,
	.flags		= CMD_ABOUT,
};

const struct cmd cmd_malloc_leaks = {
	.name		= "malloc leaks",
	.usage		= "?definite|indirect|possible|reachable|all|suppressed?... ?FILTER? "
			  "?sort KEY ?up?? ?limit N? ?-stop|-snapshot?",
	.brief		= "find blocks that the program has no pointer to any more",
	.help		= "mdbg searches registers, stacks and all writable memory for pointers to\n"
			  "blocks, and then searches the blocks that it has found.\n"
			  "    definitely lost   nothing that is reachable points to it\n"
			  "    indirectly lost   only lost blocks point to it\n"
			  "    possibly lost     only pointers to its inside lead to it\n"
			  "    still reachable   the program can get at it\n"
			  "\n"
			  "These are the kinds of valgrind's manual. All blocks are counted. The named\n"
			  "kinds are listed by the places where their blocks were allocated; if no kind\n"
			  "is named, the definite and possible ones are. FILTER, as in\n"
			  "`help malloc allocations`, selects blocks.\n"
			  "\n"
			  "Lines below the sums say what may hide leaks, or show leaks that are none.\n"
			  "First comes the verdict: what is lost, what is in use by evidence (reachable,\n"
			  "or possibly lost and most likely in use), and what is not known.\n"
			  "\n"
			  "A possibly lost block is most likely in use if a pointer into it from what is\n"
			  "in use is at the byte that nearly all blocks of its site, or of the function\n"
			  "that the site gets them by, are pointed to; if its own words prove that the\n"
			  "pointer is the one that programs keep (sds strings, Rust's HashMap and Arc,\n"
			  "SQLite's pages, headers with the size, Python's objects, flags in the low bits\n"
			  "of the pointer); if it is in a list, and pointed to at its links; or if it is\n"
			  "a pool. Words of stacks and of lost blocks are no evidence.\n"
			  "\n"
			  "And they say how many blocks hang on words of stacks and registers alone. Such\n"
			  "a word may be a variable of a function that waits. Or a call that is over may\n"
			  "have left it: then the block is lost, but it is neither listed nor counted as\n"
			  "lost. The largest such words are listed with the function whose frame has the\n"
			  "word; with `reachable`, the first 100.\n"
			  "\n"
			  "The target is stopped during the search (-stop). If it has more than 64 MB of\n"
			  "memory of its own, it is stopped for a fork only, and the snapshot is searched\n"
			  "(-snapshot). If a fork is not safe, the target is stopped for the whole search\n"
			  "nevertheless, and the answer says why.\n"
			  "\n"
			  "In a Python, the objects of its pools that nothing points to follow, as\n"
			  "`malloc pymalloc lost` lists them; a FILTER leaves them out.\n"
			  "\n"
			  "Suppressed leaks (--suppressions, `set suppressions`; those of the C library\n"
			  "are built in) are added up separately, and by pattern at the end; `suppressed`\n"
			  "lists them. See docs/leaks.md.\n"
			  "\n"
			  "Each record has the address of its first block, for `malloc path`, and says\n"
			  "whether it is in a ring; with -v also its type, for which the process is\n"
			  "looked at a second time (`malloc types`).\n"
			  "\n"
			  "The records are listed by kind, the largest first, possibly lost ones by what\n"
			  "is not known of them; KEY is one of the figures of `help mdbg::leaks`. -brief\n"
			  "prints a line for each.\n",
	.example	= "malloc leaks function == parse* limit 5\n"
			  "malloc leaks all sort count -brief > leaks.txt\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF | CMD_VERBOSE,
	.complete	= COMPLETE_BLOCKS,
};
