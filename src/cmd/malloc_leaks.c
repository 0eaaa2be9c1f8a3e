/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc leaks, mdbg::leaks: blocks that the program cannot get at any more. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/shell.h"
#include "cmd/values.h"
#include "report/leak_text.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks(call, &query);

	return err ? err :
		     leaks_print(call->session, &query.found, &query.leaks,
				 &call->shell->suppressions, call->out);
}

const struct cmd cmd_malloc_leaks = {
	.name		= "malloc leaks",
	.usage		= "?definite|indirect|possible|reachable|all|suppressed?... ?FILTER? ?-stop|-snapshot?",
	.brief		= "find blocks that the program has no pointer to any more",
	.help		= "Memory is searched for pointers: from registers, stacks and all writable\n"
			  "memory to blocks, and from these on.\n"
			  "    definitely lost   nothing that is reachable points to it\n"
			  "    indirectly lost   only lost blocks point to it\n"
			  "    possibly lost     only pointers to its inside lead to it\n"
			  "    still reachable   the program can get at it\n"
			  "as in valgrind's manual. All are counted. The kinds that are named are\n"
			  "listed by where they were allocated; without a name definite and\n"
			  "possible ones are. FILTER, as in `help malloc allocations`, selects\n"
			  "blocks. Lines below the sums say what may hide leaks or make them up.\n"
			  "The target is stopped during the search (-stop). If it has more than\n"
			  "64 MB of memory of its own it is stopped for a fork only, and the\n"
			  "snapshot is searched (-snapshot). Where a fork is not safe the target\n"
			  "is stopped all the same, and the answer says why.\n"
			  "Suppressed leaks (--suppressions, `set suppressions`; the C library's\n"
			  "own leaks are built in) are added up apart, and by pattern at the end;\n"
			  "`suppressed` lists them. See docs/leaks.md.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_BLOCKS,
};

static Tcl_Obj *leak_dict(const struct call *call, const struct leak *leak)
{
	const struct suppressions *suppressions = &call->shell->suppressions;
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", leak_kind_word(leak->kind));
	dict_number(dict, "bytes", leak->bytes);
	dict_number(dict, "count", leak->blocks);
	dict_number(dict, "indirectbytes", leak->indirect_bytes);
	dict_number(dict, "indirectcount", leak->indirect_blocks);
	dict_number(dict, "preattach", leak->preattach);
	dict_number(dict, "stack", leak->stack);
	dict_text(dict, "suppressed", leak->suppression == SUPPRESS_NONE ?
			""  : suppressions->vec.at[leak->suppression].pattern);
	return dict;
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks(call, &query);

	if (!err)
		*ret = value_list(&query.leaks.vec, leak, leak_dict(call, leak));
	return err;
}

const struct cmd cmd_api_leaks = {
	.name		= "mdbg::leaks",
	.usage		= "?definite|indirect|possible|reachable|all|suppressed?... ?FILTER? ?-stop|-snapshot?",
	.brief		= "list of dicts: the loss records of `malloc leaks`",
	.help		= "kind (definite indirect possible reachable) bytes count\n"
			  "indirectbytes indirectcount (what is lost with a definite one)\n"
			  "preattach stack suppressed (the pattern it is suppressed by, or \"\").\n"
			  "Without a kind definite and possible ones. Words as in\n"
			  "`help malloc leaks`.\n",
	.value		= value,
	.max_args	= CMD_ANY,
};
