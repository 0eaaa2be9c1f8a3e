/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc leaks, mdbg::leaks: blocks that the program cannot get at any more. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/each.h"
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

/* The loss records of an answer for scripts, apart from the session they are of. */
struct leak_values {
	struct leaks leaks;
	VEC(Tcl_Obj *) patterns;	/* of the suppressions, which a script may change */
	struct dicts dicts;
};

static void leak_values_free(struct leak_values *leaks)
{
	vec_each_value(pattern, &leaks->patterns)
		Tcl_DecrRefCount(pattern);
	vec_free(&leaks->patterns);
	leaks_free(&leaks->leaks);
	dicts_free(&leaks->dicts);
}

static struct err *take_patterns(const struct suppressions *suppressions, struct leak_values *ret)
{
	struct err *err = vec_reserve(&ret->patterns, suppressions->vec.nr);

	if (err)
		return err;
	vec_each(suppression, &suppressions->vec) {
		Tcl_Obj *pattern = Tcl_NewStringObj(suppression->pattern, -1);

		Tcl_IncrRefCount(pattern);
		ret->patterns.at[ret->patterns.nr++] = pattern;
	}
	return NULL;
}

/* What the search has taken is given back before a script runs. */
static struct err *take_leaks(struct call *call, struct leak_values *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks(call, &query);

	if (err)
		return err;
	ret->leaks = query.leaks;
	memset(&query.leaks, 0, sizeof(query.leaks));
	err = dicts_init(&ret->dicts);
	return err ? err : take_patterns(&call->shell->suppressions, ret);
}

static Tcl_Obj *leak_dict(void *ctx, size_t i)
{
	struct leak_values *leaks = ctx;
	const struct leak *leak = &leaks->leaks.vec.at[i];
	struct dicts *dicts = &leaks->dicts;

	dicts_text(dicts, "kind", leak_kind_word(leak->kind));
	dicts_number(dicts, "bytes", leak->bytes);
	dicts_number(dicts, "count", leak->blocks);
	dicts_number(dicts, "indirectbytes", leak->indirect_bytes);
	dicts_number(dicts, "indirectcount", leak->indirect_blocks);
	dicts_number(dicts, "preattach", leak->preattach);
	dicts_number(dicts, "stack", leak->stack);
	if (leak->suppression == SUPPRESS_NONE)
		dicts_text(dicts, "suppressed", "");
	else
		dicts_value(dicts, "suppressed", leaks->patterns.at[leak->suppression]);
	return dicts_end(dicts);
}

static struct err *value(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(leak_values_free) struct leak_values leaks = { .patterns = VEC_INIT };
	struct err *err = take_leaks(call, &leaks);

	return err ? err : each_give(call, leaks.leaks.vec.nr, leak_dict, &leaks, ret);
}

const struct cmd cmd_api_leaks = {
	.name		= "mdbg::leaks",
	.usage		= "?definite|indirect|possible|reachable|all|suppressed?... ?FILTER? "
			  "?-stop|-snapshot? ?-each VAR BODY?",
	.brief		= "list of dicts: the loss records of `malloc leaks`",
	.help		= "kind (definite indirect possible reachable) bytes count\n"
			  "indirectbytes indirectcount (what is lost with a definite one)\n"
			  "preattach stack suppressed (the pattern it is suppressed by, or \"\").\n"
			  "Without a kind definite and possible ones. Words as in\n"
			  "`help malloc leaks`; -each as in `help mdbg::allocations`.\n",
	.value		= value,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_EACH,
	.complete	= COMPLETE_BLOCKS,
};
