/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ruby: its collector's pages of objects, gc.c. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_ruby = {
	.name		= "Ruby",
	.files		= { "libruby" },
	.symbols	= { "rb_gc_register_address" },
	.heap		= "the single objects of Ruby: they lie in pages of 64 KB that it maps by "
			  "itself or gets from malloc (what an object holds beside its slot is "
			  "malloc's)",
	.help		= "ObjectSpace.dump_all, of the library objspace, lists them with the "
			  "lines that made them, and GC.stat has their number",
	.jit		= "started with --yjit-perf (Ruby 3.3 and later), it gives its names",
};
