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
	.help		= "mdbg searches registers, stacks and all writable memory for pointers to\n"
			  "blocks, and then searches the blocks that it has found.\n"
			  "    definitely lost   nothing that is reachable points to it\n"
			  "    indirectly lost   only lost blocks point to it\n"
			  "    possibly lost     only pointers to its inside lead to it\n"
			  "    still reachable   the program can get at it\n"
			  "These are the kinds of valgrind's manual. All blocks are counted. The\n"
			  "named kinds are listed by the places where their blocks were allocated;\n"
			  "if no kind is named, the definite and possible ones are. FILTER, as in\n"
			  "`help malloc allocations`, selects blocks.\n"
			  "Lines below the sums say what may hide leaks, or show leaks that are\n"
			  "none. They say how many of the possibly lost blocks are most likely in\n"
			  "use, since all of their site are pointed to at the same byte behind\n"
			  "their start (sds strings, sqlite's pages) or since they are pools. And\n"
			  "they say how many blocks hang on words of stacks and registers alone.\n"
			  "Such a word may be a variable of a function that waits. Or a call that\n"
			  "is over may have left it: then the block is lost, but it is neither\n"
			  "listed nor counted as lost. The largest such words are listed with the\n"
			  "function whose frame has the word; with `reachable`, the first 100.\n"
			  "The target is stopped during the search (-stop). If it has more than 64\n"
			  "MB of memory of its own, it is stopped for a fork only, and the snapshot\n"
			  "is searched (-snapshot). If a fork is not safe, the target is stopped\n"
			  "for the whole search nevertheless, and the answer says why.\n"
			  "Suppressed leaks (--suppressions, `set suppressions`; those of the C\n"
			  "library are built in) are added up separately, and by pattern at the\n"
			  "end; `suppressed` lists them. See docs/leaks.md.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_BLOCKS,
};

/* The loss records of an answer for scripts. They do not need the session that they come from. */
struct leak_values {
	struct leaks leaks;
	VEC(Tcl_Obj *) patterns;	/* of the suppressions, which a script may change */
	VEC(Tcl_Obj *) held_by;		/* by leak */
	struct dicts dicts;
};

static void leak_values_free(struct leak_values *leaks)
{
	vec_each_value(pattern, &leaks->patterns)
		Tcl_DecrRefCount(pattern);
	vec_each_value(list, &leaks->held_by)
		Tcl_DecrRefCount(list);
	vec_free(&leaks->patterns);
	vec_free(&leaks->held_by);
	leaks_free(&leaks->leaks);
	dicts_free(&leaks->dicts);
}

static Tcl_Obj *offsets_list(const struct leak *leak)
{
	Tcl_Obj *list = Tcl_NewListObj(0, NULL);

	for (uint32_t i = 0; i < leak->nr_offsets; i++)
		Tcl_ListObjAppendElement(NULL, list, Tcl_NewWideIntObj(leak->offset[i]));
	return list;
}

static Tcl_Obj *holder_dict(const struct call *call, const struct query *query,
			    const struct session_holder *holder)
{
	static const char *const words[] = {
		[SESSION_HOLDER_STACK] = "stack", [SESSION_HOLDER_REGISTER] = "register",
		[SESSION_HOLDER_VECTOR] = "vector",
	};
	const struct reach_holder *is = &query->found.mark.holders.at[holder->number];
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "kind", words[holder->in]);
	dict_address(dict, "block", packed_at(&query->found.held, is->block)->address);
	dict_number(dict, "bytes", query->leaks.by_holder.at[holder->number].bytes);
	dict_number(dict, "count", query->leaks.by_holder.at[holder->number].blocks);
	if (!is->is_register)
		dict_address(dict, "place", is->place);
	if (holder->tid)
		dict_number(dict, "thread", (uint64_t)holder->tid);
	if (holder->in == SESSION_HOLDER_REGISTER)
		dict_text(dict, "register", session_arch(call->session)->reg_names[holder->index]);
	if (holder->pc) {
		dict_address(dict, "pc", holder->pc);
		dict_number(dict, "returns", holder->returns);
	}
	return dict;
}

/* The words of stacks and registers that alone hold blocks of this record. */
static Tcl_Obj *held_by(const struct call *call, const struct query *query,
			const struct leak *leak)
{
	Tcl_Obj *list = Tcl_NewListObj(0, NULL);

	for (size_t i = 0; leak->stack_blocks && i < query->found.holders.nr; i++) {
		const struct session_holder *holder = &query->found.holders.at[i];
		uint32_t block = query->found.mark.holders.at[holder->number].block;
		struct block is = packed_block(&query->found.held, block);

		if (reach_kind(packed_at(&query->found.held, block)) == leak->kind &&
		    is.stack == leak->stack && is.preattach == leak->preattach &&
		    is.unrecorded == leak->unrecorded)
			Tcl_ListObjAppendElement(NULL, list, holder_dict(call, query, holder));
	}
	return list;
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

static struct err *take_held_by(const struct call *call, const struct query *query,
				struct leak_values *ret)
{
	struct err *err = vec_reserve(&ret->held_by, query->leaks.vec.nr);

	if (err)
		return err;
	vec_each(leak, &query->leaks.vec) {
		Tcl_Obj *list = held_by(call, query, leak);

		Tcl_IncrRefCount(list);
		ret->held_by.at[ret->held_by.nr++] = list;
	}
	return NULL;
}

/* Take the loss records out of the query, whose memory is freed before a script runs. */
static struct err *take_leaks(struct call *call, struct leak_values *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_leaks(call, &query);

	if (err)
		return err;
	err = take_held_by(call, &query, ret);
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
	dicts_number(dicts, "likelybytes", leak->likely_bytes);
	dicts_number(dicts, "likelycount", leak->likely_blocks);
	dicts_value(dicts, "offsets", offsets_list(leak));
	dicts_number(dicts, "stackbytes", leak->stack_bytes);
	dicts_number(dicts, "stackcount", leak->stack_blocks);
	dicts_value(dicts, "heldby", leaks->held_by.at[i]);
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
	.help		= "    kind               definite indirect possible reachable\n"
			  "    bytes count\n"
			  "    indirectbytes indirectcount    lost with a definite one\n"
			  "    likelybytes likelycount        of a possible one: most likely in use\n"
			  "    offsets            the bytes in such blocks that are pointed to\n"
			  "    stackbytes stackcount          hang on words of stacks and registers\n"
			  "                                   alone\n"
			  "    heldby             a list of dicts: those of the 100 largest such words\n"
			  "                       that point to its blocks\n"
			  "    preattach stack\n"
			  "    suppressed         the pattern that suppresses it, or empty\n"
			  "Each dict of heldby has: kind (stack, register, vector) block (address)\n"
			  "bytes count (of all that hangs on the word), and place thread register\n"
			  "pc returns as in `help mdbg::find`. If no kind is named, the definite\n"
			  "and possible ones are listed. The words are those of `help malloc\n"
			  "leaks`; for -each see `help mdbg::allocations`.\n",
	.value		= value,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_EACH,
	.complete	= COMPLETE_BLOCKS,
};
