/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads the lists of heaps, of blocks that another thread has freed while their page was full. Such
 * a list stands in a heap before the thread that the heap belongs to, which is also in its
 * segments: so it is found where all heaps have their thread.
 */

#include <inttypes.h>

#include "base/compiler.h"
#include "heap/mimalloc/mimalloc.h"

#define HEAP_WORDS	640u		/* of a heap that are looked at */

struct heap {
	uint64_t address, thread;
};

COMPARE_BY(by_address, struct heap, x, x->address)
COMPARE_BY(by_value, uint64_t, x, *x)

struct heaps {
	VEC(struct heap) vec;
};

/* The heaps of all pages, once each. */
static struct err *collect(const struct mimalloc *mimalloc, struct heaps *heaps)
{
	struct err *err = NULL;
	uint64_t last = 0;
	size_t kept = 0;

	vec_each_while(page, &mimalloc->pages, !err) {
		uint64_t thread = mimalloc->segments.at[page->segment].thread;
		struct mi_numbers numbers;

		if (!mimalloc_page_in_use(&mimalloc->layout, page))
			continue;
		mimalloc_page_numbers(&mimalloc->layout, page, &numbers);
		if (numbers.heap && numbers.heap != last && thread)
			err = vec_push(&heaps->vec, ((struct heap){ numbers.heap, thread }));
		last = numbers.heap;
	}
	vec_sort(&heaps->vec, by_address);
	for (size_t i = 0; i < heaps->vec.nr; i++)
		if (!i || heaps->vec.at[i].address != heaps->vec.at[i - 1].address)
			heaps->vec.at[kept++] = heaps->vec.at[i];
	heaps->vec.nr = kept;
	return err;
}

/* Where most heaps have their thread, in words; 0: nowhere. */
static uint32_t place_of_thread(const struct mimalloc *mimalloc, const struct heaps *heaps)
{
	uint64_t word[HEAP_WORDS];
	uint32_t votes[HEAP_WORDS] = { 0 }, best = 0;

	vec_each(heap, &heaps->vec) {
		size_t len;

		if (memory_read_some(mimalloc->bare.source->memory, heap->address, word,
				     sizeof(word), &len))
			continue;
		for (uint32_t i = 1; i < len / 8; i++)
			votes[i] += word[i] == heap->thread;
	}
	for (uint32_t i = 1; i < HEAP_WORDS; i++)
		if (votes[i] > votes[best])
			best = i;
	return votes[best] * 2 > heaps->vec.nr ? best : 0;
}

/* The page that has the block; NULL: none does. */
static const struct mi_page *page_of(const struct mimalloc *mimalloc, uint64_t address)
{
	const struct mi_page *page = mimalloc->pages.at;
	size_t after = LOWER_BOUND(i, 0, mimalloc->pages.nr, page[i].start <= address);
	struct mi_numbers numbers;

	if (!after || !mimalloc_page_in_use(&mimalloc->layout, &page[after - 1]))
		return NULL;
	mimalloc_page_numbers(&mimalloc->layout, &page[after - 1], &numbers);
	return mimalloc_page_fits(&page[after - 1], &numbers) &&
	       mimalloc_page_has(&numbers, address) ? &page[after - 1] : NULL;
}

static struct err *read_list(struct mimalloc *mimalloc, uint64_t place, uint64_t *left)
{
	struct memory *memory = mimalloc->bare.source->memory;
	uint64_t block;
	struct err *err = NULL;

	while (!err && !memory_read_u64(memory, place, &block) && block) {
		if (!page_of(mimalloc, block) || !*left)
			return bare_walk_damage(&mimalloc->bare,
						(struct heap_damage){ .address = place },
						"a list of freed blocks leads to no block: 0x%"
						PRIx64, block);
		--*left;
		err = vec_push(&mimalloc->delayed, block);
		place = block;
	}
	return err;
}

/* The blocks that these lists may have in all: those that count as used. */
static uint64_t most_blocks(const struct mimalloc *mimalloc)
{
	uint64_t nr = 0;

	vec_each(page, &mimalloc->pages) {
		struct mi_numbers numbers;

		if (!mimalloc_page_in_use(&mimalloc->layout, page))
			continue;
		mimalloc_page_numbers(&mimalloc->layout, page, &numbers);
		nr += numbers.capacity;
	}
	return nr;
}

struct err *mimalloc_delayed_read(struct mimalloc *mimalloc)
{
	uint64_t left = most_blocks(mimalloc);
	struct heaps heaps = { VEC_INIT };
	struct err *err = collect(mimalloc, &heaps);
	uint32_t at = err ? 0 : place_of_thread(mimalloc, &heaps);

	mimalloc->walk.caches_known = at || !heaps.vec.nr;
	vec_each_while(heap, &heaps.vec, !err && at)
		err = read_list(mimalloc, heap->address + 8 * (at - 1), &left);
	vec_sort(&mimalloc->delayed, by_value);
	vec_free(&heaps.vec);
	return err;
}
