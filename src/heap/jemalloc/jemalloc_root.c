/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds jemalloc's tree of pages, and reads its descriptors (jemalloc.h). */

#include "heap/jemalloc/jemalloc.h"

#include <string.h>

#include "base/page.h"

#define LEAF_BYTES	(JEMALLOC_FANOUT * 8ull)
#define LEAF_SHIFT	30u		/* a leaf stands for a GB */
#define ADDRESS_BITS	48u
#define ADDRESS_END	(1ull << 47)
#define LOW_BITS	63ull		/* descriptors are aligned to 64 bytes at least */
#define BASE_ALIGN	(2ull << 20)
#define BASE_MOST	(1ull << 32)
#define BASES_MISSED	64u
#define TINY_CLASS	8u
#define QUANTUM		16u

static const struct jemalloc_layout layouts[] = {
	/* 5.3: "guarded" came, and a third bit of the state */
	{ .state = 17, .state_bits = 3, .class = 20, .free = 28 },
	/* 5.1, 5.2 */
	{ .state = 16, .state_bits = 2, .class = 18, .free = 26, .counted_bins = true },
	/* 5.0: without "dumpable" */
	{ .state = 15, .state_bits = 2, .class = 17, .free = 25, .counted_bins = true },
};

uint64_t jemalloc_root_class_size(unsigned class)
{
	unsigned group, step;

	if (!class)
		return TINY_CLASS;
	group = (class - 1) / 4;
	step = (class - 1) % 4 + 1;
	if (!group)
		return QUANTUM * step;
	if (group > ADDRESS_BITS)
		return 0;
	return (4ull * QUANTUM << (group - 1)) / 4 * (4 + step);
}

uint64_t jemalloc_root_extent_of(uint64_t word)
{
	return word & ((1ull << ADDRESS_BITS) - 1) & ~LOW_BITS;
}

static bool read_kept(struct jemalloc *jemalloc, uint64_t at, void *buf, size_t len)
{
	uint64_t start = ALIGN_DOWN(at, PAGE);
	struct jemalloc_page *page = &jemalloc->page[start / PAGE % PAGES_KEPT];

	if (page->start != start) {
		page->start = 0;
		if (memory_read_some(jemalloc->source->memory, start, page->bytes, PAGE, &page->len))
			return false;
		page->start = start;
	}
	if (at - start + len > page->len)
		return false;
	memcpy(buf, &page->bytes[at - start], len);
	return true;
}

static bool read_extent(struct jemalloc *jemalloc, const struct jemalloc_layout *layout,
			uint64_t at, struct jemalloc_extent *ret)
{
	uint64_t word[JEMALLOC_EXTENT / 8];

	if (at % (LOW_BITS + 1) || !at || at >= ADDRESS_END ||
	    !read_kept(jemalloc, at, word, sizeof(word)))
		return false;
	*ret = (struct jemalloc_extent){
		.at = at,
		.base = ALIGN_DOWN(word[1], PAGE),
		.pages = ALIGN_DOWN(word[2], PAGE),
		.address = word[1],
		.arena = word[0] % JEMALLOC_ARENAS,
		.slab = word[0] >> 12 & 1,
		.state = word[0] >> layout->state & ((1u << layout->state_bits) - 1),
		.class = (uint8_t)(word[0] >> layout->class),
		.free = word[0] >> layout->free & 1023,
	};
	ret->size = jemalloc_root_class_size(ret->class);
	memcpy(ret->map, &word[8], sizeof(ret->map));
	return ret->base && ret->pages && ret->base < ADDRESS_END &&
	       ret->pages <= ADDRESS_END - ret->base && ret->state <= JEMALLOC_RETAINED;
}

bool jemalloc_root_extent_read(struct jemalloc *jemalloc, uint64_t at, struct jemalloc_extent *ret)
{
	return read_extent(jemalloc, jemalloc->layout, at, ret);
}

