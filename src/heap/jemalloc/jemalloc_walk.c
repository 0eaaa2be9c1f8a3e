/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks jemalloc's extents in order of address (jemalloc.h). */

#include <inttypes.h>
#include <stdlib.h>

#include "base/page.h"
#include "heap/jemalloc/jemalloc.h"

/* Damage of an extent. */
#define damage(jemalloc, extent, ...) \
	bare_walk_damage(&(jemalloc)->bare, (struct heap_damage){ .address = (extent)->at, \
								  .heap = (extent)->arena }, \
			 __VA_ARGS__)

/* Make the arenas up to this number. */
static struct err *make_arena(struct jemalloc *jemalloc, uint16_t arena)
{
	struct err *err = NULL;

	while (!err && jemalloc->walk->arenas.nr <= arena)
		err = bare_walk_arena(&jemalloc->bare, 0);
	return err;
}

/* Is one of the sorted words in [start, end)? All questions are in order. */
static bool has_word(const struct word_list *list, size_t *next, uint64_t start, uint64_t end)
{
	while (*next < list->vec.nr && list->vec.at[*next] < start)
		++*next;
	return *next < list->vec.nr && list->vec.at[*next] < end;
}

/* Whose is a block that is not free? */
static enum chunk_kind kind_of(struct jemalloc *jemalloc, uint64_t address, uint64_t size)
{
	if (has_word(&jemalloc->own, &jemalloc->next_own, address, address + size))
		return CHUNK_OWN;
	return has_word(&jemalloc->cached, &jemalloc->next_cached, address, address + 1) ?
		       CHUNK_CACHED : CHUNK_USED;
}

static bool is_free(const struct jemalloc_extent *slab, uint64_t i)
{
	return slab->map[i / 64] >> i % 64 & 1;
}

static struct err *check_slab(struct jemalloc *jemalloc, const struct jemalloc_extent *slab,
			      uint64_t nr)
{
	uint64_t free = 0;

	for (uint64_t i = 0; i < nr; i++)
		free += is_free(slab, i);
	if (free == slab->free)
		return NULL;
	return damage(jemalloc, slab, "%" PRIu64 " blocks of the slab at 0x%" PRIx64
		      " are free by its map, and %u by its count", free, slab->base, slab->free);
}

static struct err *add_slab(struct jemalloc *jemalloc, const struct jemalloc_extent *slab)
{
	uint64_t nr = slab->size ? slab->pages / slab->size : 0;
	struct err *err;

	if (!nr || nr > 64 * JEMALLOC_MAP_WORDS || slab->pages % slab->size)
		return damage(jemalloc, slab, "a slab of %" PRIu64 " bytes for "
			      "blocks of %" PRIu64, slab->pages, slab->size);
	err = check_slab(jemalloc, slab, nr);
	for (uint64_t i = 0; i < nr && !err; i++) {
		uint64_t address = slab->base + i * slab->size;

		err = bare_walk_add(&jemalloc->bare, address, slab->size,
				    is_free(slab, i) ? CHUNK_FREE :
						       kind_of(jemalloc, address, slab->size),
				    slab->arena);
	}
	return err;
}

/* It begins within its first page (cache_oblivious), and one page more than its class is there for that. */
static struct err *add_large(struct jemalloc *jemalloc, const struct jemalloc_extent *large)
{
	uint64_t size = large->size;

	if (!size || size % PAGE || large->pages < size || large->pages > size + PAGE ||
	    large->address + size > large->base + large->pages)
		return damage(jemalloc, large, "%" PRIu64 " bytes for a block of %"
			      PRIu64 " at 0x%" PRIx64, large->pages, size, large->address);
	return bare_walk_add(&jemalloc->bare, large->address, size,
			     kind_of(jemalloc, large->address, size), large->arena);
}

/*
 * The base blocks that begin before address: they lie between extents, and jemalloc does not count them
 * as memory of an arena.
 */
static struct err *add_bases(struct jemalloc *jemalloc, uint64_t address)
{
	const struct word_list *bases = &jemalloc->bases;
	struct err *err = NULL;

	for (; jemalloc->next_base < bases->vec.nr && !err &&
	       bases->vec.at[jemalloc->next_base] < address; jemalloc->next_base += 2) {
		uint64_t start = bases->vec.at[jemalloc->next_base];
		uint64_t end = bases->vec.at[jemalloc->next_base + 1];

		if (start < jemalloc->done || end > address)
			continue;
		err = bare_walk_end(&jemalloc->bare);
		if (!err)
			err = vec_push(&jemalloc->walk->spans,
				       ((struct heap_span){ start, end, 0 }));
		if (!err)
			err = bare_walk_add(&jemalloc->bare, start, end - start, CHUNK_OWN, 0);
		jemalloc->done = end;
	}
	return err;
}

static bool is_mapped(const struct heap_source *source, uint64_t start, uint64_t end)
{
	size_t i = LOWER_BOUND(j, 0, source->nr_maps, source->map[j].end <= start);

	for (; i < source->nr_maps && source->map[i].start <= start; i++) {
		if (end <= source->map[i].end)
			return true;
		start = source->map[i].end;
	}
	return false;
}

static struct err *add_extent(struct jemalloc *jemalloc, const struct jemalloc_extent *extent)
{
	struct err *err = make_arena(jemalloc, extent->arena);

	if (!err && extent->state != JEMALLOC_RETAINED)
		err = add_bases(jemalloc, extent->base);
	if (err || extent->state == JEMALLOC_RETAINED)
		return err;
	if (extent->base < jemalloc->done ||
	    !is_mapped(jemalloc->source, extent->base, extent->base + extent->pages))
		return damage(jemalloc, extent, "the extent 0x%" PRIx64 " of %"
			      PRIu64 " bytes lies in another one, or in no memory", extent->base,
			      extent->pages);
	jemalloc->done = extent->base + extent->pages;
	err = bare_walk_span(&jemalloc->bare, extent->base, extent->base + extent->pages,
			     extent->arena);
	if (err)
		return err;
	if (extent->state != JEMALLOC_ACTIVE)
		return bare_walk_add(&jemalloc->bare, extent->base, extent->pages, CHUNK_KEPT,
				     extent->arena);
	return extent->slab ? add_slab(jemalloc, extent) : add_large(jemalloc, extent);
}

static struct err *walk(struct jemalloc *jemalloc)
{
	struct err *err = jemalloc_root_find(jemalloc);

	if (!err)
		err = jemalloc_caches_find(jemalloc);
	if (!err)
		err = jemalloc_extents_bases(jemalloc);
	if (!err)
		err = make_arena(jemalloc, 0);
	if (!err)
		err = jemalloc_extents_each(jemalloc, add_extent);
	if (!err)
		err = add_bases(jemalloc, UINT64_MAX);
	if (!err)
		err = bare_walk_end(&jemalloc->bare);
	vec_each(arena, &jemalloc->walk->arenas)
		arena->libc = jemalloc->module;
	return err;
}

struct err *jemalloc_walk(const struct heap_source *source, struct heap_walk *ret)
{
	struct heap_walk found = HEAP_WALK_INIT;
	struct jemalloc jemalloc = {
		.source = source, .walk = &found, .bare = BARE_WALK_INIT(source, &found),
		.page = calloc(PAGES_KEPT, sizeof(*jemalloc.page)),
	};
	struct err *err = jemalloc.page ? walk(&jemalloc) : err_nomem;

	jemalloc_extents_free(&jemalloc);
	if (err) {
		heap_walk_free(&found);
		return err;
	}
	found.mmapped_known = found.mmapped_certain = true;
	*ret = found;
	return NULL;
}
