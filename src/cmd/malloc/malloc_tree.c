/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc tree, mdbg::tree: sites by the calls that lead to them, with inclusive sums. */

#include <string.h>

#include "answer/call_tree.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/query/query.h"
#include "report/sites.h"
#include "report/tree.h"

#define LEAST	0.005	/* of all, that a place must have in text if no limit is given */

struct asked {
	struct query query;
	struct call_tree_spec spec;
	struct call_tree tree;
};

static void asked_free(struct asked *asked)
{
	query_free(&asked->query);
	call_tree_free(&asked->tree);
}

static bool is_word(const struct call *call, const char *word)
{
	return call->argc && !strcmp(call->argv[0], word);
}

static void drop_words(struct call *call, int nr)
{
	call->argc -= nr;
	call->argv += nr;
	call->objv += nr;
}

/* `callers`, then `by function`; the rest is as for a list of sites. */
static struct err *parse(struct call *rest, struct asked *asked)
{
	asked->spec.callers = is_word(rest, "callers");
	if (asked->spec.callers)
		drop_words(rest, 1);
	if (!is_word(rest, "by"))
		return NULL;
	if (rest->argc < 2 || strcmp(rest->argv[1], "function"))
		return err_create(ERR_USAGE, "a tree is `by function`, or by the places of calls");
	asked->spec.by_function = true;
	drop_words(rest, 2);
	return NULL;
}

/* The caller frees *ret, also after an error. */
static struct err *ask(const struct call *call, double least, struct asked *ret)
{
	struct call rest = *call;
	struct err *err;

	*ret = (struct asked){ .tree.weight = 0 };
	err = parse(&rest, ret);
	if (!err)
		err = query_sites_tree(&rest, &ret->query);
	if (!err && ret->query.by != SITE_STACK)
		err = err_create(ERR_USAGE, "`by function` comes first");
	if (err)
		return err;
	ret->spec.sort = ret->query.sort;
	ret->spec.limit = ret->query.limit;
	ret->spec.least = ret->query.limit == UINT64_MAX ? least : 0;
	if (ret->spec.sort == SITE_SORT_AGE || ret->spec.sort == SITE_SORT_GROWTH ||
	    ret->spec.sort == SITE_SORT_RATE)
		return err_hint(err_create(ERR_USAGE, "a tree has no sums of %s",
					   query_sort_keys[ret->spec.sort]),
				"sort bytes, count, total, calls, callrate or temporary");
	return call_tree_build(&ret->query.names, &ret->query.sites, &ret->spec, &ret->tree);
}

static struct err *rows(struct call *call, struct answer *ret)
{
	CLEANUP(asked_free) struct asked asked;
	struct err *err = ask(call, 0, &asked);

	return err ? err : call_tree_rows(&asked.tree, ret);
}

static struct err *run(struct call *call)
{
	CLEANUP(asked_free) struct asked asked = { .tree.weight = 0 };
	struct older_look older;
	struct sites_when when;
	struct err *err;

	if (call->brief)
		return query_print_brief(call, rows);
	err = ask(call, LEAST, &asked);
	if (err)
		return err;
	when = (struct sites_when){
		.at = moments_chosen_name(&asked.query.at, asked.query.now_ns),
		.filtered = asked.query.filter.conds.nr,
		.idle = asked.query.all || site_sort_is_all_time(asked.query.sort),
	};
	err = query_sites_older(call, &asked.query, &older, &when.older);
	if (err)
		return err;
	err = tree_print(&asked.tree, &asked.spec, &when.at, call->out);
	return err ? err : sites_print_sums(&asked.query.names, &asked.query.sites, &when, false,
					    call->out);
}

static const struct twin twin = {
	.name		= "mdbg::tree",
	.brief		= "list of dicts: the places of `malloc tree`, depth first",
	.help		= "Without `limit` all places are there. total, totalbytes and freed are `-` with\n"
			  "`at`. For -each see `help mdbg::allocations`.\n",
	.of		= &call_relation,
	.rows		= rows,
};

const struct cmd cmd_malloc_tree = {
	.name		= "malloc tree",
	.usage		= "?callers? ?by function? ?all? ?FILTER? "
			  "?sort bytes|count|total|calls|callrate|temporary? ?limit N? ?at MOMENT?",
	.brief		= "what each function and all that it calls hold",
	.help		= "From the outermost caller on, each place has the bytes and blocks of all\n"
			  "allocations that were made below it, and their share; what it has called stands\n"
			  "below it, the largest first. A child that has nearly all of its parent is\n"
			  "printed below it without figures.\n"
			  "\n"
			  "`callers` is the other way round: it begins with the functions that allocate,\n"
			  "and below each are those that have called it. The allocator and its wrappers\n"
			  "are in no tree (`help set`, skip).\n"
			  "\n"
			  "A place is a line of a function; `by function` adds up all lines of a function.\n"
			  "The other words are those of `help malloc sites`. The sorts total, calls,\n"
			  "callrate and temporary are by allocations of all time, whether they are held or\n"
			  "were freed.\n"
			  "\n"
			  "`limit N` prints the N places with most. Without it those with less than 0.5 %\n"
			  "of all are left out.\n"
			  "\n"
			  "-brief prints a line for each place, with its depth.\n",
	.example	= "malloc tree by function limit 20\n"
			  "malloc tree callers sort temporary\n",
	.run		= run,
	.twin		= &twin,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_BRIEF,
	.complete	= COMPLETE_SITES,
};
