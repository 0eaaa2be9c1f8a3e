/* SPDX-License-Identifier: GPL-3.0-or-later */
/* map, mdbg::maps: the mappings of the process. */

#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "cmd/cmd.h"
#include "cmd/shell.h"
#include "cmd/values.h"
#include "report/text_table.h"
#include "symbol/symbol.h"

static struct err *print(const struct call *call, const struct proc_maps *maps)
{
	static const char *const titles[] = { "START", "END", "PERM", ">SIZE", ">OFFSET", "FILE" };
	struct table table;
	char protection[5];

	table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each(map, &maps->vec) {
		table_cell(&table, "0x%016" PRIx64, map->start);
		table_cell(&table, "0x%016" PRIx64, map->end);
		proc_map_protection(map, protection);
		table_cell(&table, "%s", protection);
		table_cell(&table, "%" PRIu64, map->end - map->start);
		table_cell(&table, "0x%" PRIx64, map->offset);
		table_cell(&table, "%s%s", map->path, map->deleted ? " (deleted)" : "");
	}
	return table_print(&table, call->out);
}

static const char *const debug_names[] = {
	[SYMBOL_DEBUG_NONE] = "none",
	[SYMBOL_DEBUG_OWN] = "own",
	[SYMBOL_DEBUG_SEPARATE] = "separate",
};

static struct err *add_file(void *ctx, const struct symbol_file *file)
{
	struct table *table = ctx;

	table_cell(table, "%s", file->path);
	table_cell(table, "%s", debug_names[file->debug]);
	table_cell(table, "%s", *file->package ? file->package : "-");
	table_cell(table, "%s", *file->build_id ? file->build_id : "-");
	return NULL;
}

static struct err *print_files(const struct call *call)
{
	static const char *const titles[] = { "MODULE", "DEBUG", "INSTALL", "BUILD-ID" };
	struct table table;
	struct err *err;

	table_init(&table, ARRAY_SIZE(titles), titles);
	err = symbols_each_file(session_symbols(call->session), add_file, &table);
	if (err && !table.err)
		table.err = err;
	return table_print(&table, call->out);
}

static struct err *run(struct call *call)
{
	CLEANUP(proc_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err;

	if (call->argc && strcmp(call->argv[0], "-v"))
		return call_bad_word(call->argv[0]);
	err = session_maps(call->session, &maps);
	if (!err)
		err = print(call, &maps);
	if (!err && call->argc)
		out_text(call->out, "\n");
	return err || !call->argc ? err : print_files(call);
}

const struct cmd cmd_map = {
	.name		= "map",
	.usage		= "?-v?",
	.brief		= "the mappings of the process",
	.help		= "The mappings are in order of address. SIZE is in bytes, OFFSET is in the\n"
			  "file. mdbg's own mappings (its log and its code) are among them while it\n"
			  "is attached. PERM has a ? for what a core file does not tell.\n"
			  "-v lists the program and its libraries, and says whether there is debug\n"
			  "information for lines and inlined functions: in the file (own), in a\n"
			  "separate file, or none. INSTALL is Debian's package that has it; -dbgsym\n"
			  "packages are in an archive of their own. `set debuginfod on` gets the\n"
			  "files from a server instead.\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= 1,
};

static Tcl_Obj *map_dict(const struct proc_map *map)
{
	Tcl_Obj *dict = Tcl_NewDictObj();
	char perm[5];

	proc_map_protection(map, perm);
	dict_address(dict, "start", map->start);
	dict_address(dict, "end", map->end);
	dict_text(dict, "perm", perm);
	dict_number(dict, "offset", map->offset);
	dict_number(dict, "inode", map->inode);
	dict_text(dict, "path", map->path);
	dict_number(dict, "deleted", map->deleted);
	return dict;
}

static struct err *maps(struct call *call, Tcl_Obj **ret)
{
	CLEANUP(proc_maps_free) struct proc_maps list = { VEC_INIT };
	struct err *err = session_maps(call->session, &list);

	if (!err)
		*ret = value_list(&list.vec, map, map_dict(map));
	return err;
}

const struct cmd cmd_api_maps = {
	.name		= "mdbg::maps",
	.brief		= "list of dicts: the mappings",
	.help		= "Each dict has: start end perm (r-xp; ? for what a core file does not\n"
			  "tell) offset inode path deleted. They are in order of address.\n",
	.need		= call_need_view,
	.value		= maps,
};

static struct err *add_module(void *ctx, const struct symbol_file *file)
{
	Tcl_Obj *dict = Tcl_NewDictObj();

	dict_text(dict, "path", file->path);
	dict_text(dict, "debug", debug_names[file->debug]);
	dict_text(dict, "install", file->package);
	dict_text(dict, "buildid", file->build_id);
	Tcl_ListObjAppendElement(NULL, ctx, dict);
	return NULL;
}

static struct err *modules(struct call *call, Tcl_Obj **ret)
{
	Tcl_Obj *list = Tcl_NewListObj(0, NULL);
	struct err *err = symbols_each_file(session_symbols(call->session), add_module, list);

	if (err)
		Tcl_DecrRefCount(list);
	else
		*ret = list;
	return err;
}

const struct cmd cmd_api_modules = {
	.name		= "mdbg::modules",
	.brief		= "list of dicts: program and libraries, and their debug files",
	.help		= "Each dict has: path debug (own, separate, none) install (the package\n"
			  "that has the missing part, or empty) buildid.\n",
	.need		= call_need_view,
	.value		= modules,
};
