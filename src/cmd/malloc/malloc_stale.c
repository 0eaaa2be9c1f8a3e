/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc stale, mdbg::stale: old blocks that are still reachable, by where they were allocated. */

#include "base/cleanup.h"
#include "cmd/shell/about.h"
#include "cmd/shell/cmd.h"
#include "answer/site_rows.h"
#include "cmd/query/query.h"
#include "report/leak_text.h"

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks_stale(call, &query);

	if (!err)
		err = about_give(call, &query.found, NULL);
	if (!err)
		err = site_rows(&query.names, query.by, call->brief, &query.sites, ret);
	return err ? err : query_add_notes(call, &query, true, ret);
}

static const struct twin twin = {
	.name		= "mdbg::stale",
	.brief		= "list of dicts: the sites of `malloc stale`",
	.help		= "bytes, count, oldest and median are of the old blocks alone; total and\n"
			  "freed are of all blocks that were ever recorded there. Growth is not\n"
			  "known (`-`). For -each see `help mdbg::allocations`, for -about `help\n"
			  "mdbg::leaks`.\n",
	.of		= &site_relation,
	.rows		= rows,
	.flags		= CMD_ABOUT,
};

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query = { .argc = 0 };
	struct err *err;

	if (call->brief)
		return query_print_brief(call, rows);
	err = query_leaks_stale(call, &query);
	return err ? err : leak_text_print_stale(call->session, &query.found, &query.sites,
						 call->out);
}

const struct cmd cmd_malloc_stale = {
	.name		= "malloc stale",
	.usage		= "AGE ?FILTER? ?sort KEY ?up?? ?limit N?",
	.brief		= "old blocks that the program still points to, by site",
	.help		= "AGE is like 90s, 5m, 2h, 1d. The answer has the recorded blocks that are older\n"
			  "than AGE and reachable (also possibly lost ones): the program has not lost\n"
			  "them, and does not free them either.\n"
			  "\n"
			  "Each site, largest first, has: bytes, blocks, how many of all blocks ever\n"
			  "recorded there were freed, the age of the oldest block, and the traceback.\n"
			  "\n"
			  "If most were freed, some case in the program leaks the others. If none was\n"
			  "freed, they may be a cache, or live as long as the program does.\n"
			  "\n"
			  "FILTER, as in `help malloc allocations`, selects blocks. KEY is one of the keys\n"
			  "in `help mdbg::sites`. -brief prints a line for each site.\n"
			  "\n"
			  "The target is stopped, as by `malloc leaks`.\n",
	.example	= "malloc stale 5m\n",
	.run		= run,
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_BLOCKS,
};
