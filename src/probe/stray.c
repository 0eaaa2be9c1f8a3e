/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What must be known of a process to tell what a free of an unknown block is. */

#include "probe/stray.h"

#include <stdio.h>
#include <string.h>

#include "agent/state.h"
#include "arch/arch.h"
#include "base/path.h"
#include "os/procfs.h"
#include "probe/probe.h"
#include "target/module.h"
#include "target/target.h"
#include "target/tcb.h"

static bool begins(const char *name, const char *with)
{
	return !strncmp(name, with, strlen(with));
}

static bool is_libc(const char *name)
{
	return begins(name, "libc.so") || begins(name, "libc-2.");
}

bool stray_is_libc(const struct module *module)
{
	return is_libc(path_base(module->path));
}

/* Can what this probe says of its function, or the lack of it, hide a block? */
static bool hides(const struct probe *probe, char *why, size_t room)
{
	const char *name = path_base(probe->module->path);

	if (!probe->fn || probe->fn->user || probe->module->died != UINT32_MAX)
		return false;
	if (!is_libc(name) && !begins(name, "libjemalloc")) {
		snprintf(why, room, "%.60s has a %.60s of its own", name, probe->fn->name);
		return true;
	}
	if (!probe_records(probe) && probe->fn->role != ALLOC_FREE) {
		snprintf(why, room, "%.60s of %.60s is not probed", probe->fn->name, name);
		return true;
	}
	return false;
}

/* Of the first thread. */
static bool on_main_stack(const struct target *target, uint64_t sp, uint64_t address)
{
	struct proc_maps maps;
	bool on = false;

	if (procfs_maps(target->mem.tid, &maps))
		return false;
	for (size_t i = 0; i < maps.vec.nr; i++) {
		const struct proc_map *map = &maps.vec.at[i];

		on |= !strcmp(map->path, "[stack]") && sp >= map->start && address < map->end;
	}
	proc_maps_free(&maps);
	return on;
}

bool stray_on_stack(const struct probes *probes, const struct thread *thread, uint64_t address)
{
	struct target *target = thread->target;
	uint64_t sp = regs_get(&thread->regs, target->arch->sp), block[2];

	if (address < sp)
		return false;
	if (probes->stack_offset &&
	    !memory_read(&target->mem.memory,
			 regs_get(&thread->regs, target->arch->tp) + probes->stack_offset, block,
			 sizeof(block)) &&
	    sp - block[0] < block[1])
		return address - block[0] < block[1];
	return on_main_stack(target, sp, address);
}

void stray_learn(struct probes *probes)
{
	const struct modules *modules = &probes->target->modules;
	struct tcb tcb = { 0 };
	unsigned nr = 0;

	if (probes->state)
		tcb.stack_offset = probes->state->stack_offset;
	else
		tcb_derive(probes->target, &tcb);
	probes->stack_offset = tcb.stack_offset;

	memset(&probes->facts, 0, sizeof(probes->facts));
	probes->incomplete[0] = '\0';
	for (size_t i = 0; i < modules->live.nr && nr < STRAY_LIBRARIES; i++) {
		const struct module *module = modules->live.at[i];
		const char *name = path_base(module->path);

		if (!is_libc(name) && !begins(name, "libpthread"))
			continue;
		probes->facts.library[nr].start = module->exec_start;
		probes->facts.library[nr++].end = module->exec_end;
	}
	for (size_t i = 0; i < probes->all.nr; i++)
		if (hides(probes->all.at[i], probes->incomplete, sizeof(probes->incomplete)))
			return;
	probes->facts.complete = 1;
}
