/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The block or chunk at an address of the heaps: the text of `malloc find` and `malloc check`. */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "heap/block.h"
#include "heap/find_at.h"

struct out;
struct session;
struct heaps;

/* Find the block or chunk that holds address, in the heaps and in the log as it is now. */
struct err *address_text_in(struct session *session, const struct heaps *heap, uint64_t address,
			    struct found_at *ret) MUST_CHECK;
/* Print the block or free chunk that holds address, and where it was allocated. */
struct err *address_text_print(struct session *session, const struct heaps *heap, uint64_t address,
			       struct out *out) MUST_CHECK;
/* Print a block that is known to hold address. */
struct err *address_text_print_block(struct session *session, const struct block *block,
				     uint64_t address, struct out *out) MUST_CHECK;
/* Print all damaged places, with the blocks on both sides of each. */
struct err *address_text_damage(struct session *session, const struct heaps *heap,
				struct out *out) MUST_CHECK;
