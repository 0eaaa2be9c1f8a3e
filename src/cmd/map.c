/* SPDX-License-Identifier: GPL-3.0-or-later */
/* map, mdbg::maps: the mappings of the process. */

#include "base/cleanup.h"
#include "cmd/cmd.h"

#include <inttypes.h>
#include "cmd/shell.h"
#include "cmd/values.h"
#include "report/text_table.h"

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

static struct err *run(struct call *call)
{
	CLEANUP(proc_maps_free) struct proc_maps maps = { VEC_INIT };
	struct err *err = session_maps(call->session, &maps);

	return err ? err : print(call, &maps);
}

const struct cmd cmd_map = {
	.name		= "map",
	.brief		= "the mappings of the process",
	.help		= "In order of address; SIZE in bytes, OFFSET in the file. mdbg's own\n"
			  "(its log and its code) are among them while it is attached. PERM has a\n"
			  "? for what a core file does not tell.\n",
	.need		= call_need_view,
	.run		= run,
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
	.help		= "start end perm (r-xp; ? for what a core file does not tell) offset\n"
			  "inode path deleted; in order of address.\n",
	.need		= call_need_view,
	.value		= maps,
};
