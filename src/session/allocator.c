/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds out which allocators the target uses, and which runtimes have a heap without them. */

#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "heap/heap_walk.h"
#include "probe/probe.h"
#include "session/private.h"
#include "tracee/target.h"

static void add_name(struct session_allocators *is, const char *text)
{
	size_t len = strlen(is->text);

	snprintf(is->text + len, sizeof(is->text) - len, "%s%s", len ? ", " : "", text);
}

static void name_allocator(struct session *session, struct module *module)
{
	struct session_allocators *is = &session->allocators;
	const struct allocator *allocator;
	char text[64];

	allocator = allocator_of(module, text, sizeof(text));
	add_name(is, text);
	if (!is->nr++)
		is->first = allocator;
	if (!allocator)		/* a static program's own may be */
		allocator = allocator_guess;
	if (!is->walkable && allocator->walk)
		is->walkable = allocator;
}

/* The allocator is in the program itself, beside the malloc of the C library. */
static void name_built_in(struct session *session, const struct module *module, const char *symbol)
{
	const struct allocator *allocator = allocator_built_in(symbol);
	const char *file = path_base(module->path);
	char text[64];

	if (!allocator || allocator_by_file(file) == allocator)
		return;
	snprintf(text, sizeof(text), "%s (in %.40s)", allocator->name, file);
	add_name(&session->allocators, text);
	session->allocators.others++;
}

/* A core file has no probes: take any module that has a malloc. */
static struct err *allocator_job(struct session *session, void *arg UNUSED)
{
	const struct target *target = session->current->target;
	struct probes *probes = session->current->probes;

	session->allocators = (struct session_allocators){ .nr = 0 };
	for (size_t i = 0; target->core && i < target->modules.live.nr; i++)
		if (allocator_defined(target->modules.live.at[i]))
			name_allocator(session, target->modules.live.at[i]);
	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe->fn && !strcmp(probe->fn->symbol, "malloc") &&
		    probe->module->died == UINT32_MAX)
			name_allocator(session, probe->module);
	}
	for (size_t i = 0; probes && i < probes->all.nr; i++) {
		const struct probe *probe = probes->all.at[i];

		if (probe_of_allocator(probe) && !probe->fn->user &&
		    probe->module->died == UINT32_MAX)
			name_built_in(session, probe->module, probe->fn->symbol);
	}
	return NULL;
}

const struct session_allocators *session_allocators(struct session *session)
{
	if (!session->allocators.nr)
		err_ignore(session_call(session, allocator_job, NULL));
	return &session->allocators;
}

const char *session_allocator(struct session *session)
{
	return *session_allocators(session)->text ? session->allocators.text : "unknown";
}

static struct err *runtimes_job(struct session *session, void *arg UNUSED)
{
	const struct target *target = session->current->target;
	struct session_runtimes *runtimes = &session->runtimes;

	if (!target || (runtimes->pid == target->pid &&
			runtimes->generation == target->modules.generation))
		return NULL;
	runtimes_find(&target->modules, &runtimes->found);
	runtimes->pid = target->pid;
	runtimes->generation = target->modules.generation;
	return NULL;
}

struct err *session_runtimes(struct session *session, const struct runtimes **ret)
{
	struct err *err = session_call(session, runtimes_job, NULL);

	if (!err)
		*ret = &session->runtimes.found;
	return err;
}

uint64_t allocator_main_arena(const struct allocator *allocator, struct module *module)
{
	uint64_t address, size;

	/* Most libcs have no symbol table. */
	if (!allocator->arena || module_symbol(module, allocator->arena, &address, &size))
		return 0;
	return address;
}

size_t allocator_data(const struct module *module, struct heap_map *ret, size_t most)
{
	const struct elf_segment *segment;
	size_t nr = 0, nr_data = 0;

	segment = module->elf ? elf_file_segments(module->elf, &nr) : NULL;
	for (size_t i = 0; i < nr && nr_data < most; i++)
		if (segment[i].write)
			ret[nr_data++] = (struct heap_map){
				/* The words of an arena are aligned. */
				.start = ALIGN_UP(module->bias + segment[i].vaddr, sizeof(uint64_t)),
				.end = module->bias + segment[i].vaddr + segment[i].memsz,
			};
	return nr_data;
}
