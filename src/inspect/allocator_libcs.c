/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the data of C libraries (allocator_libcs.h). */

#include "inspect/allocator_libcs.h"

#include "probe/allocators.h"
#include "tracee/target.h"

_Static_assert(WALKABLE_MAX == HEAP_LIBCS_MAX, "the modules are the libcs of a walk");

uint64_t allocator_libcs_main_arena(const struct allocator *allocator, struct module *module)
{
	uint64_t address, size;

	/* Most libcs have no symbol table. */
	if (!allocator->arena || module_symbol(module, allocator->arena, &address, &size))
		return 0;
	return address;
}

static size_t data_of(const struct module *module, struct heap_map ret[ALLOCATOR_DATA])
{
	const struct elf_segment *segment;
	size_t nr = 0, nr_data = 0;

	segment = module->elf ? elf_file_segments(module->elf, &nr) : NULL;
	for (size_t i = 0; i < nr && nr_data < ALLOCATOR_DATA; i++)
		if (segment[i].write)
			ret[nr_data++] = (struct heap_map){
				/* The words of an arena are aligned. */
				.start = ALIGN_UP(module->bias + segment[i].vaddr, sizeof(uint64_t)),
				.end = module->bias + segment[i].vaddr + segment[i].memsz,
			};
	return nr_data;
}

void allocator_libcs_find(const struct modules *modules, struct allocator_libcs *ret)
{
	struct walkable walkable;

	allocators_to_walk(modules, &walkable);
	ret->allocator = NULL;
	ret->nr = 0;
	for (unsigned i = 0; i < walkable.nr; i++) {
		const struct walkable_module *of = &walkable.at[i];
		struct heap_map *data = ret->data[ret->nr];

		if (!of->allocator->ranges || (ret->allocator && ret->allocator != of->allocator))
			continue;
		ret->allocator = of->allocator;
		ret->libc[ret->nr++] = (struct heap_libc){
			.data = data, .nr_data = data_of(of->module, data),
			.main_arena = allocator_libcs_main_arena(of->allocator, of->module),
		};
	}
}

struct err *allocator_libcs_pulse(const struct target *target, struct heap_pulse *ret)
{
	struct heap_source source = { .memory = target->memory };
	struct allocator_libcs libcs;

	allocator_libcs_find(&target->modules, &libcs);
	if (!libcs.allocator || !libcs.allocator->pulse)
		return err_create(ERR_UNSUPPORTED, "no heaps that are known");
	if (!libcs.libc[0].nr_data)
		return err_create(ERR_NOTFOUND, "libc has no data");
	source.libc = libcs.libc;
	source.nr_libcs = libcs.nr;
	return libcs.allocator->pulse(&source, ret);
}
