/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc owners, mdbg::owners: who keeps how much memory. */

#include "answer/owner_rows.h"
#include "base/cleanup.h"
#include "cmd/query/query.h"
#include "cmd/query/query_owners.h"
#include "cmd/shell/cmd.h"
#include "os/tracer.h"
#include "report/graph/owners.h"
#include "session/session.h"

#define LIMIT	20u

static const char *const by_words[] = {
	[OWNER_ROOT] = "root", [OWNER_TYPE] = "type", [OWNER_SITE] = "site",
	[OWNER_MODULE] = "module", [OWNER_THREAD] = "thread", NULL,
};

struct asked {
	struct query query;		/* its words, and FILTER */
	struct query_owners graph;
	struct owners *owners;
	uint64_t age;			/* of the graph, in ns */
	struct owner_rows_ask rows;
	struct owner_change now;
};

static void asked_free(struct asked *asked)
{
	owner_change_free(&asked->now);
	query_free(&asked->query);
}

static struct err *parse_by(const char *word, enum owner_by *ret)
{
	int by = word ? call_word_index(word, by_words) : -1;

	if (by < 0)
		return err_hint(word ? err_create(ERR_USAGE, "'%s' is nothing to group by", word) :
				       err_create(ERR_USAGE, "what to group by is missing"),
				"by root, type, site, module or thread");
	*ret = (enum owner_by)by;
	return NULL;
}

static struct err *parse_address(struct asked *asked, int *at)
{
	const struct query *query = &asked->query;
	struct err *err = parse_number(query->argv[(*at)++], &asked->graph.ask.address);

	if (!err && !asked->graph.ask.address)
		err = err_create(ERR_NOTFOUND, "no block is at 0x0");
	asked->rows.by = OWNER_BLOCK;
	asked->graph.now = *at < query->argc && !strcmp(query->argv[*at], "now");
	*at += asked->graph.now;
	return err;
}

/* by WORD, or ADDRESS ?now?; then FILTER, sort and limit. */
static struct err *parse(struct asked *asked)
{
	struct query *query = &asked->query;
	const char *const *argv = (const char *const *)query->argv;
	int at = 0, used = 0;
	struct err *err = NULL;

	if (query->argc && !strcmp(argv[0], "by")) {
		err = parse_by(argv[1], &asked->rows.by);
		at = 2;
	} else if (query->argc && *argv[0] >= '0' && *argv[0] <= '9') {
		err = parse_address(asked, &at);
	}
	if (!err)
		err = filter_parse(query->argc - at, argv + at, FILTER_ALL, &query->filter, NULL,
				   &used);
	at += used;
	if (!err)
		err = answer_order_parse(&owner_relation, query->argc, argv, &at, &asked->rows.order);
	asked->graph.ask.timed = asked->rows.by == OWNER_THREAD || filter_is_timed(&query->filter);
	/* The blocks of an older graph may be without times. */
	asked->graph.now |= asked->graph.ask.timed;
	return !err && at < query->argc ? call_bad_word(argv[at]) : err;
}

/* The caller calls asked_free, also after an error. */
static struct err *look(const struct call *call, struct asked *ret)
{
	struct filter_env env;
	struct err *err;

	*ret = (struct asked){ .rows.by = OWNER_ROOT, .graph.keeps = true,
				.now = OWNER_CHANGE_INIT };
	/* Without a log there is nothing but blocks from before the attach: a core file. */
	err = session_log(call->session) ? query_begin(call, &ret->query) :
					   query_begin_unlogged(call, &ret->query);
	if (!err)
		err = parse(ret);
	if (!err)
		err = query_typed(call, false, &ret->query);
	if (!err && ret->rows.by == OWNER_TYPE && !ret->query.typed.taken)
		err = typed_blocks_take(&ret->query.names, &ret->query.typed);
	if (!err)
		err = query_owners(call, &ret->graph, &ret->owners, &ret->age);
	if (err)
		return err;
	ret->owners->typed = &ret->query.typed;
	env = query_env(call, &ret->query);
	err = owner_rows_count(&ret->query.filter, &env, ret->owners);
	if (!err && ret->rows.by != OWNER_BLOCK && !ret->query.filter.conds.nr) {
		ret->rows.now = &ret->now;
		err = query_owners_before(call, ret->rows.by, &ret->rows.before);
	}
	return err ? err : query_warn_of_nobody(call, &ret->query.names, &ret->query.filter);
}

