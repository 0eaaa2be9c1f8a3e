/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Blocks that are zeros, or mostly, and are not small: each byte of them counts, not only the first
 * BLOCK_FORM_READ ones. Memory that was never written need not be read for that.
 *
 *	zeros		nothing else, but for an allocator's header with the block's size
 *	mostly zeros	of BLOCK_FORM_READ bytes or more, at least nine words in ten
 */
#pragma once

#include "heap/block_form.h"

struct memory;

/* One that was found by its first bytes is not asked for here. The list is sorted. */
enum block_form zero_form_of(struct memory *memory, const struct packed_list *list, size_t i);
