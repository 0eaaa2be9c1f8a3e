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
			  "as valgrind's manual has them. All are counted; listed, by where they\n"
			  "were allocated, are those named, or else definite and possible ones.\n"
			  "FILTER, as in `help malloc allocations`, says of which blocks. What may\n"
			  "hide leaks, or make them up, is said below the sums.\n"
			  "The target is stopped meanwhile (-stop), or, with more than 64 MB of\n"
			  "memory of its own, for a fork only, and the snapshot is searched\n"
			  "(-snapshot); where that is not safe it is stopped all the same, and it\n"
			  "is said why.\n"
			  "Leaks that are not to be reported (--suppressions, `set suppressions`;\n"
			  "the C library's own leaks are built in) are summed up apart, and by\n"
			  "pattern at the end; `suppressed` lists them. See docs/leaks.md.\n",
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
