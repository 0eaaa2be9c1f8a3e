/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc sites: add the blocks up by where they were allocated. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/query.h"
#include "cmd/shell.h"
#include "report/sites.h"

static struct err *run(struct call *call)
{
	struct query query;
	struct err *err = query_sites(call, &query);

	if (!err)
		err = sites_print(call->session, &query.names, query.by, &query.sites, call->out);
	query_free(&query);
	return err;
}

const struct cmd cmd_malloc_sites = {
	.name		= "malloc sites",
	.usage		= "?by stack|function|module|thread|size? ?FILTER? "
			  "?sort bytes|count|age|growth|rate? ?limit N?",
	.brief		= "add the blocks up by where they were allocated, largest first",
	.help		= "For each site: bytes and blocks that are held, their share, blocks\n"
			  "of all time and how many of them were freed (not known by thread and\n"
			  "by size), age of the oldest and of the median block, growth, and the\n"
			  "traceback (of the stack with most bytes, if several are added up).\n"
			  "By function and by module the first frame outside of the allocator\n"
			  "counts.\n"
			  "FILTER as in `help malloc allocations`.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_SITES,
};
