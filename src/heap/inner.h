/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What programs keep in a block that they point into: contents that tell why they do so. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct block;
struct memory;

/* Is this where the text of an sds string (redis) can begin? Their headers have five lengths. */
bool inner_may_be_sds(uint64_t offset);
/* Does the header of an sds string that fits in the block stand before this offset? */
bool inner_is_sds(struct memory *memory, const struct block *block, uint64_t offset);
/*
 * Do the block's first words have its own end, and a place in it up to which it is given out? So
 * begin the blocks of nginx's pools, of apr's, of PostgreSQL's contexts.
 */
bool inner_is_pool(struct memory *memory, const struct block *block);
