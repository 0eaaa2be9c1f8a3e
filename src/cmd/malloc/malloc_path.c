/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc path, mdbg::path: the shortest way from a root to a block. */

#include "answer/path_rows.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "report/graph/owners.h"
#include "session/leaks.h"

#define ALL	20u	/* ways */

static void graph_free(struct owner_graph *graph)
{
	owner_graph_free(graph);
}

static struct err *parse(const struct call *call, struct owner_ask *ret)
{
	struct err *err = parse_number(call->argv[0], &ret->address);

	if (!err && !ret->address)
		err = err_create(ERR_NOTFOUND, "no block is at 0x0");
	ret->limit = 1;
	if (err || call->argc == 1)
		return err;
	if (strcmp(call->argv[1], "all"))
		return call_bad_word(call->argv[1]);
	ret->limit = ALL;
	return NULL;
}

static struct err *find(const struct call *call, struct owner_ask *ask, struct owner_graph *ret)
{
	struct err *err = parse(call, ask);

	*ret = (struct owner_graph){ .in = { .held = PACKED_INIT, .heap = HEAPS_INIT } };
	return err ? err : session_leaks_graph(call->session, ask, ret);
}

static struct err *run(struct call *call)
{
	CLEANUP(graph_free) struct owner_graph graph;
	CLEANUP(stack_names_free) struct stack_names names;
	struct owner_ask ask = { .address = 0 };
	struct err *err = find(call, &ask, &graph);

	stack_names_init(&names, call->session);
	return err ? err : owners_print_path(&names, &graph, ask.address, call->out);
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(graph_free) struct owner_graph graph;
	CLEANUP(stack_names_free) struct stack_names names;
	struct owner_ask ask = { .address = 0 };
	struct err *err = find(call, &ask, &graph);

	stack_names_init(&names, call->session);
	return err ? err : path_rows(&names, &graph, ret);
}

static const struct twin twin = {
	.name		= "mdbg::path",
	.brief		= "list of dicts: the steps of `malloc path`, root first",
	.help		= "A way begins with step 0, the root, or `lost`, and ends with the block. All\n"
			  "steps are there, also those that the text takes together. For -each see\n"
			  "`help mdbg::allocations`.\n",
	.example	= "puts [dict get [lindex [mdbg::path 0x55d0c8a012a0] 0] label]\n",
	.of		= &path_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_path = {
	.name		= "malloc path",
	.usage		= "ADDRESS ?all?",
	.brief		= "the shortest way from a root to a block",
	.help		= "ADDRESS may be anywhere in the block. The way begins at a variable with its\n"
			  "module, thread-local data, a mapping beside malloc, or, if nothing else leads\n"
			  "to the block, a word of a thread's stack with the function whose frame it is\n"
			  "in, or a register. Each block on the way has the byte at which its pointer to\n"
			  "the next one lies, and who allocated it. Blocks of one list are one line.\n"
			  "\n"
			  "`all` lists the shortest way from each of the 20 nearest words of roots.\n"
			  "\n"
			  "If nothing that the process can reach leads to the block, it is lost. The way\n"
			  "begins then at the block through which it is lost, which only its own ring\n"
			  "may point to.\n"
			  "\n"
			  "The process stands still as for `malloc leaks`. Each `malloc path` looks at\n"
			  "all memory; `malloc find` shows who points to one block.\n",
	.example	= "malloc path 0x55d0c8a012a0\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= 2,
};
