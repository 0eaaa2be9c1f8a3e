/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Sizes of the blocks of allocators of the program's own that cannot be. The user says which
 * argument of a function is the size (`probe alloc`), and may be wrong: then a pointer, or a flag,
 * is taken for it. A block whose first byte is mapped and whose last one is not, with a hole in
 * between, is none that anybody uses.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct session;

struct user_sizes {
	uint64_t impossible;		/* blocks */
	uint64_t bytes;			/* of the largest of them */
	uint32_t stack;			/* and its stack */
};

/*
 * Look at all blocks of the present process that functions of the user's have given out. It runs on
 * the main thread. No process: none is impossible.
 */
struct err *user_sizes(struct session *session, struct user_sizes *ret) MUST_CHECK;
