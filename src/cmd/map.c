/* SPDX-License-Identifier: GPL-3.0-or-later */
/* map, mdbg::maps: the mappings of the process. */

#include <inttypes.h>
#include <string.h>

#include "answer/answer.h"
#include "base/cleanup.h"
#include "cmd/shell/cmd.h"
#include "cmd/shell/shell.h"
#include "report/text_table.h"
#include "symbol/symbol.h"

static struct err *print(const struct call *call, const struct proc_maps *maps)
{
	static const char *const titles[] = { "START", "END", "PERM", ">SIZE", ">OFFSET", "FILE" };
	struct table table;
	char protection[5];

	text_table_init(&table, ARRAY_SIZE(titles), titles);
	vec_each(map, &maps->vec) {
		text_table_cell(&table, "0x%016" PRIx64, map->start);
		text_table_cell(&table, "0x%016" PRIx64, map->end);
		procparse_map_protection(map, protection);
		text_table_cell(&table, "%s", protection);
		text_table_cell(&table, "%" PRIu64, map->end - map->start);
		text_table_cell(&table, "0x%" PRIx64, map->offset);
		text_table_cell(&table, "%s%s", map->path, map->deleted ? " (deleted)" : "");
	}
	return text_table_print(&table, call->out);
}

static const char *const debug_names[] = {
	[SYMBOL_DEBUG_NONE] = "none",
	[SYMBOL_DEBUG_OWN] = "own",
	[SYMBOL_DEBUG_SEPARATE] = "separate",
};

static struct err *add_file(void *ctx, const struct symbol_file *file)
{
	struct table *table = ctx;

	text_table_cell(table, "%s", file->path);
	text_table_cell(table, "%s", debug_names[file->debug]);
	text_table_cell(table, "%s", *file->package ? file->package : "-");
	text_table_cell(table, "%s", *file->build_id ? file->build_id : "-");
	return NULL;
}

static struct err *print_files(const struct call *call)
{
	static const char *const titles[] = { "MODULE", "DEBUG", "INSTALL", "BUILD-ID" };
	struct table table;
	struct err *err;

	text_table_init(&table, ARRAY_SIZE(titles), titles);
	err = symbol_file_each(session_symbols(call->session), add_file, &table);
	if (err && !table.err)
		table.err = err;
	return text_table_print(&table, call->out);
}

static struct err *run(struct call *call)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
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
	.help		= "The mappings are in order of address. SIZE is in bytes, OFFSET is in the file.\n"
			  "mdbg's own mappings (its log and its code) are among them while it is\n"
			  "attached. PERM has a ? for what a core file does not tell.\n"
			  "\n"
			  "-v lists the program and its libraries, and says whether there is debug\n"
			  "information for lines and inlined functions: in the file (own), in a separate\n"
			  "file, or none. INSTALL is Debian's package that has it; -dbgsym packages are\n"
			  "in an archive of their own. `set debuginfod on` gets the files from a server\n"
			  "instead.\n",
	.need		= call_need_view,
	.run		= run,
	.max_args	= 1,
};

struct map_row {
	uint64_t start, end, offset, inode;
	const char *perm, *path;
	bool deleted;
};

#define MAP(kind, member)	COLUMN(kind, struct map_row, member)

static const struct column map_columns[] = {
	{ "start", "START", NULL, MAP(ADDRESS, start) },
	{ "end", "END", NULL, MAP(ADDRESS, end) },
	{ "perm", "PERM", "r-xp; ? for what a core file does not tell", MAP(TEXT, perm) },
	{ "offset", ">OFFSET", "in the file", MAP(NUMBER, offset) },
	{ "inode", NULL, NULL, MAP(NUMBER, inode) },
	{ "path", "FILE", NULL, MAP(TEXT, path) },
	{ "deleted", NULL, "1: the file has no name any more", MAP(NUMBER, deleted) },
};

static const struct relation map_relation = RELATION("maps", map_columns, struct map_row);

static struct err *map_rows(struct call *call, struct answer *ret)
{
	CLEANUP(procparse_maps_free) struct proc_maps list = { VEC_INIT };
	struct err *err = session_maps(call->session, &list);
	char perm[5];

	*ret = (struct answer)ANSWER_KEPT(&map_relation);
	vec_each_while(map, &list.vec, !err) {
		procparse_map_protection(map, perm);
		err = answer_add(ret, &(struct map_row){ map->start, map->end, map->offset,
							 map->inode, perm, map->path,
							 map->deleted });
	}
	return err;
}

const struct cmd cmd_api_maps = {
	.name		= "mdbg::maps",
	.brief		= "list of dicts: the mappings",
	.help		= "They are in order of address.\n",
	.of		= &map_relation,
	.need		= call_need_view,
	.rows		= map_rows,
};

struct module_row {
	const char *path, *debug, *install, *build_id;
};

static const struct column module_columns[] = {
	{ "path", "MODULE", NULL, COLUMN(TEXT, struct module_row, path) },
	{ "debug", "DEBUG", "own, separate, none", COLUMN(TEXT, struct module_row, debug) },
	{ "install", "INSTALL", "the package that has the missing part, or empty",
	  COLUMN(TEXT, struct module_row, install) },
	{ "buildid", "BUILD-ID", NULL, COLUMN(TEXT, struct module_row, build_id) },
};

static const struct relation module_relation = RELATION("modules", module_columns,
							struct module_row);

static struct err *add_module(void *ctx, const struct symbol_file *file)
{
	return answer_add(ctx, &(struct module_row){ file->path, debug_names[file->debug],
						     file->package, file->build_id });
}

static struct err *module_rows(struct call *call, struct answer *ret)
{
	*ret = (struct answer)ANSWER_KEPT(&module_relation);
	return symbol_file_each(session_symbols(call->session), add_module, ret);
}

const struct cmd cmd_api_modules = {
	.name		= "mdbg::modules",
	.brief		= "list of dicts: program, libraries, and their debug files",
	.of		= &module_relation,
	.need		= call_need_view,
	.rows		= module_rows,
};
