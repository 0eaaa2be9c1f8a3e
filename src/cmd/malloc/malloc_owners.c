/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc owners, mdbg::owners: who keeps how much memory. */

#include "answer/owner_rows.h"
#include "answer/stack_names.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "heap/filter.h"
#include "report/graph/owners.h"
#include "session/session.h"

#define LIMIT	20u

static const char *const by_words[] = {
	[OWNER_ROOT] = "root", [OWNER_SITE] = "site", [OWNER_MODULE] = "module",
	[OWNER_THREAD] = "thread", NULL,
};

struct asked {
	struct stack_names names;
	struct owners owners;
	enum owner_by by;
	struct answer_order order;
	struct owner_ask ask;
};

static void asked_free(struct asked *asked)
{
	owner_rows_free(&asked->owners);
	stack_names_free(&asked->names);
}

static struct err *parse_by(const char *word, enum owner_by *ret)
{
	int by = word ? call_word_index(word, by_words) : -1;

	if (by < 0)
		return err_hint(word ? err_create(ERR_USAGE, "'%s' is nothing to group by", word) :
				       err_create(ERR_USAGE, "what to group by is missing"),
				"by root, site, module or thread");
	*ret = (enum owner_by)by;
	return NULL;
}

static struct err *parse(const struct call *call, struct asked *ret)
{
	int at = 0;
	struct err *err = NULL;

	if (call->argc && !strcmp(call->argv[0], "by")) {
		err = parse_by(call->argc > 1 ? call->argv[1] : NULL, &ret->by);
		at = 2;
	} else if (call->argc && strcmp(call->argv[0], "sort") && strcmp(call->argv[0], "limit")) {
		err = parse_number(call->argv[0], &ret->ask.address);
		if (!err && !ret->ask.address)
			err = err_create(ERR_NOTFOUND, "no block is at 0x0");
		ret->by = OWNER_BLOCK;
		at = 1;
	}
	ret->ask.timed = ret->by == OWNER_THREAD;
	if (!err)
		err = answer_order_parse(&owner_relation, call->argc, call->argv, &at, &ret->order);
	return !err && at < call->argc ? call_bad_word(call->argv[at]) : err;
}

/* The caller calls asked_free, also after an error. */
static struct err *look(const struct call *call, struct asked *ret)
{
	struct err *err;

	*ret = (struct asked){ .by = OWNER_ROOT };
	ret->owners.graph.in = (struct leak_marks){ .held = PACKED_INIT, .heap = HEAPS_INIT };
	stack_names_init(&ret->names, call->session);
	err = parse(call, ret);
	return err ? err : owner_rows_take(call->session, &ret->ask, false,
					      &ret->owners);
}

static struct err *run(struct call *call)
{
	CLEANUP(asked_free) struct asked asked;
	struct answer rows = { .nr = 0 };
	struct owners_text text = { .rows = &rows };
	struct err *err = look(call, &asked);

	if (err)
		return err;
	if (asked.order.limit == UINT64_MAX)
		asked.order.limit = LIMIT;
	text.names = &asked.names;
	text.owners = &asked.owners;
	text.by = asked.by;
	err = owner_rows(&asked.names, &asked.owners, asked.by, call->brief,
			 &asked.order, &rows, &text.all);
	if (err)
		return err;
	err = owners_print(&text, call->brief, call->out);
	answer_free(&rows);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(asked_free) struct asked asked;
	uint64_t all;
	struct err *err = look(call, &asked);

	return err ? err : owner_rows(&asked.names, &asked.owners, asked.by, false, &asked.order,
				      ret, &all);
}

static const struct twin twin = {
	.name		= "mdbg::owners",
	.brief		= "list of dicts: the rows of `malloc owners`",
	.help		= "There is no limit of its own. For -each see `help mdbg::allocations`.\n",
	.example	= "foreach row [mdbg::owners limit 3] {puts [dict get $row label]}\n",
	.of		= &owner_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_owners = {
	.name		= "malloc owners",
	.usage		= "?by root|site|module|thread|ADDRESS? ?sort KEY ?up?? ?limit N?",
	.brief		= "who keeps how much memory: what would go if it went",
	.help		= "What a block keeps are the blocks that nothing would lead to without it:\n"
			  "every way from a root to them leads through it. It counts itself. A root is a\n"
			  "variable, thread-local data, the frame of a function in a thread, its\n"
			  "registers, or a mapping beside malloc. What several roots lead to is kept by\n"
			  "none of them, and listed as `several roots`; what is lost, as `nothing: lost`.\n"
			  "\n"
			  "By site, module and thread (those that have allocated) the blocks of one are\n"
			  "taken together; a block that is kept by another one of them counts once.\n"
			  "\n"
			  "With ADDRESS the answer is of the block there: what it keeps directly, one\n"
			  "level. An address of that list, or of one by root, leads a level deeper.\n"
			  "\n"
			  "Pointers to the inside of a block count. Words of stacks and registers count\n"
			  "only where nothing else leads to the block, since a function that walks along\n"
			  "a list does not own it, and old words stay on stacks.\n"
			  "\n"
			  "N (20) are listed, the largest first. KEY is one of the figures of\n"
			  "`help mdbg::owners`. -brief prints a line for each. The process stands still\n"
			  "as for `malloc leaks`: for a fork, if it is large.\n",
	.example	= "malloc owners\n"
			  "malloc owners by site limit 5\n"
			  "malloc owners 0x55d0c8a012a0\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_BRIEF,
	.complete	= COMPLETE_LIMIT,
};
