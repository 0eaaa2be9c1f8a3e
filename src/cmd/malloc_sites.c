/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc sites, mdbg::sites: add the blocks up by where they were allocated. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/each.h"
#include "cmd/query.h"
#include "cmd/values.h"
#include "report/sites.h"
#include "session/session.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_sites(call, &query);
	struct sites_when when;

	if (err)
		return err;
	when.since = chosen_moment_name(&query.since, query.now_ns);
	when.at = chosen_moment_name(&query.at, query.now_ns);
	return sites_print(&query.names, query.by, &query.sites, &when, call->out);
}

const struct cmd cmd_malloc_sites = {
	.name		= "malloc sites",
	.usage		= "?by stack|function|line|module|thread|size? ?FILTER? "
			  "?sort bytes|count|age|growth|rate? ?limit N? "
			  "?since MOMENT? ?at MOMENT?",
	.brief		= "the places that hold the most: blocks by traceback",
	.help		= "Each site has: the bytes and blocks that are held, their share, the\n"
			  "blocks and bytes of all time and how many of them were freed (not known\n"
			  "by thread and by size), the age of the oldest and of the median block,\n"
			  "growth, and the traceback (if several stacks are added up, that of the\n"
			  "stack with the most bytes). The line `in NAME` has the first frame that\n"
			  "is the program's own: the allocator and its wrappers are passed over\n"
			  "(`help set`, skip). By function, line and module, that frame decides\n"
			  "where a block is counted. If its line is not known, the block is counted\n"
			  "under its function.\n"
			  "Growth is what the site's stacks hold now, less what they held 10 s ago\n"
			  "(in the first seconds: 2 s ago or more), or at the MOMENT of `since`. It\n"
			  "is `-` in the first 2 s after an attach, `malloc reset` or `malloc on`,\n"
			  "and by thread and by size. It may be negative. `sort rate` (growth a\n"
			  "second) gives the same order as `sort growth`.\n"
			  "`at MOMENT` shows the bytes and blocks that each site held at an earlier\n"
			  "moment, and with `since` the growth up to that moment. Everything else is\n"
			  "left out, because it is not known of an earlier moment; it cannot be in\n"
			  "FILTER either. For MOMENT see `help malloc diff`. FILTER is as in `help\n"
			  "malloc allocations`.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_SITES,
};

/* The sites of an answer for scripts. They do not need the session that they come from. */
struct site_values {
	struct sites sites;
	VEC(Tcl_Obj *) labels;
	VEC(uint32_t) owns;	/* by site: its function's place in functions, from 1; 0: not known */
	VEC(Tcl_Obj *) functions;
	struct dicts dicts;
};

static void site_values_free(struct site_values *sites)
{
	vec_each_value(label, &sites->labels)
		Tcl_DecrRefCount(label);
	vec_free(&sites->labels);
	vec_free(&sites->owns);
	vec_each_value(function, &sites->functions)
		Tcl_DecrRefCount(function);
	vec_free(&sites->functions);
	sites_free(&sites->sites);
	dicts_free(&sites->dicts);
}

static struct err *take_label(const struct call *call, const struct query *query,
			      const struct site *site, struct site_values *ret)
{
	AUTO_STR struct str text = STR_INIT;
	struct err *err = site_label(call->session, &query->names, query->by, site, &text);
	Tcl_Obj *label;

	if (!err)
		err = vec_reserve(&ret->labels, 1);
	if (err)
		return err;
	label = Tcl_NewStringObj(str_text(&text), -1);
	Tcl_IncrRefCount(label);
	ret->labels.at[ret->labels.nr++] = label;
	return NULL;
}

/* Take the function that the site is named after. New keys come in order, from 1 on. */
static struct err *take_function(struct stack_names *names, const struct site *site,
				 struct site_values *ret)
{
	uint32_t key = (uint32_t)stack_names_key(names, site->stack, SITE_FUNCTION);
	struct err *err = vec_reserve(&ret->functions, 1);
	Tcl_Obj *function;

	if (!err)
		err = vec_push(&ret->owns, key);
	if (err || key <= ret->functions.nr)
		return err;
	function = Tcl_NewStringObj(stack_names_name(names, key), -1);
	Tcl_IncrRefCount(function);
	ret->functions.at[ret->functions.nr++] = function;
	return NULL;
}

static struct err *take_functions(struct session *session, struct site_values *ret)
{
	struct stack_names names;
	struct err *err = NULL;

