/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc types, mdbg::types: blocks by what they are. */

#include <inttypes.h>

#include "answer/type_rows.h"
#include "base/cleanup.h"
#include "cmd/query/query.h"
#include "cmd/shell/cmd.h"
#include "report/number_cell.h"
#include "report/out.h"
#include "report/rows_text.h"
#include "report/stood_text.h"

struct asked {
	struct query query;
	struct filter_env env;
	struct answer_order order;
	struct type_sums sums;
};

static void asked_free(struct asked *asked)
{
	type_rows_free(&asked->sums);
	query_free(&asked->query);
}

static struct err *parse(struct asked *asked)
{
	struct query *query = &asked->query;
	const char *const *argv = (const char *const *)query->argv;
	int at = 0;
	struct err *err = filter_parse(query->argc, argv, FILTER_ALL, &query->filter, NULL, &at);

	if (!err)
		err = answer_order_parse(&type_relation, query->argc, argv, &at, &asked->order);
	return !err && at < query->argc ? call_bad_word(argv[at]) : err;
}

/* The caller calls asked_free, also after an error. */
static struct err *ask(struct call *call, struct asked *ret)
{
	struct typed_blocks *typed = &ret->query.typed;
	struct err *err;
	size_t left;

	*ret = (struct asked){ .sums.bytes = 0 };
	err = query_begin(call, &ret->query);
	if (!err)
		err = parse(ret);
	if (!err)
		err = typed_blocks_take(&ret->query.names, typed);
	if (err)
		return err;
	ret->env = query_env(call, &ret->query);
	err = type_rows_sum(typed, &ret->query.filter, &ret->env, &ret->sums);
	if (!err)
		err = answer_sort(&ret->order, ret->sums.vec.at, ret->sums.vec.nr,
				  sizeof(*ret->sums.vec.at), &left);
	if (err)
		return err;
	ret->sums.vec.nr = left;
	return query_warn_of_nobody(call, &ret->query.names, &ret->query.filter);
}

static double percent(uint64_t part, uint64_t all)
{
	return all ? 100.0 * (double)part / (double)all : 0;
}

static void print_sums(const struct asked *asked, struct out *out)
{
	const struct session_contents *found = &asked->query.typed.found;
	const struct type_sums *sums = &asked->sums;
	uint64_t unknown = sums->known[KNOWN_UNKNOWN];

	out_f(out, "%s bytes in %" PRIu64 " blocks; the type of %.1f %% of the bytes is known",
	      number_text_size(out, sums->bytes).at, sums->count,
	      percent(sums->bytes - unknown, sums->bytes));
	for (int how = 0, nr = 0; how < KNOWN_UNKNOWN; how++)
		if (sums->known[how])
			out_f(out, "%s%s %.1f %%", nr++ ? ", " : ": ",
			      typed_blocks_how((enum known_how)how),
			      percent(sums->known[how], sums->bytes));
	out_text(out, "\n");
	out_count(out, "%" PRIu64 " blocks could not be read\n", found->types.unread);
	if (*found->blocks.why)
		out_f(out, "Only recorded blocks are here: %s\n", found->blocks.why);
	stood_text_print(out, found->blocks.pause_ns, found->blocks.no_snapshot);
}

static struct err *run(struct call *call)
{
	CLEANUP(asked_free) struct asked asked;
	struct answer rows = { .nr = 0 };
	struct err *err = ask(call, &asked);

	if (!err)
		err = type_rows(&asked.sums, &rows);
	if (err)
		return err;
	if (!call->brief)
		out_heading(call->out, "Blocks by Type:");
	err = rows_text_print(&rows, NULL, call->out);
	out_text(call->out, "\n");
	if (!err)
		print_sums(&asked, call->out);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(asked_free) struct asked asked;
	struct err *err = ask(call, &asked);

	return err ? err : type_rows(&asked.sums, ret);
}

static const struct twin twin = {
	.name		= "mdbg::types",
	.brief		= "list of dicts: the rows of `malloc types`",
	.help		= "For -each see `help mdbg::allocations`.\n",
	.example	= "foreach row [mdbg::types limit 5] {puts [dict get $row type]}\n",
	.of		= &type_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_types = {
	.name		= "malloc types",
	.usage		= "?FILTER? ?sort KEY ?up?? ?limit N?",
	.brief		= "what the blocks are: classes, structs, text",
	.help		= "Blocks by type, those from before the attach, too, and how it is known:\n"
			  "    vtable   the block begins with the address of a class' table of virtual\n"
			  "             functions; it is a symbol's, or its type's object has the name.\n"
			  "             A header with the block's size may come before it, or the number\n"
			  "             of objects that new T[n] has made\n"
			  "    python   it is an object of Python's, outside of its pools\n"
			  "    frame    its stack has the allocator of one type, std::allocator<T> or\n"
			  "             Vec<T>: the block is one T, or several side by side\n"
			  "    debug    its caller puts it into a variable, a member or its own result,\n"
			  "             which has that type in the debug information\n"
			  "    spread   a pointer of that type leads to it, from a global variable or\n"
			  "             from a block whose type is known\n"
			  "    form     its bytes: text; pointers (addresses of blocks, at least 4, and\n"
			  "             zeros); zeros (behind an allocator's header at most); mostly\n"
			  "             zeros (of 4096 bytes or more, nine words in ten); pool (its owner\n"
			  "             gives it out in parts: it has its own end, behind the place up to\n"
			  "             which it is used, or its size behind a header which has it too);\n"
			  "             and of redis sds, robj, dictEntry, zskiplistNode, quicklistNode,\n"
			  "             listpack\n"
			  "    like     a block from before the attach that looks like those of one\n"
			  "             function that was seen allocating, and of no other: `as by\n"
			  "             FUNCTION`. Rules are tested on half of the blocks that were seen;\n"
			  "             those count that are right for 99 % of it (mdbg::types has tried\n"
			  "             and right)\n"
			  "`?` is what is not known, and what two ways say two types of. Without debug\n"
			  "information there are neither `debug` nor `spread`.\n"
			  "\n"
			  "A class is what the block begins with. Of an object that is being constructed\n"
			  "or destroyed it is the base whose constructor or destructor runs. Memory that\n"
			  "its owner has not written to yet may still have what was there before.\n"
			  "\n"
			  "FILTER is as in `help malloc allocations`; KEY is bytes, count, type or how.\n"
			  "The process stands, or a snapshot is made of it, as for `malloc leaks`.\n",
	.example	= "malloc types limit 10\n"
			  "malloc types size > 4K sort count\n"
			  "malloc types address == 0x55d0c0a812a0\n"
			  "export csv types.csv types\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_BLOCKS,
};
