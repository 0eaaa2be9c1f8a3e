/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block or chunk at an address of the heaps: the text of `malloc find` and `malloc check`. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "heap/block.h"
#include "heap/find_at.h"

struct out;
struct session;
struct session_heap;

/* Find what holds address, by the heaps and by the log as it is now. */
struct err *find_in(struct session *session, const struct session_heap *heap, uint64_t address,
		    struct found_at *ret) MUST_CHECK;
/* The block or free chunk that holds address, with where it was allocated. */
struct err *find_print(struct session *session, const struct session_heap *heap, uint64_t address,
		       struct out *out) MUST_CHECK;
/* Print a block that is known to hold address. */
struct err *find_print_block(struct session *session, const struct block *block, uint64_t address,
			     struct out *out) MUST_CHECK;
/* All that is damaged, with the blocks on both sides. */
struct err *damage_print(struct session *session, const struct session_heap *heap,
			 struct out *out) MUST_CHECK;