	stack_names_init(&names, session);
	for (size_t i = 0; !err && i < ret->sites.vec.nr; i++)
		err = take_function(&names, &ret->sites.vec.at[i], ret);
	stack_names_free(&names);
	return err;
}

/* Take the sites out of the query, whose memory is freed before a script runs. */
static struct err *take_sites(struct call *call,
			      struct err *(*ask)(const struct call *call, struct query *query),
			      struct site_values *ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = ask(call, &query);

	if (err)
		return err;
	ret->sites = query.sites;
	memset(&query.sites, 0, sizeof(query.sites));
	err = dicts_init(&ret->dicts);
	for (size_t i = 0; !err && query.by != SITE_STACK && i < ret->sites.vec.nr; i++)
		err = take_label(call, &query, &ret->sites.vec.at[i], ret);
	return err ? err : take_functions(call->session, ret);
}

/* Add one of the figures that are known only with growth. */
static void add_growth(struct dicts *dicts, const struct sites *sites, const struct site *site,
		       const struct site_field *field)
{
	if (field->unit == SITE_GROWTH)
		dicts_value(dicts, field->key, Tcl_NewWideIntObj(site->growth));
	else
		dicts_double(dicts, field->key, field->unit == SITE_RATE ? site->rate :
			     (double)sites->growth_ns / 1e9);
}

static void add_field(struct dicts *dicts, const struct sites *sites, const struct site *site,
		      const struct site_field *field)
{
	if (!field->key)
		return;
	if (!site_figure_known(sites, field))
		dicts_text(dicts, field->key, "-");
	else if (field->unit >= SITE_GROWTH && field->unit <= SITE_OVER)
		add_growth(dicts, sites, site, field);
	else if (field->unit == SITE_AGE)
		dicts_double(dicts, field->key, (double)site_figure(site, field) / 1e9);
	else
		dicts_number(dicts, field->key, site_figure(site, field));
}

static Tcl_Obj *site_dict(void *ctx, size_t nr)
{
	struct site_values *sites = ctx;
	const struct site *site = &sites->sites.vec.at[nr];
	struct dicts *dicts = &sites->dicts;

	if (nr < sites->labels.nr)
		dicts_value(dicts, "label", sites->labels.at[nr]);
	else
		dicts_text(dicts, "label", "");
	for (size_t i = 0; i < site_fields_nr; i++)
		add_field(dicts, &sites->sites, site, &site_fields[i]);
	dicts_number(dicts, "stack", site->stack);
	if (sites->owns.at[nr])
		dicts_value(dicts, "function", sites->functions.at[sites->owns.at[nr] - 1]);
	else
		dicts_text(dicts, "function", "");
	return dicts_end(dicts);
}

struct err *query_sites_value(struct call *call,
			      struct err *(*ask)(const struct call *call, struct query *query),
			      Tcl_Obj **ret)
{
	CLEANUP(site_values_free) struct site_values sites = { .labels = VEC_INIT };
	struct err *err = take_sites(call, ask, &sites);

	return err ? err : each_give(call, sites.sites.vec.nr, site_dict, &sites, ret);
}

static struct err *sites(struct call *call, Tcl_Obj **ret)
{
	return query_sites_value(call, query_sites, ret);
}

const struct cmd cmd_api_sites = {
	.name		= "mdbg::sites",
	.usage		= "?by stack|function|line|module|thread|size? ?FILTER? "
			  "?sort bytes|count|age|growth|rate? ?limit N? ?since MOMENT? "
			  "?at MOMENT? ?-each VAR BODY?",
	.brief		= "list of dicts: the sites of `malloc sites`",
	.help		= "    label              the name of the site; empty by stack\n"
			  "    bytes count        held\n"
			  "    total totalbytes freed freedbytes    all-time; 0 by thread and size,\n"
			  "                                         where they are not known\n"
			  "    oldest median      ages in seconds\n"
			  "    growth rate over   signed bytes, bytes a second, and the seconds\n"
			  "    stack\n"
			  "    function           that of the line `in NAME` of `malloc sites`\n"
			  "growth, rate and over are `-` if growth is not known: see `help malloc\n"
			  "sites`. With `at`, so are total, totalbytes, freed, oldest and median.\n"
			  "For -each see `help mdbg::allocations`.\n",
	.value		= sites,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER | CMD_EACH,
	.complete	= COMPLETE_SITES,
};
