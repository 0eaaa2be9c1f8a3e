/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Zig without a libc: std.start, whose code comes before main. */

#include "probe/runtimes/runtimes.h"

const struct runtime runtime_zig = {
	.name		= "Zig",
	.symbols	= { "start.posixCallMainAndExit" },
	.heap		= "the heap of a Zig program without libc, whose allocators map it by "
			  "themselves",
	.help		= "std.heap.c_allocator, linked with libc, is malloc; the debug "
			  "allocator of std.heap reports leaks when it is deinitialised",
};
