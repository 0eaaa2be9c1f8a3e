/* SPDX-License-Identifier: GPL-3.0-or-later */
/* tcmalloc. */

#include "probe/alloc_functions.h"

#include "heap/heap_walk.h"

static const struct alloc_function functions[] = {
	/* gperftools/tcmalloc.h */
	NEW("tc_malloc", "tc_malloc", 0),
	FREE("tc_free", "tc_free", 0),
	FREE("tc_free_sized", "tc_free_sized", 0),
	NEW_COUNT("tc_calloc", "tc_calloc", 0, 1),
	RESIZE("tc_realloc", "tc_realloc", 0, 1),
	NEW("tc_memalign", "tc_memalign", 1),
	BY_REF("tc_posix_memalign", "tc_posix_memalign", 0, 2),
	NEW("tc_valloc", "tc_valloc", 0),
	NEW("tc_pvalloc", "tc_pvalloc", 0),
};

const struct allocator allocator_tcmalloc = {
	.name		= "tcmalloc",
	.files		= { "libtcmalloc" },
	.walk		= tcmalloc_walk,
	.pulse		= tcmalloc_pulse,
	.ranges		= tcmalloc_ranges,
	.all_inside	= true,
	.spaced_from	= 17,
	.sign		= "TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES",
	.purge		= "MallocExtension_ReleaseFreeMemory",
	FUNCTIONS(functions),
};
