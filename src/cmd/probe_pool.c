/* SPDX-License-Identifier: GPL-3.0-or-later */
/* probe pool: the pools that mdbg knows, and the probes of one. */

#include <string.h>

#include "base/cleanup.h"
#include "cmd/probe_pool.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/script_file.h"
#include "cmd/shell/shell.h"
#include "probe/pools.h"
#include "report/text_table.h"
#include "session/pool/session_pools.h"

static struct err *list(struct call *call)
{
	static const char *const titles[] = { "POOL", "HERE", "PROBED", "WHAT" };
	struct session_pools is;
	struct table table;
	struct err *err = session_pools(call->session, &is);

	if (err)
		return err;
	text_table_init(&table, ARRAY_SIZE(titles), titles);
	for (unsigned i = 0; i < POOLS; i++) {
		text_table_cell(&table, "%s", pools[i].name);
		text_table_cell(&table, "%s", is.here & 1u << i ? "yes" : "no");
		text_table_cell(&table, "%s", is.probed & 1u << i ? "yes" : "no");
		text_table_cell(&table, "%s", pools[i].what);
	}
	return text_table_print(&table, call->out);
}

static const struct pool *find(const char *name)
{
	for (unsigned i = 0; i < POOLS; i++)
		if (!strcmp(pools[i].name, name))
			return &pools[i];
	return NULL;
}

/* NAME is a file of mdbg's own folder `pools`; with a slash it is a file of the user's. */
static struct err *find_file(struct call *call, const char *name, struct script *ret)
{
	AUTO_STR struct str own = STR_INIT;
	struct err *err;

	if (strchr(name, '/'))
		return script_file_find(call->shell, name, ret);
	err = str_addf(&own, "pools/%s.tcl", name);
	if (!err)
		err = script_file_own(str_text(&own), &ret->path);
	if (err || ret->path.len)
		return err;
	return err_hint(err_create(ERR_NOTFOUND, "no pool '%s'", name),
			"`probe pool` lists those that are known; ./FILE.tcl is one of your own");
}

/* Run the file of NAME. */
static struct err *record(struct call *call, const char *name)
{
	CLEANUP(script_file_free) struct script script = SCRIPT_INIT;
	struct err *err = find_file(call, name, &script);

	return err ? err : script_file_call(call, &script);
}

static struct err *run(struct call *call)
{
	const struct pool *pool;
	struct err *err;

	if (!call->argc)
		return list(call);
	err = record(call, call->argv[0]);
	if (err)
		return err;
	pool = find(call->argv[0]);
	if (pool && pool->lacks)
		out_f(call->out, "%s\n", pool->lacks);
	return NULL;
}

struct err *probe_pool_mapped(struct call *call)
{
	struct session_pools is;
	struct err *err = session_pools(call->session, &is);

	for (unsigned i = 0; !err && i < POOLS; i++) {
		if (!pools[i].lists || !(is.here & ~is.probed & 1u << i))
			continue;
		err = record(call, pools[i].name);
		if (!err)
			out_f(call->out, "%s (%s) lie in memory that is mapped for whoever needs more: "
					 "they are recorded, too, as by `probe pool %s`\n",
			      pools[i].what, pools[i].function, pools[i].name);
	}
	return err;
}

const struct cmd cmd_probe_pool = {
	.name		= "probe pool",
	.usage		= "?NAME|./FILE.tcl?",
	.brief		= "record the blocks of a known pool, or list the known ones",
	.help		= "A pool cuts many blocks out of one of malloc's. NAME is that of a file in\n"
			  "mdbg's folder scripts/pools, with `probe alloc` and `probe free` of its\n"
			  "functions:\n"
			  "    gslice     GLib before 2.76        pymalloc   CPython\n"
			  "    palloc     PostgreSQL              nginx      nginx\n"
			  "    apr        Apache's runtime        talloc     Samba's\n"
			  "    sqlite     SQLite\n"
			  "\n"
			  "A file of your own is one with a slash in its name. Blocks that were there\n"
			  "before have no record. Where a whole pool is freed by one call (palloc, nginx,\n"
			  "apr, talloc) its blocks stay listed.\n",
	.example	= "probe pool gslice\n"
			  "malloc sites heap == user limit 5\n",
	.need		= call_need_target,
	.run		= run,
	.max_args	= 1,
};
