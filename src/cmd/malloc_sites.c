/* SPDX-License-Identifier: GPL-3.0-or-later */
/* malloc sites, mdbg::sites: add the blocks up by where they were allocated. */

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/query.h"
#include "cmd/values.h"
#include "report/sites.h"

static struct err *run(struct call *call)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_sites(call, &query);

	return err ? err :
		     sites_print(call->session, &query.names, query.by, &query.sites, call->out);
}

const struct cmd cmd_malloc_sites = {
	.name		= "malloc sites",
	.usage		= "?by stack|function|module|thread|size? ?FILTER? "
			  "?sort bytes|count|age|growth|rate? ?limit N?",
	.brief		= "the places that hold the most: blocks by traceback",
	.help		= "For each site: bytes and blocks that are held, their share, blocks\n"
			  "of all time and how many of them were freed (not known by thread and\n"
			  "by size), age of the oldest and of the median block, growth, and the\n"
			  "traceback (of the stack with most bytes, if several are added up).\n"
			  "By function and by module the first frame outside of the allocator\n"
			  "counts.\n"
			  "FILTER as in `help malloc allocations`.\n",
	.run		= run,
	.max_args	= CMD_ANY,
	.flags		= CMD_FILTER,
	.complete	= COMPLETE_SITES,
};

static void add_field(Tcl_Obj *dict, const struct site *site, const struct site_field *field)
{
	if (!field->key)
		return;
	if (field->unit == SITE_RATE)
		dict_double(dict, field->key, *(const double *)((const char *)site + field->at));
	else if (field->unit == SITE_AGE)
		dict_double(dict, field->key, (double)site_figure(site, field) / 1e9);
	else
		dict_number(dict, field->key, site_figure(site, field));
}

static struct err *site_dict(const struct call *call, const struct query *query,
			     const struct site *site, Tcl_Obj **ret)
{
	AUTO_STR struct str label = STR_INIT;
	struct err *err = site_label(call->session, &query->names, query->by, site, &label);
	Tcl_Obj *dict;

	if (err)
		return err;
	dict = Tcl_NewDictObj();
	dict_text(dict, "label", str_text(&label));
	for (size_t i = 0; i < site_fields_nr; i++)
		add_field(dict, site, &site_fields[i]);
	dict_number(dict, "stack", site->stack);
	*ret = dict;
	return NULL;
}

struct err *query_sites_value(const struct call *call, const struct query *query, Tcl_Obj **ret)
{
	struct err *err = NULL;
	Tcl_Obj *dict;

	*ret = Tcl_NewObj();
	for (size_t i = 0; !err && i < query->sites.vec.nr; i++) {
		err = site_dict(call, query, &query->sites.vec.at[i], &dict);
		if (!err)
			Tcl_ListObjAppendElement(NULL, *ret, dict);
	}
	return err;
}

static struct err *sites(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(query_free) struct query query;
	struct err *err = query_sites(call, &query);

	return err ? err : query_sites_value(call, &query, ret);
}

const struct cmd cmd_api_sites = {
	.name		= "mdbg::sites",
	.usage		= "?by stack|function|module|thread|size? ?FILTER? "
			  "?sort bytes|count|age|growth|rate? ?limit N?",
	.brief		= "list of dicts: the sites of `malloc sites`",
	.help		= "label (what it is, unless by stack) bytes count (held) total\n"
			  "totalbytes freed (all-time; 0 by thread and size, where it is not\n"
			  "known) oldest median (age, seconds) growth (bytes since recording\n"
			  "began) rate (bytes a second) stack.\n",
	.value		= sites,
	.max_args	= CMD_ANY,
};
