/* SPDX-License-Identifier: GPL-3.0-or-later */
/* mimalloc. */

#include "probe/alloc_functions.h"

#include "heap/heap_walk.h"

static const struct alloc_function functions[] = {
	/* mimalloc.h */
	NEW("mi_malloc", "mi_malloc", 0),
	NEW("mi_zalloc", "mi_zalloc", 0),
	NEW("mi_malloc_small", "mi_malloc_small", 0),
	NEW("mi_zalloc_small", "mi_zalloc_small", 0),
	NEW_COUNT("mi_calloc", "mi_calloc", 0, 1),
	NEW_COUNT("mi_mallocn", "mi_mallocn", 0, 1),
	RESIZE("mi_realloc", "mi_realloc", 0, 1),
	RESIZE_COUNT("mi_reallocn", "mi_reallocn", 0, 1, 2),
	RESIZE_COUNT("mi_reallocarray", "mi_reallocarray", 0, 1, 2),
	NEW("mi_malloc_aligned", "mi_malloc_aligned", 0),
	NEW("mi_zalloc_aligned", "mi_zalloc_aligned", 0),
	RESIZE("mi_realloc_aligned", "mi_realloc_aligned", 0, 1),
	NEW("mi_memalign", "mi_memalign", 1),
	NEW("mi_aligned_alloc", "mi_aligned_alloc", 1),
	BY_REF("mi_posix_memalign", "mi_posix_memalign", 0, 2),
	FREE("mi_free", "mi_free", 0),
	FREE("mi_free_size", "mi_free_size", 0),
	FREE("mi_free_aligned", "mi_free_aligned", 0),
	FREE("mi_free_size_aligned", "mi_free_size_aligned", 0),
};

const struct allocator allocator_mimalloc = {
	.name		= "mimalloc",
	.files		= { "libmimalloc" },
	.all_inside	= true,
	.built_in	= { "mi_malloc" },
	.sign		= "mimalloc: error: ",
	.spaced_from	= 25,
	.purge		= "mi_collect",		/* of the thread that calls it, and of none */
	.purge_arg	= true,
	FUNCTIONS(functions),
	.walk		= mimalloc_walk,
	.pulse		= mimalloc_pulse,
	.ranges		= mimalloc_ranges,
};
