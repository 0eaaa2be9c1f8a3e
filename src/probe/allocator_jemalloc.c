/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jemalloc. */

#include "probe/alloc_functions.h"

#include "heap/heap_walk.h"

/* jemalloc(3), "Non-standard API" */
#define OWN(prefix) \
	NEW(prefix "mallocx", prefix "mallocx", 0), \
	RESIZE(prefix "rallocx", prefix "rallocx", 0, 1), \
	FREE(prefix "dallocx", prefix "dallocx", 0), \
	FREE(prefix "sdallocx", prefix "sdallocx", 0)
/* "Standard API", as it is built by `configure --with-jemalloc-prefix` */
#define STANDARD(prefix) \
	NEW(prefix "malloc", prefix "malloc", 0), \
	NEW_COUNT(prefix "calloc", prefix "calloc", 0, 1), \
	RESIZE(prefix "realloc", prefix "realloc", 0, 1), \
	NEW(prefix "aligned_alloc", prefix "aligned_alloc", 1), \
	BY_REF(prefix "posix_memalign", prefix "posix_memalign", 0, 2), \
	NEW(prefix "memalign", prefix "memalign", 1), \
	NEW(prefix "valloc", prefix "valloc", 0), \
	FREE(prefix "free", prefix "free", 0)

static const struct alloc_function functions[] = {
	OWN(""),
	STANDARD("je_"), OWN("je_"),		/* redis, and others that have it in their source */
	STANDARD("_rjem_"), OWN("_rjem_"),	/* Rust: tikv-jemalloc-sys */
};

const struct allocator allocator_jemalloc = {
	.name		= "jemalloc",
	.files		= { "libjemalloc" },
	.built_in	= { "je_malloc", "_rjem_malloc" },
	.frees_own	= true,
	.spaced_from	= 17,
	.sign		= "<jemalloc>: ",
	.walk		= jemalloc_walk,
	.pulse		= jemalloc_pulse,
	.ranges		= jemalloc_ranges,
	.purge		= "mallctl",		/* jemalloc(3): all arenas */
	.purge_name	= "arena.4096.purge",
	FUNCTIONS(functions),
};
