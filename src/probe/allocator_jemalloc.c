/* SPDX-License-Identifier: GPL-3.0-or-later */
/* jemalloc. */

#include "probe/alloc_functions.h"

static const struct alloc_function functions[] = {
	/* jemalloc(3), "Non-standard API" */
	NEW("mallocx", "mallocx", 0),
	RESIZE("rallocx", "rallocx", 0, 1),
	FREE("dallocx", "dallocx", 0),
	FREE("sdallocx", "sdallocx", 0),
};

const struct allocator allocator_jemalloc = {
	.name		= "jemalloc",
	.files		= { "libjemalloc" },
	.frees_own	= true,
	FUNCTIONS(functions),
};
