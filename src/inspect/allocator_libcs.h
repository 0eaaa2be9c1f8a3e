/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Where the C libraries of a process have the data of their arenas, for looks at these without a
 * stop.
 */
#pragma once

#include "heap/heap_walk.h"

struct allocator;
struct module;
struct modules;
struct proc_maps;
struct target;

#define ALLOCATOR_DATA	4u	/* writable segments of a module */

struct allocator_libcs {
	/* an allocator's lie side by side; it can be looked at without a stop */
	struct heap_libc libc[HEAP_LIBCS_MAX];
	const struct allocator *allocator[HEAP_LIBCS_MAX];	/* of each */
	size_t nr;
	bool others;		/* there are allocators that can be walked, but not looked at so */
	struct heap_map data[HEAP_LIBCS_MAX][ALLOCATOR_DATA];
};

/* Tracer thread. *ret points to itself. */
void allocator_libcs_find(const struct modules *modules, struct allocator_libcs *ret);
/* The private mappings that can be written, in which all that is looked at lies. */
struct heap_maps {
	VEC(struct heap_map) vec;
};

/* *ret is empty before, and the caller frees it, also after an error. ERR_NOMEM. */
struct err *allocator_libcs_maps(const struct proc_maps *maps, struct heap_maps *ret) MUST_CHECK;
/* How many libcs from the first one on have the same allocator. */
size_t allocator_libcs_same(const struct allocator_libcs *libcs, size_t first);
/* Any thread: the address of this allocator's main arena in its module; 0: no symbol has it. */
uint64_t allocator_libcs_main_arena(const struct allocator *allocator, struct module *module);
/*
 * Tracer thread; the target may run. Does each chunk that is mapped on its own, as glibc counts them,
 * begin a mapping, as far as can be seen? Otherwise a walk looks for them at each page.
 */
bool allocator_libcs_mapped_known(const struct target *target);
/*
 * Tracer thread; the target may run. The sums of all allocators; `acquired` has no bytes of those that
 * count their blocks. ERR_UNSUPPORTED, ERR_NOTFOUND: there are no such arenas.
 */
struct err *allocator_libcs_pulse(const struct target *target,
				  struct heap_pulse *ret) MUST_CHECK;
