/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lists the blocks of mimalloc's pages (theory in mimalloc.h). */

#include <inttypes.h>
#include <string.h>

#include "base/compiler.h"
#include "heap/mimalloc/mimalloc.h"
#include "log/log.h"

#define SIZE_WHOLE	4096u		/* larger blocks are not read, but their links */

/* A page that is being listed. */
struct listing {
	struct mimalloc *mimalloc;
	const struct mi_page *page;
	const struct mi_segment *segment;
	struct mi_numbers numbers;
	uint16_t heap;
	uint64_t marked;	/* blocks that are free */
};

static struct err *damage_at(const struct listing *listing, uint64_t address, const char *what,
			     uint64_t word)
{
	return bare_walk_damage(&listing->mimalloc->bare,
				(struct heap_damage){ .address = address, .heap = listing->heap },
				"%s: 0x%" PRIx64, what, word);
}

static bool mark(struct listing *listing, uint64_t block)
{
	uint64_t i = (block - listing->numbers.first) / listing->numbers.size;
	uint64_t *word = &listing->mimalloc->marks.at[i / 64], bit = 1ull << i % 64;
	bool is_new = !(*word & bit);

	listing->marked += is_new;
	*word |= bit;
	return is_new;
}

static bool is_marked(const struct listing *listing, uint64_t i)
{
	return listing->marked && listing->mimalloc->marks.at[i / 64] >> i % 64 & 1;
}

/* Read the word of a block, and with it the blocks behind it where they are short. */
static bool read_link(const struct listing *listing, uint64_t block, uint64_t *ret)
{
	const struct mi_numbers *numbers = &listing->numbers;
	uint64_t end = numbers->first + numbers->size * numbers->capacity;
	const void *bytes = NULL;

	/* All of the page is read at once, from its first block on. */
	if (numbers->size <= SIZE_WHOLE &&
	    bare_walk_read(&listing->mimalloc->bare, numbers->first, 8, end - numbers->first))
		bytes = bare_walk_read(&listing->mimalloc->bare, block, 8, end - block);
	else
		bytes = bare_walk_read(&listing->mimalloc->bare, block, 8, 8);
	if (bytes)
		memcpy(ret, bytes, 8);
	return bytes;
}

static struct err *mark_list(struct listing *listing, uint64_t head)
{
	uint64_t from = listing->page->place, next;

	for (uint64_t block = head; block; from = block, block = next)
		if (!mimalloc_page_has(&listing->numbers, block) || !mark(listing, block) ||
		    !read_link(listing, block, &next))
			return damage_at(listing, from, "a list of free blocks leads to no other one",
					 block);
	return NULL;
}

/* Mark the blocks of all lists, and compare how many there are with the counts. */
static struct err *mark_lists(struct listing *listing)
{
	const struct mi_numbers *numbers = &listing->numbers;
	struct mimalloc *mimalloc = listing->mimalloc;
	size_t nr = numbers->capacity / 64 + 1;
	uint64_t end = numbers->first + numbers->size * numbers->capacity, of_page;
	size_t at = LOWER_BOUND(i, 0, mimalloc->delayed.nr,
				mimalloc->delayed.at[i] < numbers->first);
	struct err *err = vec_reserve(&mimalloc->marks, nr);

	if (err)
		return err;
	memset(mimalloc->marks.at, 0, nr * sizeof(uint64_t));
	err = mark_list(listing, numbers->free);
	if (!err)
		err = mark_list(listing, numbers->local);
	of_page = listing->marked;
	if (!err)
		err = mark_list(listing, numbers->thread);
	for (; !err && at < mimalloc->delayed.nr && mimalloc->delayed.at[at] < end; at++)
		if (!mark(listing, mimalloc->delayed.at[at]))
			err = damage_at(listing, listing->page->place, "a block is in two lists",
					mimalloc->delayed.at[at]);
	if (!err && of_page + numbers->used != numbers->capacity)
		err = damage_at(listing, listing->page->place,
				"this page has another number of free blocks", of_page);
	return err;
}

/*
 * A block that is aligned begins inside the block of the page: where the log has one that does.
 * Returns that, or the block's address.
 */
static uint64_t start_of(const struct listing *listing, uint64_t block)
{
	const struct heap_source *source = listing->mimalloc->bare.source;
	uint64_t known = UINT64_MAX;

	if (listing->numbers.aligned && source->known_from)
		known = source->known_from(source->ctx, block);
	return known % 8 == 0 && known - block < listing->numbers.size ? known : block;
}

/* The part before an aligned block is the allocator's. */
static struct err *add_used(const struct listing *listing, uint64_t block)
{
	struct bare_walk *bare = &listing->mimalloc->bare;
	uint64_t start = start_of(listing, block);
	struct err *err = NULL;

	if (listing->heap != LOG_HEAP_MMAP)
		err = bare_walk_add(bare, block, start - block, CHUNK_OWN, listing->heap);
	return err ? err : bare_walk_add(bare, start, listing->numbers.size - (start - block),
					 CHUNK_USED, listing->heap);
}

static struct err *add_blocks(const struct listing *listing)
{
	const struct mi_numbers *numbers = &listing->numbers;
	struct bare_walk *bare = &listing->mimalloc->bare;
	uint64_t block = numbers->first;
	struct err *err = NULL;

	for (uint32_t i = 0; i < numbers->capacity && !err; i++, block += numbers->size) {
		if (!is_marked(listing, i))
			err = add_used(listing, block);
		else if (listing->heap != LOG_HEAP_MMAP)
			err = bare_walk_add(bare, block, numbers->size, CHUNK_FREE, listing->heap);
	}
	return err;
}