/* The private mapping that has an address, or NULL. */
static const struct heap_map *map_of(const struct heap_source *source, uint64_t address)
{
	size_t i = LOWER_BOUND(j, 0, source->nr_maps, source->map[j].end <= address);

	return i < source->nr_maps && source->map[i].start <= address ? &source->map[i] : NULL;
}

/*
 * Does this word, which has number `at` in what may be a leaf, lead to an extent that begins at a page
 * with that number? *gb_ret: of the page.
 */
static bool is_leaf_word(struct jemalloc *jemalloc, const struct jemalloc_layout *layout,
			 uint64_t word, uint64_t at, uint64_t *gb_ret)
{
	struct jemalloc_extent extent;

	*gb_ret = 0;
	if (!word || !read_extent(jemalloc, layout, jemalloc_root_extent_of(word), &extent) ||
	    extent.base / PAGE % JEMALLOC_FANOUT != at)
		return false;
	if (extent.state == JEMALLOC_ACTIVE && extent.class != word >> ADDRESS_BITS)
		return false;
	*gb_ret = extent.base >> LEAF_SHIFT;
	return true;
}

/* The first words that a leaf has, as many as fit into a page. False: there are none. */
static bool first_words(struct jemalloc *jemalloc, uint64_t leaf, uint64_t *word, size_t *nr_ret,
			uint64_t *at_ret)
{
	struct memory *memory = jemalloc->source->memory;
	uint64_t end = leaf + LEAF_BYTES, start = leaf, part = 0, part_end = 0;
	size_t len;

	while (memory_next(memory, start, end, &part, &part_end)) {
		for (start = part; start < part_end; start += len) {
			len = MIN(PAGE, part_end - start);
			if (memory_read_some(memory, start, word, len, &len) || len < 8)
				return false;
			for (size_t i = 0; i < len / 8; i++)
				if (word[i]) {
					*nr_ret = len / 8;
					*at_ret = (start - leaf) / 8;
					return true;
				}
		}
	}
	return false;
}

/* Is there a leaf at this address? *gb_ret: the GB that it stands for. */
static bool is_leaf(struct jemalloc *jemalloc, uint64_t leaf,
		    const struct jemalloc_layout **layout_ret, uint64_t *gb_ret)
{
	uint64_t word[PAGE / 8], at;
	size_t nr;

	if (!first_words(jemalloc, leaf, word, &nr, &at))
		return false;
	for (size_t i = 0; i < nr; i++)
		for (unsigned j = 0; word[i] && j < ARRAY_SIZE(layouts); j++)
			if (is_leaf_word(jemalloc, &layouts[j], word[i], at + i, gb_ret)) {
				*layout_ret = &layouts[j];
				return true;
			}
	return false;
}

static bool may_be_leaf(const struct jemalloc *jemalloc, uint64_t word)
{
	const struct heap_map *map;

	if (word % 64 || !word || word >= ADDRESS_END)
		return false;
	map = map_of(jemalloc->source, word);
	return map && map->anonymous && map->end - word >= LEAF_BYTES;
}

/* The module's data that an address is in, or NULL. */
static const struct heap_map *data_of(const struct heap_libc *libc, uint64_t address)
{
	for (size_t i = 0; i < libc->nr_data; i++)
		if (address >= libc->data[i].start && address < libc->data[i].end)
			return &libc->data[i];
	return NULL;
}

/* A bare_look: is this one of the words of the root, and leads to a leaf? */
static bool look_for_root(void *ctx, uint64_t at, const uint64_t *word)
{
	struct jemalloc *jemalloc = ctx;
	const struct heap_map *data = data_of(&jemalloc->source->libc[jemalloc->module], at);
	const struct jemalloc_layout *layout;
	uint64_t gb, root;

	if (!may_be_leaf(jemalloc, *word) || !is_leaf(jemalloc, *word, &layout, &gb))
		return false;
	root = at - gb * 8;
	if (!data || at < gb * 8 || root < data->start || data->end - root < LEAF_BYTES)
		return false;
	jemalloc->root = root;
	jemalloc->layout = layout;
	return true;
}

