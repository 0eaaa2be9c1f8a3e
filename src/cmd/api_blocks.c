/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mdbg::allocations, sites: blocks and sites as dicts. */

#include "base/cancel.h"
#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/query.h"
#include "cmd/shell.h"
#include "cmd/values.h"
#include "log/log.h"
#include "report/sites.h"

static double age_of(const struct query *query, uint64_t realtime_ns)
{
	return query->now_ns > realtime_ns ? (double)(query->now_ns - realtime_ns) / 1e9 : 0;
}

static void add_origin(Tcl_Obj *dict, const struct log *log, const struct query *query,
		       const struct block *block)
{
	struct log_thread_view thread = log_thread_get(log, block->thread);
	uint64_t realtime = log_clock_realtime(log, block->time);

	if (thread.lwp)
		dict_number(dict, "thread", thread.lwp);
	else
		dict_text(dict, "thread", "-");
	if (thread.thread_pointer)
		dict_address(dict, "pthread", thread.thread_pointer);
	else
		dict_text(dict, "pthread", "-");
	dict_double(dict, "time", (double)realtime / 1e9);
	dict_double(dict, "age", age_of(query, realtime));
	dict_number(dict, "seq", log_seq(log, block->time));
}

static void add_no_origin(Tcl_Obj *dict)
{
	static const char *const keys[] = { "thread", "pthread", "time", "age", "seq" };
	size_t i;

	for (i = 0; i < ARRAY_SIZE(keys); i++)
		dict_text(dict, keys[i], "-");
}

static Tcl_Obj *block_dict(const struct call *call, const struct query *query,
			   const struct block *block)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_address(dict, "address", block->address);
	dict_number(dict, "size", block->size);
	if (block->heap == LOG_HEAP_UNKNOWN)
		dict_text(dict, "heap", "-");
	else if (block->heap == LOG_HEAP_MMAP)
		dict_text(dict, "heap", "mmap");
	else if (block->heap == LOG_HEAP_USER)
		dict_text(dict, "heap", "user");
	else
		dict_number(dict, "heap", block->heap);
	dict_number(dict, "pid", (uint64_t)session_pids(call->session)[block->process]);
	if (block->preattach)
		add_no_origin(dict);
	else
		add_origin(dict, session_log(call->session), query, block);
	dict_number(dict, "preattach", block->preattach);
	dict_number(dict, "stack", block->stack);
	return dict;
}

static struct err *allocations(struct call *call, Tcl_Obj **ret)
{
	struct query query;
	struct err *err = query_blocks(call, &query);
	Tcl_Obj *list = Tcl_NewObj();
	const struct block *block;
	size_t i = 0;

	if (!err)
		err = list_next(query.list, &block);
	while (!err && block) {
		Tcl_ListObjAppendElement(NULL, list, block_dict(call, &query, block));
		if (i++ % 1024 == 0)
			err = cancel_check();
		if (!err)
			err = list_next(query.list, &block);
	}
	query_free(&query);
	if (err)
		Tcl_DecrRefCount(list);
	else
		*ret = list;
	return err;
}

const struct cmd cmd_api_allocations = {
	.name		= "mdbg::allocations",
	.usage		= "?FILTER? ?sort ATTR ?up?? ?limit N?",
	.brief		= "list of dicts: the blocks of `malloc allocations`",
	.help		= "address size heap pid thread pthread time age (seconds) seq\n"
			  "preattach stack.\n"
			  "What is not known is -. stack is for mdbg::frames; equal stacks are\n"
			  "equal.\n"
			  "Words as in `help malloc allocations`.\n",
	.value		= allocations,
	.max_args	= CMD_ANY,
};

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
	dict_number(dict, "bytes", site->bytes);
	dict_number(dict, "count", site->count);
	dict_number(dict, "total", site->total);
	dict_number(dict, "totalbytes", site->total_bytes);
	dict_number(dict, "freed", site->freed);
	dict_double(dict, "oldest", (double)site->oldest / 1e9);
	dict_double(dict, "median", (double)site->median / 1e9);
	dict_number(dict, "growth", site->bytes);
	dict_double(dict, "rate", site->rate);
	dict_number(dict, "stack", site->stack);
	*ret = dict;
	return NULL;
}

static struct err *sites_value(struct call *call, struct query *query, struct err *err,
			       Tcl_Obj **ret)
{
	Tcl_Obj *list = Tcl_NewObj(), *dict;
	size_t i;

	for (i = 0; !err && i < query->sites.vec.nr; i++) {
		err = site_dict(call, query, &query->sites.vec.at[i], &dict);
		if (!err)
			Tcl_ListObjAppendElement(NULL, list, dict);
	}
	query_free(query);
	if (err)
		Tcl_DecrRefCount(list);
	else
		*ret = list;
	return err;
}

static struct err *sites(struct call *call, Tcl_Obj **ret)
{
	struct query query;
	struct err *err = query_sites(call, &query);

	return sites_value(call, &query, err, ret);
}

static struct err *stale(struct call *call, Tcl_Obj **ret)
{
	struct query query;
	struct err *err = query_stale(call, &query);

	return sites_value(call, &query, err, ret);
}

const struct cmd cmd_api_stale = {
	.name		= "mdbg::stale",
	.usage		= "AGE",
	.brief		= "list of dicts: the sites of `malloc stale`",
	.help		= "As of mdbg::sites; bytes, count, oldest and median are of the old blocks\n"
			  "alone, total and freed of all that was ever recorded there.\n",
	.value		= stale,
	.min_args	= 1,
	.max_args	= 1,
};

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
