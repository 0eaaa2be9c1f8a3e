/* SPDX-License-Identifier: GPL-3.0-or-later */
/* PHP: the Zend engine's memory manager, Zend/zend_alloc.c. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_php = {
	.name		= "PHP",
	.files		= { "libphp" },
	.symbols	= { "_emalloc" },
	.heap		= "PHP's own heap (Zend), unless it was started with USE_ZEND_ALLOC=0: it "
			  "is in chunks of 2 MB that the engine maps by itself",
	.help		= "memory_get_usage() has its size in a script; with USE_ZEND_ALLOC=0, set "
			  "when it is started, all of it is malloc's",
};
