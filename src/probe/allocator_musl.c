/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The allocator of musl: all its functions are those of ISO C and POSIX. */

#include "probe/allocators.h"

const struct allocator allocator_musl = {
	.name		= "musl",
	.files		= { "libc.musl", "ld-musl" },
};
