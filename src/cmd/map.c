/* SPDX-License-Identifier: GPL-3.0-or-later */
/* map: the mappings of the process. */

#include "cmd/cmd.h"
#include "cmd/list.h"
#include "cmd/shell.h"
#include "os/procfs.h"
#include "report/table.h"

static struct err *print(const struct call *call, const struct proc_maps *maps)
{
	static const char *const titles[] = { "START", "END", "PERM", ">SIZE", ">OFFSET", "FILE" };
	struct table table;
	char protection[5];
	size_t i;

	table_init(&table, ARRAY_SIZE(titles), titles);
	for (i = 0; i < maps->vec.nr; i++) {
		const struct proc_map *map = &maps->vec.at[i];

		table_cell(&table, "0x%016llx", (unsigned long long)map->start);
		table_cell(&table, "0x%016llx", (unsigned long long)map->end);
		proc_map_protection(map, protection);
		table_cell(&table, "%s", protection);
		table_cell(&table, "%llu", (unsigned long long)(map->end - map->start));
		table_cell(&table, "0x%llx", (unsigned long long)map->offset);
		table_cell(&table, "%s%s", map->path, map->deleted ? " (deleted)" : "");
	}
	return table_print(&table, call->out);
}

static struct err *run(struct call *call)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = call_need_view(call);

	if (!err)
		err = session_maps(call->session, &maps);
	if (!err)
		err = print(call, &maps);
	proc_maps_free(&maps);
	return err;
}

const struct cmd cmd_map = {
	.name		= "map",
	.usage		= "",
	.brief		= "the mappings of the process",
	.help		= "In order of address; SIZE in bytes, OFFSET in the file. mdbg's own\n"
			  "(its log and its code) are among them while it is attached. PERM has a\n"
			  "? for what a core file does not tell.\n",
	.run		= run,
};