static struct err *list_page(struct listing *listing)
{
	const struct mi_page *page = listing->page;
	const struct mi_numbers *numbers = &listing->numbers;
	struct bare_walk *bare = &listing->mimalloc->bare;
	uint64_t end = page->start + page->slices * SLICE, behind;
	struct err *err;

	if (!mimalloc_page_fits(page, numbers))
		return damage_at(listing, page->place, "the numbers of this page do not fit",
				 page->word[1]);
	behind = numbers->first + numbers->size * numbers->capacity;
	err = mark_lists(listing);
	if (!err && listing->heap != LOG_HEAP_MMAP)
		err = bare_walk_add(bare, page->start, numbers->first - page->start, CHUNK_OWN,
				    listing->heap);
	if (!err)
		err = add_blocks(listing);
	if (!err && listing->heap != LOG_HEAP_MMAP)
		err = bare_walk_add(bare, behind, end - behind, CHUNK_FREE, listing->heap);
	return err;
}

static bool is_committed(const struct mi_segment *segment, uint64_t slice)
{
	return segment->commit[slice / 64] >> slice % 64 & 1;
}

/* Slices that no page has: those that the process has not given back are kept. */
static struct err *list_free(const struct listing *listing)
{
	const struct mi_segment *segment = listing->segment;
	uint64_t first = (listing->page->start - segment->start) / SLICE;
	uint64_t end = segment->huge ? first : first + listing->page->slices;
	struct err *err = NULL;

	for (uint64_t i = first, run; i < end && !err; i += run + 1) {
		uint64_t start = segment->start + i * SLICE;

		for (run = 0; i + run < end && is_committed(segment, i + run);)
			run++;
		if (!run)
			continue;
		err = bare_walk_span(&listing->mimalloc->bare, start, start + run * SLICE, 0);
		if (!err)
			err = bare_walk_add(&listing->mimalloc->bare, start, run * SLICE,
					    CHUNK_KEPT, 0);
	}
	return err;
}

static struct err *list_used(struct listing *listing)
{
	const struct mi_segment *segment = listing->segment;
	const struct mi_page *page = listing->page;
	uint64_t start = segment->huge ? segment->start : page->start;
	struct err *err;

	mimalloc_page_numbers(&listing->mimalloc->layout, page, &listing->numbers);
	listing->heap = segment->huge ? LOG_HEAP_MMAP : 0;
	err = bare_walk_span(&listing->mimalloc->bare, start, page->start + page->slices * SLICE,
			     listing->heap);
	return err ? err : list_page(listing);
}

static struct err *list_header(struct mimalloc *mimalloc, const struct mi_segment *segment)
{
	uint64_t len = segment->info * SLICE;
	struct err *err = NULL;

	if (segment->huge)
		return NULL;
	err = bare_walk_span(&mimalloc->bare, segment->start, segment->start + len, 0);
	return err ? err : bare_walk_add(&mimalloc->bare, segment->start, len, CHUNK_OWN, 0);
}

static struct err *check_used(struct mimalloc *mimalloc, const struct mi_segment *segment,
			      uint64_t used)
{
	if (used == segment->used)
		return NULL;
	return bare_walk_damage(&mimalloc->bare,
				(struct heap_damage){ .address = segment->start +
					8 * (mimalloc->layout.cookie - 1) },
				"this segment has another number of pages in use: %" PRIu64, used);
}

static struct err *list_segment(struct mimalloc *mimalloc, uint32_t nr, size_t *page)
{
	const struct mi_segment *segment = &mimalloc->segments.at[nr];
	struct err *err = list_header(mimalloc, segment);
	uint64_t used = 0;

	for (; !err && *page < mimalloc->pages.nr && mimalloc->pages.at[*page].segment == nr;
	     ++*page) {
		struct listing listing = { .mimalloc = mimalloc, .segment = segment,
					   .page = &mimalloc->pages.at[*page] };
		bool in_use = mimalloc_page_in_use(&mimalloc->layout, listing.page);

		used += in_use;
		err = in_use ? list_used(&listing) : list_free(&listing);
	}
	return err ? err : check_used(mimalloc, segment, used);
}

static struct err *list_all(struct mimalloc *mimalloc)
{
	struct err *err = NULL;
	size_t page = 0;

	mimalloc->walk.mmapped_certain = true;
	mimalloc->walk.arenas.at[0].libc = (uint16_t)mimalloc->libc;
	for (uint32_t i = 0; i < mimalloc->segments.nr && !err; i++)
		err = list_segment(mimalloc, i, &page);
	return err ? err : bare_walk_end(&mimalloc->bare);
}

struct err *mimalloc_walk_open(struct mimalloc *ret, const struct heap_source *source)
{
	struct err *err;

	*ret = (struct mimalloc){ .walk = HEAP_WALK_INIT };
	ret->bare = (struct bare_walk)BARE_WALK_INIT(source, &ret->walk);
	err = mimalloc_segments_find(ret);
	return err ? err : mimalloc_page_find_fields(ret);
}

void mimalloc_walk_close(struct mimalloc *mimalloc)
{
	vec_free(&mimalloc->segments);
	vec_free(&mimalloc->pages);
	vec_free(&mimalloc->delayed);
	vec_free(&mimalloc->marks);
	bare_walk_free(&mimalloc->bare);
	heap_walk_free(&mimalloc->walk);
}

struct err *mimalloc_walk(const struct heap_source *source, struct heap_walk *ret)
{
	struct mimalloc mimalloc;
	struct err *err = mimalloc_walk_open(&mimalloc, source);

	if (!err)
		err = mimalloc_delayed_read(&mimalloc);
	if (!err)
		err = list_all(&mimalloc);
	if (!err) {
		*ret = mimalloc.walk;
		mimalloc.walk = (struct heap_walk)HEAP_WALK_INIT;
	}
	mimalloc_walk_close(&mimalloc);
	return err;
}
