/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The facts of a process by which a free of an unknown block is judged. */

#include "probe/free_facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "agent/state.h"
#include "base/path.h"
#include "os/procfs.h"
#include "probe/probe.h"
#include "tracee/module.h"
#include "tracee/target.h"
#include "tracee/tcb.h"

/*
 * The kernel keeps other mappings at least this far below the end of the main thread's stack,
 * whatever its limit (MIN_GAP in the kernel's mmap_base).
 */
#define STACK_ROOM	(128ull << 20)

bool free_facts_is_libc(const struct module *module)
{
	return allocator_by_file(path_base(module->path)) == &allocator_glibc;
}

/* Can the state of this probe hide blocks from the log? */
static bool hides(const struct probe *probe, char *why, size_t room)
{
	const char *name = path_base(probe->module->path);
	const struct allocator *allocator = allocator_by_file(name);

	if (!probe_of_allocator(probe) || probe->fn->user || probe->module->died != UINT32_MAX)
		return false;
	if (!allocator || !allocator->frees_own) {
		snprintf(why, room, "%.60s has a %.60s of its own", name, probe->fn->name);
		return true;
	}
	if (!probe_records(probe) && probe->fn->role != ALLOC_FREE) {
		snprintf(why, room, "%.60s of %.60s is not probed", probe->fn->name, name);
		return true;
	}
	return false;
}

void free_facts_find_main_stack(struct probes *probes)
{
	const struct proc_maps *maps = &probes->maps;
	struct rlimit limit = { .rlim_cur = STACK_ROOM };
	struct proc_maps own = { VEC_INIT };
	uint64_t room = STACK_ROOM;

	if (!maps->vec.nr) {
		if (procfs_maps(probes->target->mem.tid, &own))
			return;
		maps = &own;
	}
	if (!prlimit(probes->target->pid, RLIMIT_STACK, NULL, &limit))
		room = MIN((uint64_t)limit.rlim_cur, STACK_ROOM);
	for (size_t i = 0; i < maps->vec.nr; i++) {
		const struct proc_map *map = &maps->vec.at[i];
		uint64_t below = i ? maps->vec.at[i - 1].end : 0;

		if (strcmp(map->path, "[stack]"))
			continue;
		probes->main_high = map->end;
		probes->main_low = MIN(MAX(map->end - room, below), map->start);
	}
	procparse_maps_free(&own);
}

void free_facts_learn(struct probes *probes)
{
	const struct modules *modules = &probes->target->modules;
	struct tcb tcb = { 0 };
	unsigned nr = 0;

	if (probes->state)
		tcb.stack_offset = probes->state->stack_offset;
	else
		tcb_derive(probes->target, &tcb);
	probes->stack_offset = probes->target->stack_offset = tcb.stack_offset;
	if (!probes->main_high)
		free_facts_find_main_stack(probes);

	memset(&probes->ledger.facts, 0, sizeof(probes->ledger.facts));
	probes->incomplete[0] = '\0';
	for (size_t i = 0; i < modules->live.nr && nr < UNKNOWN_FREE_LIBRARIES; i++) {
		const struct module *module = modules->live.at[i];

		if (!free_facts_is_libc(module) &&
		    strncmp(path_base(module->path), "libpthread", 10))
			continue;
		probes->ledger.facts.library[nr].start = module->exec_start;
		probes->ledger.facts.library[nr++].end = module->exec_end;
	}
	for (size_t i = 0; i < probes->all.nr; i++)
		if (hides(probes->all.at[i], probes->incomplete, sizeof(probes->incomplete)))
			return;
	probes->ledger.facts.complete = 1;
}