/* After the answer. */
static void end(const struct call *call, struct asked *asked)
{
	if (asked->now.known)
		query_owners_replace(asked->rows.before, &asked->now);
	query_owners_end(call);
}

static struct err *run(struct call *call)
{
	CLEANUP(asked_free) struct asked asked;
	struct answer rows = { .nr = 0 };
	struct owners_text text = { .rows = &rows };
	struct err *err = look(call, &asked);

	if (err)
		return err;
	asked.rows.brief = call->brief;
	if (asked.rows.order.limit == UINT64_MAX)
		asked.rows.order.limit = LIMIT;
	text.names = &asked.query.names;
	text.owners = asked.owners;
	text.by = asked.rows.by;
	text.age_ns = asked.age;
	if (asked.rows.before && asked.rows.before->known)
		text.since_ns = tracer_now() - asked.rows.before->taken;
	err = owner_rows(&asked.query.names, asked.owners, &asked.rows, &rows, &text.all);
	if (!err)
		err = owners_print(&text, call->brief, call->out);
	answer_free(&rows);
	end(call, &asked);
	return err;
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(asked_free) struct asked asked;
	uint64_t all;
	struct err *err = look(call, &asked);

	if (err)
		return err;
	err = owner_rows(&asked.query.names, asked.owners, &asked.rows, ret, &all);
	end(call, &asked);
	return err;
}

static const struct twin twin = {
	.name		= "mdbg::owners",
	.brief		= "list of dicts: the rows of `malloc owners`",
	.help		= "There is no limit of its own. The row `several roots` is the group of all\n"
			  "blocks that no single root keeps: its address is that of one of them.\n"
			  "For -each see `help mdbg::allocations`.\n",
	.example	= "foreach row [mdbg::owners limit 3] {puts [dict get $row label]}\n",
	.of		= &owner_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_owners = {
	.name		= "malloc owners",
	.usage		= "?by root|type|site|module|thread|ADDRESS ?now?? ?FILTER? ?sort KEY ?up?? ?limit N?",
	.brief		= "who keeps how much memory: what would go if it went",
	.help		= "What a block keeps are the blocks that nothing would lead to without it:\n"
			  "every way from a root to them leads through it. It counts itself. A root is a\n"
			  "variable, thread-local data, the frame of a function in a thread, its\n"
			  "registers, or a mapping beside malloc. What several roots lead to is kept by\n"
			  "none of them, and listed as `several roots`; what is lost, as `nothing: lost`.\n"
			  "`several roots` is a group of blocks, not one structure: its address is that of\n"
			  "the block that keeps most, which may be a small part. What blocks there are\n"
			  "is said by type and by site, and `malloc path ADDRESS all` lists the roots.\n"
			  "\n"
			  "By type (`help malloc types`), and by site, module and thread that have\n"
			  "allocated, the blocks of one are taken together; a block that is kept by\n"
			  "another one of them counts once.\n"
			  "\n"
			  "With ADDRESS the answer is of the block there: what it keeps directly, one\n"
			  "level. An address of that list, or of one by root, leads a level deeper. What\n"
			  "was found stays for a minute, and is asked again: the answer says of when it\n"
			  "is, and `now` looks anew. mdbg::owners always does, unless it is a core file\n"
			  "that is looked at.\n"
			  "\n"
			  "With FILTER, as in `help malloc allocations`, only the blocks that match are\n"
			  "counted: who keeps those of a function, those that are older than an hour.\n"
			  "\n"
			  "Pointers to the inside of a block count. Words of stacks and registers count\n"
			  "only where nothing else leads to the block, since a function that walks along\n"
			  "a list does not own it, and old words stay on stacks.\n"
			  "\n"
			  "Asked again by the same words, without FILTER, each row has how much more or\n"
			  "less it keeps than before: `sort change` has on top what grows.\n"
			  "\n"
			  "N (20) are listed, the largest first. KEY is one of the figures of\n"
			  "`help mdbg::owners`. -brief prints a line for each. The process stands still\n"
			  "as for `malloc leaks`: for a fork, if it is large.\n",
	.example	= "malloc owners\n"
			  "malloc owners by site limit 5\n"
			  "malloc owners function == read_frame and age > 1h\n"
			  "malloc owners 0x55d0c8a012a0\n",
	.need		= call_need_view,
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_BLOCKS,
};
