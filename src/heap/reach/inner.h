/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recognises contents of blocks that explain why programs point into them. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct block;
struct memory;

/* Can the text of an sds string (redis) begin here? Their headers have five lengths. */
bool inner_may_be_sds(uint64_t offset);
/* Does the header of an sds string that fits in the block stand before this offset? */
bool inner_is_sds(struct memory *memory, const struct block *block, uint64_t offset);
/*
 * Do the block's first words have its own end, and a place in it up to which it is used? The blocks
 * of nginx's pools, of apr's and of PostgreSQL's contexts begin like this. Or do they have the size
 * of the rest behind a header that has it as well (MariaDB's MEM_ROOT, InnoDB's heaps)?
 */
bool inner_is_pool(struct memory *memory, const struct block *block);
/* The last of these, by the block's first words. */
bool inner_has_sizes(const struct block *block, const uint64_t *word, unsigned nr);
