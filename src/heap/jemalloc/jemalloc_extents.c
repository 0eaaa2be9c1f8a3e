/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Goes through the leaves of jemalloc's tree of pages (jemalloc.h). */

#include <inttypes.h>
#include <stdlib.h>

#include "base/page.h"
#include "heap/jemalloc/jemalloc.h"

#define LEAF_PART	512u		/* words of a leaf that are read at a time */

/* A word of a leaf, which stands for the page at an address. */
static struct err *look_at(struct jemalloc *jemalloc, uint64_t word, uint64_t page,
			   jemalloc_extent_fn fn)
{
	struct jemalloc_extent extent;

	if (!jemalloc_root_extent_of(word))
		return NULL;
	if (!jemalloc_root_extent_read(jemalloc, jemalloc_root_extent_of(word), &extent) ||
	    page < extent.base || page - extent.base >= extent.pages)
		return jemalloc->looks ? NULL :
			bare_walk_damage(&jemalloc->bare, (struct heap_damage){
						 .address = jemalloc_root_extent_of(word) },
					 "the page 0x%" PRIx64 " leads to no extent of it", page);
	return page == extent.base ? fn(jemalloc, &extent) : NULL;
}

static struct err *walk_leaf(struct jemalloc *jemalloc, uint64_t gb, uint64_t leaf,
			     jemalloc_extent_fn fn)
{
	struct memory *memory = jemalloc->source->memory;
	uint64_t end = leaf + JEMALLOC_FANOUT * 8ull, start = leaf, part = 0, part_end = 0;
	uint64_t word[LEAF_PART];
	struct err *err = NULL;
	size_t len;

	while (!err && memory_next(memory, start, end, &part, &part_end))
		for (start = part; start < part_end && !err; start += len) {
			len = MIN(sizeof(word), part_end - start);
			err = memory_read(memory, start, word, len);
			for (size_t i = 0; i < len / 8 && !err; i++)
				if (word[i])
					err = look_at(jemalloc, word[i],
						      ((gb << 18) + (start - leaf) / 8 + i) * PAGE,
						      fn);
		}
	return err;
}

struct err *jemalloc_extents_each(struct jemalloc *jemalloc, jemalloc_extent_fn fn)
{
	struct err *err = NULL;

	for (size_t i = 0; i < jemalloc->leaves.vec.nr && !err; i += 2)
		err = walk_leaf(jemalloc, jemalloc->leaves.vec.at[i], jemalloc->leaves.vec.at[i + 1],
				fn);
	return err;
}

static struct err *find_base(struct jemalloc *jemalloc, const struct jemalloc_extent *extent)
{
	return jemalloc_root_base_add(jemalloc, extent->at);
}

struct err *jemalloc_extents_bases(struct jemalloc *jemalloc)
{
	struct err *err;

	jemalloc->looks = true;
	err = jemalloc_extents_each(jemalloc, find_base);
	jemalloc->looks = false;
	for (size_t i = 0; i < jemalloc->leaves.vec.nr && !err; i += 2)
		err = jemalloc_root_base_add(jemalloc, jemalloc->leaves.vec.at[i + 1]);
	if (jemalloc->bases.vec.nr)
		qsort(jemalloc->bases.vec.at, jemalloc->bases.vec.nr / 2, 2 * sizeof(uint64_t),
		      word_list_by_value);
	return err;
}

void jemalloc_extents_free(struct jemalloc *jemalloc)
{
	free(jemalloc->page);
	bare_walk_free(&jemalloc->bare);
	vec_free(&jemalloc->leaves.vec);
	vec_free(&jemalloc->cached.vec);
	vec_free(&jemalloc->own.vec);
	vec_free(&jemalloc->bases.vec);
}
