/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc sites, mdbg::sites: add the blocks up by where they were allocated. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "report/sites.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_sites(call, &query);
	struct sites_when when;

	if (err)
		return err;
	when.since = chosen_moment_name(&query.since, query.now_ns);
	when.at = chosen_moment_name(&query.at, query.now_ns);
	err = query_warn_of_nobody(call, &query);
	if (err)
		return err;
	return call->brief ? sites_print_brief(&query.names, query.by, &query.sites, &when, call->out) :
			     sites_print(&query.names, query.by, &query.sites, &when, call->out);
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_sites(call, &query);

	return err ? err : site_rows(&query.names, query.by, false, &query.sites, ret);
}

static const struct twin twin = {
	.name		= "mdbg::sites",
	.brief		= "list of dicts: the sites of `malloc sites`",
	.help		= "growth, rate and over are `-` if growth is not known: see `help malloc\n"
			  "sites`. With `at`, so are total, totalbytes, freed, freedbytes, oldest and\n"
			  "median. For -each see `help mdbg::allocations`.\n",
	.of		= &site_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_sites = {
	.name		= "malloc sites",
	.usage		= "?by stack|function|line|module|thread|size? ?FILTER? "
			  "?sort bytes|count|age|growth|rate? ?limit N? "
			  "?since MOMENT? ?at MOMENT?",
	.brief		= "the places that hold the most: blocks by traceback",
	.help		= "Each site has: the bytes and blocks that are held, their share, the\n"
			  "blocks and bytes of all time and how many of them were freed (not known\n"
			  "by thread and by size), the age of the oldest and of the median block,\n"
			  "growth, and the traceback (if several stacks are added up, that of the\n"
			  "stack with the most bytes). The line `in NAME` has the first frame that\n"
			  "is the program's own: the allocator and its wrappers are passed over\n"
			  "(`help set`, skip). By function, line and module, that frame decides\n"
			  "where a block is counted. If its line is not known, the block is counted\n"
			  "under its function.\n"
			  "Growth is what the site's stacks hold now, less what they held 10 s ago\n"
			  "(in the first seconds: 2 s ago or more), or at the MOMENT of `since`. It\n"
			  "is `-` in the first 2 s after an attach, `malloc reset` or `malloc on`,\n"
			  "and by thread and by size. It may be negative. `sort rate` (growth a\n"
			  "second) gives the same order as `sort growth`.\n"
			  "`at MOMENT` shows the bytes and blocks that each site held at an earlier\n"
			  "moment, and with `since` the growth up to that moment. Everything else is\n"
			  "left out, because it is not known of an earlier moment; it cannot be in\n"
			  "FILTER either. For MOMENT see `help malloc diff`. FILTER is as in `help\n"
			  "malloc allocations`. -brief prints a line for each site.\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_SITES,
};
