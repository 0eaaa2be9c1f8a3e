/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc sites, mdbg::sites: add the blocks up by where they were allocated. */

#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/query/query.h"
#include "report/sites.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_sites_listed(call, &query);
	struct older_look older;
	struct sites_when when;

	if (err)
		return err;
	when.since = moments_chosen_name(&query.since, query.now_ns);
	when.at = moments_chosen_name(&query.at, query.now_ns);
	when.filtered = query.filter.conds.nr;
	when.idle = query.all || site_sort_is_all_time(query.sort);
	err = query_sites_older(call, &query, &older, &when.older);
	if (err)
		return err;
	return call->brief ? sites_print_brief(&query.names, query.by, &query.sites, &when, call->out) :
			     sites_print(&query.names, query.by, &query.sites, &when, call->out);
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_sites_listed(call, &query);

	return err ? err : site_rows(&query.names, query.by, false, &query.sites, ret);
}

static const struct twin twin = {
	.name		= "mdbg::sites",
	.brief		= "list of dicts: the sites of `malloc sites`",
	.help		= "Sites that hold nothing now are among them with `all` and with a sort of\n"
			  "all-time figures, but not for a FILTER alone.\n"
			  "growth, rate and over are `-` if growth is not known: see `help malloc\n"
			  "sites`. With `at`, so are total, totalbytes, freed, freedbytes, callrate,\n"
			  "oldest and median. For -each see `help mdbg::allocations`.\n",
	.example	= "foreach site [mdbg::sites limit 3] {puts [dict get $site bytes]}\n",
	.of		= &site_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_sites = {
	.name		= "malloc sites",
	.usage		= "?all? ?by stack|function|line|module|thread|size|heap|process? ?FILTER? "
			  "?sort bytes|count|age|growth|rate|total|calls|callrate|temporary? ?limit N? "
			  "?since MOMENT? ?at MOMENT?",
	.brief		= "the places that hold the most: blocks by traceback",
	.help		= "Each site has: the bytes and blocks that are held, their share, the blocks and\n"
			  "bytes of all time and how many of them were freed (not known by thread and by\n"
			  "size), the age of the oldest and of the median block, growth, and the\n"
			  "traceback (if several stacks are added up, that of the stack with the most\n"
			  "bytes).\n"
			  "\n"
			  "The line `in NAME` has the first frame that is the program's own: the\n"
			  "allocator and its wrappers are passed over (`help set`, skip). By function,\n"
			  "line and module, that frame decides where a block is counted. If its line is\n"
			  "not known, the block is counted under its function.\n"
			  "\n"
			  "If forked children are followed (`set follow-fork both`), a site has the\n"
			  "blocks of all processes; by process says how much each of them holds, and\n"
			  "`pid == N` leaves one.\n"
			  "\n"
			  "A function of a stripped file is shown by its start, `[libfoo.so+0x1230]`, and\n"
			  "with its first caller that has a name. What a JIT compiler has made has names\n"
			  "by /tmp/perf-PID.map (`jcmd PID Compiler.perfmap`, node's --perf-basic-prof);\n"
			  "that of node 20 has them without, from V8's heap. What V8 interprets has none.\n"
			  "\n"
			  "Growth is what the site's stacks hold now, less what they held 10 s ago (in\n"
			  "the first seconds: 2 s ago or more), or at the MOMENT of `since`. It is `-` in\n"
			  "the first 2 s after an attach, `malloc reset` or `malloc on`, and by thread\n"
			  "and by size. It may be negative. `sort rate` (growth a second) gives the same\n"
			  "order as `sort growth`.\n"
			  "\n"
			  "Sites that hold nothing now are listed, too, with `all`, with a FILTER of\n"
			  "functions and modules, and with these sorts (and no other FILTER):\n"
			  "    total      bytes ever allocated\n"
			  "    calls      blocks ever allocated\n"
			  "    callrate   the same a second, since recording began: the same order\n"
			  "    temporary  blocks that were freed again\n"
			  "\n"
			  "Blocks from before the attach are in no site, but by size and by heap. A line\n"
			  "says how much they hold, and shares are of both: what the last walk of the\n"
			  "heaps has found, less what was freed of them since. The first answer makes\n"
			  "that walk, if the process need not stand still for more than 0.1 s.\n"
			  "\n"
			  "`at MOMENT` shows the bytes and blocks that each site held at an earlier\n"
			  "moment, and with `since` the growth up to that moment. Everything else is left\n"
			  "out, because it is not known of an earlier moment; it cannot be in FILTER\n"
			  "either. For MOMENT see `help malloc diff`. FILTER is as in\n"
			  "`help malloc allocations`.\n"
			  "\n"
			  "-brief prints a line for each site.\n",
	.example	= "malloc sites by function sort growth limit 10\n"
			  "malloc sites by function sort temporary limit 5\n"
			  "malloc sites size > 4K since -10m\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_SITES,
};