static struct err *add_leaf(struct jemalloc *jemalloc, uint64_t gb, uint64_t leaf)
{
	struct err *err = vec_push(&jemalloc->leaves.vec, gb);

	return err ? err : vec_push(&jemalloc->leaves.vec, leaf);
}

/* The leaves, in order. A word of the root that leads to none ends the walk: it is another build's. */
static struct err *read_root(struct jemalloc *jemalloc)
{
	struct memory *memory = jemalloc->source->memory;
	uint64_t end = jemalloc->root + LEAF_BYTES, start = jemalloc->root, part, part_end;
	uint64_t word[PAGE / 8];
	struct err *err = NULL;
	size_t len;

	while (!err && memory_next(memory, start, end, &part, &part_end))
		for (start = part; start < part_end && !err; start += len) {
			len = MIN(PAGE, part_end - start);
			err = memory_read(memory, start, word, len);
			for (size_t i = 0; i < len / 8 && !err; i++) {
				uint64_t at = start + i * 8;

				if (!word[i])
					continue;
				if (!may_be_leaf(jemalloc, word[i]))
					return err_create(ERR_UNSUPPORTED, "jemalloc's tree at 0x%llx "
							  "is not as 5.0 to 5.3 have it",
							  (unsigned long long)at);
				err = add_leaf(jemalloc, (at - jemalloc->root) / 8, word[i]);
			}
		}
	return err;
}

struct err *jemalloc_root_find(struct jemalloc *jemalloc)
{
	bool found = false;
	struct err *err = NULL;

	for (size_t i = 0; i < jemalloc->source->nr_libcs && !err && !found; i++) {
		jemalloc->module = (uint16_t)i;
		err = bare_walk_search(&jemalloc->bare, i, 1, look_for_root, jemalloc, &found);
	}
	if (err || found)
		return err ? err : read_root(jemalloc);
	return err_create(ERR_NOTFOUND, "no tree of jemalloc's (5.0 to 5.3) was found: nothing was "
			  "allocated yet, or it is laid out otherwise");
}

/* The start of a base block that has this address: its size, and what is left of it, must fit. */
static bool is_base(struct jemalloc *jemalloc, uint64_t start, uint64_t address, uint64_t *end_ret)
{
	uint64_t word[5];	/* size, next; the descriptor's bits, address and size */

	if (!read_kept(jemalloc, start, word, sizeof(word)) || word[0] % BASE_ALIGN ||
	    address - start >= word[0] || word[0] > BASE_MOST)
		return false;
	*end_ret = start + word[0];
	return word[3] > start && word[3] <= *end_ret && word[4] == *end_ret - word[3];
}

struct err *jemalloc_root_base_add(struct jemalloc *jemalloc, uint64_t address)
{
	const struct heap_map *map = map_of(jemalloc->source, address);
	uint64_t start = ALIGN_DOWN(address, BASE_ALIGN), end;
	uint64_t least = map ? MAX(map->start, start > BASE_MOST ? start - BASE_MOST : 0) : 0;
	struct err *err;

	for (size_t i = jemalloc->bases.vec.nr; i; i -= 2)
		if (address >= jemalloc->bases.vec.at[i - 2] && address < jemalloc->bases.vec.at[i - 1])
			return NULL;
	if (!map || jemalloc->bases_missed == BASES_MISSED)
		return NULL;
	while (start >= least && !is_base(jemalloc, start, address, &end))
		start -= BASE_ALIGN;
	if (start < least) {
		jemalloc->bases_missed++;
		return NULL;
	}
	err = vec_push(&jemalloc->bases.vec, start);
	return err ? err : vec_push(&jemalloc->bases.vec, end);
}
