/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the data of C libraries (allocator_libcs.h). */

#include "inspect/allocator_libcs.h"

#include <string.h>

#include "os/procfs.h"
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
	ret->nr = 0;
	ret->others = false;
	for (unsigned i = 0; i < walkable.nr; i++) {
		const struct walkable_module *of = &walkable.at[i];
		struct heap_map *data = ret->data[ret->nr];

		if (!of->allocator->ranges) {
			ret->others = true;
			continue;
		}
		ret->allocator[ret->nr] = of->allocator;
		ret->libc[ret->nr++] = (struct heap_libc){
			.data = data, .nr_data = data_of(of->module, data),
			.main_arena = allocator_libcs_main_arena(of->allocator, of->module),
		};
	}
}

size_t allocator_libcs_same(const struct allocator_libcs *libcs, size_t first)
{
	size_t nr = 1;

	while (first + nr < libcs->nr && libcs->allocator[first + nr] == libcs->allocator[first])
		nr++;
	return nr;
}

struct err *allocator_libcs_maps(const struct proc_maps *maps, struct heap_maps *ret)
{
	struct err *err = NULL;

	vec_each_while(map, &maps->vec, !err) {
		if (map->read && map->write && !map->shared)
			err = vec_push(&ret->vec, ((struct heap_map){
				map->start, map->end, !strcmp(map->path, "[heap]"),
				procparse_map_is_anonymous(map) }));
	}
	return err;
}

static struct err *read_maps(const struct target *target, struct heap_maps *ret)
{
	struct proc_maps maps = { VEC_INIT };
	struct err *err = procfs_maps(target->pid, &maps);

	if (!err)
		err = allocator_libcs_maps(&maps, ret);
	procparse_maps_free(&maps);
	return err;
}

static void add_pulse(struct heap_pulse *to, const struct heap_pulse *pulse)
{
	to->sum ^= pulse->sum;
	to->acquired += pulse->counted ? 0 : pulse->acquired;
	to->blocks += pulse->blocks;
	to->counted |= pulse->counted;
}

struct err *allocator_libcs_pulse(const struct target *target, struct heap_pulse *ret)
{
	struct heap_source source = { .memory = target->memory };
	struct allocator_libcs libcs;
	struct heap_maps maps = { VEC_INIT };
	struct err *err = NULL, *lacks = NULL;
	bool any = false;

	*ret = (struct heap_pulse){ .sum = 0 };
	allocator_libcs_find(&target->modules, &libcs);
	for (size_t i = 0; i < libcs.nr && !err; i += source.nr_libcs) {
		struct heap_pulse pulse;

		source.libc = &libcs.libc[i];
		source.nr_libcs = allocator_libcs_same(&libcs, i);
		if (!libcs.allocator[i]->pulse || !source.libc->nr_data)
			continue;
		/* glibc's arenas lead to one another. */
		if (libcs.allocator[i] != &allocator_glibc && !source.nr_maps) {
			err = read_maps(target, &maps);
			if (err)
				break;
			source.map = maps.vec.at;
			source.nr_maps = maps.vec.nr;
		}
		lacks = libcs.allocator[i]->pulse(&source, &pulse);
		any |= !lacks;
		if (!lacks)
			add_pulse(ret, &pulse);
	}
	vec_free(&maps.vec);
	if (err || any)
		return err;
	return lacks ? lacks : err_create(ERR_UNSUPPORTED, "no heaps that are known");
}

bool allocator_libcs_mapped_known(const struct target *target)
{
	struct heap_source source = { .memory = target->memory };
	struct allocator_libcs libcs;
	struct heap_maps maps = { VEC_INIT };
	struct err *err = read_maps(target, &maps);
	bool known = !err;

	source.map = maps.vec.at;
	source.nr_maps = maps.vec.nr;
	allocator_libcs_find(&target->modules, &libcs);
	for (size_t i = 0; i < libcs.nr && known; i += source.nr_libcs) {
		struct heap_ranges ranges = { .vec = VEC_INIT };

		source.libc = &libcs.libc[i];
		source.nr_libcs = allocator_libcs_same(&libcs, i);
		if (libcs.allocator[i] != &allocator_glibc || !source.libc->nr_data)
			continue;
		known = !glibc_ranges(&source, &ranges) && (ranges.whole || !ranges.vec.nr);
		heap_ranges_free(&ranges);
	}
	vec_free(&maps.vec);
	return known;
}
