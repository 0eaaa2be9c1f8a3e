/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc path, mdbg::path: the shortest way from a root to a block. */

#include "answer/path_rows.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/query/query_owners.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "report/graph/owners.h"

#define ALL	20u	/* ways */

static struct err *parse(const struct call *call, struct query_owners *ret)
{
	struct err *err = parse_number(call->argv[0], &ret->ask.address);
	int at = 1;

	*ret = (struct query_owners){ .ask = { ret->ask.address, 1, false } };
	if (!err && !ret->ask.address)
		err = err_create(ERR_NOTFOUND, "no block is at 0x0");
	if (!err && at < call->argc && !strcmp(call->argv[at], "all")) {
		ret->ask.limit = ALL;
		at++;
	}
	if (!err && at < call->argc && !strcmp(call->argv[at], "now")) {
		ret->now = true;
		at++;
	}
	return !err && at < call->argc ? call_bad_word(call->argv[at]) : err;
}

static struct err *run(struct call *call)
{
	CLEANUP(stack_names_free) struct stack_names names;
	struct query_owners query;
	struct owners *owners;
	uint64_t age;
	struct err *err = parse(call, &query);

	stack_names_init(&names, call->session);
	if (!err)
		err = query_owners(call, &query, &owners, &age);
	if (err)
		return err;
	err = owners_print_path(&names, &owners->graph, query.ask.address, age, call->out);
	query_owners_end(call);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(stack_names_free) struct stack_names names;
	struct query_owners query;
	struct owners *owners;
	uint64_t age;
	struct err *err = parse(call, &query);

	stack_names_init(&names, call->session);
	if (!err)
		err = query_owners(call, &query, &owners, &age);
	if (err)
		return err;
	err = path_rows(&names, &owners->graph, ret);
	query_owners_end(call);
	return err;
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
	.usage		= "ADDRESS ?all? ?now?",
	.brief		= "the shortest way from a root to a block",
	.help		= "ADDRESS may be anywhere in the block. The way begins at a variable with its\n"
			  "module, thread-local data, a mapping beside malloc, or, if nothing else leads\n"
			  "to the block, a word of a thread's stack with the function whose frame it is\n"
			  "in, or a register. Each block on the way has the byte at which its pointer to\n"
			  "the next one lies, and who allocated it. With debug information it has its\n"
			  "member and the block's type, as far as the variable's declaration says them.\n"
			  "Blocks of one list are one line.\n"
			  "\n"
			  "`all` lists the shortest way from each of the 20 nearest words of roots.\n"
			  "\n"
			  "If nothing that the process can reach leads to the block, it is lost. The way\n"
			  "begins then at the block through which it is lost, which only its own ring\n"
			  "may point to.\n"
			  "\n"
			  "The process stands still as for `malloc leaks`. What was found stays for a\n"
			  "minute: `malloc owners ADDRESS` and another `malloc path` are answered from it\n"
			  "at once, and say of when it is. `now` looks anew; mdbg::path always does,\n"
			  "unless it is a core file that is looked at.\n",
	.example	= "malloc path 0x55d0c8a012a0\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.min_args	= 1,
	.max_args	= 3,
};
