/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extents of blocks, and the index by page (extents.h). */

#include "heap/extents.h"

#define GAP_MAX		(256ull << 10)	/* between extents of a run */
#define SHIFT_LEAST	8u
/* a page of the index has at least so many blocks on average */
#define PAGE_BLOCKS	4u
#define FEW		16u		/* blocks */
#define NO_PAGES	SIZE_MAX

static uint64_t start_of(const struct extents *extents, uint32_t block)
{
	return packed_at(extents->list, block)->address;
}

/* Extents of a run are small and near each other, so that it has few pages. */
static bool fits(const struct extent_run *run, uint64_t start, uint64_t end)
{
	return start - run->end <= GAP_MAX && end - start <= GAP_MAX &&
	       (run->nr > 1 || run->end - run->start <= GAP_MAX);
}

/*
 * A run of few extents needs no pages. Several such runs, one behind the other, become one run: a
 * log that was overwritten has millions of blocks with nothing near them.
 */
static void end_run(struct extent_index *index)
{
	struct extent_run *last = index->runs.nr ? &index->runs.at[index->runs.nr - 1] : NULL;
	struct extent_run *before = index->runs.nr > 1 ? last - 1 : NULL;

	if (!last || last->nr >= FEW)
		return;
	last->page = NO_PAGES;
	if (before && before->page == NO_PAGES) {
		before->end = last->end;
		before->nr += last->nr;
		index->runs.nr--;
	}
}

/* The size of pages for the runs that there are. */
static unsigned shift_of(const struct extent_index *index)
{
	uint64_t bytes = 0, blocks = 0;
	unsigned shift = SHIFT_LEAST;

	for (size_t i = 0; i < index->runs.nr; i++) {
		const struct extent_run *run = &index->runs.at[i];

		bytes += run->page == NO_PAGES ? 0 : run->end - run->start;
		blocks += run->page == NO_PAGES ? 0 : run->nr;
	}
	while (bytes >> shift > blocks / PAGE_BLOCKS)
		shift++;
	return shift;
}

static struct err *index_run(const struct extents *extents, struct extent_index *index,
			     struct extent_run *run)
{
	uint64_t page = run->start >> index->shift, last = (run->end - 1) >> index->shift;
	uint32_t i = run->first;
	struct err *err;

	if (run->page == NO_PAGES)
		return NULL;
	run->page = index->page.nr;
	err = vec_reserve(&index->page, last - page + 1);
	for (; !err && page <= last; page++) {
		while (extents_end(extents, i) <= page << index->shift)
			i++;
		index->page.at[index->page.nr++] = i;
	}
	return err;
}

static struct err *build(struct extents *extents, struct extent_index *index)
{
	struct extent_run *run = NULL;
	struct err *err = NULL;

	for (uint32_t i = index->first; i < index->behind && !err; i++) {
		uint64_t start = start_of(extents, i), end = extents_end(extents, i);

		extents->low = MIN(extents->low, start);
		extents->high = MAX(extents->high, end);
		if (run && fits(run, start, end)) {
			run->end = end;
			run->nr++;
			continue;
		}
		end_run(index);
		err = vec_push(&index->runs, ((struct extent_run){ start, end, i, 1, 0 }));
		if (!err)
			run = &index->runs.at[index->runs.nr - 1];
	}
	end_run(index);
	index->shift = shift_of(index);
	for (size_t i = 0; i < index->runs.nr && !err; i++)
		err = index_run(extents, index, &index->runs.at[i]);
	return err;
}

struct err *extents_build(const struct packed_list *list, struct extents *ret)
{
	struct extents extents = { .list = list, .low = UINT64_MAX };
	struct err *err;

	extents.outer.behind = extents.user.first = (uint32_t)list->nr_outer;
	extents.user.behind = (uint32_t)list->nr;
	err = build(&extents, &extents.outer);
	if (!err)
		err = build(&extents, &extents.user);
	if (err) {
		extents_free(&extents);
		return err;
	}
	if (!list->nr)
		extents.low = 0;
	*ret = extents;
	return NULL;
}

void extents_free(struct extents *extents)
{
	vec_free(&extents->outer.runs);
	vec_free(&extents->outer.page);
	vec_free(&extents->user.runs);
	vec_free(&extents->user.page);
}

/* Find the last run that starts at or below address, or else the first run. near is tried first. */
static const struct extent_run *run_of(const struct extent_index *index, uint64_t address,
				       const struct extent_run *near)
{
	if (near && address - near->start < near->end - near->start)
		return near;
	return &index->runs.at[LOWER_BOUND(i, 1, index->runs.nr,
					   index->runs.at[i].start <= address) - 1];
}

static size_t page_of(const struct extent_index *index, const struct extent_run *run,
		      uint64_t address)
{
	return run->page + (address >> index->shift) - (run->start >> index->shift);
}

/* The blocks among which an address of the run must be: [*low, *high]. */
static void narrow(const struct extent_index *index, const struct extent_run *run,
		   uint64_t address, uint32_t *low, uint32_t *high)
{
	size_t page;

	*low = run->first;
	*high = run->first + run->nr - 1;
	if (run->page == NO_PAGES)
		return;
	page = page_of(index, run, address);
	*low = index->page.at[page];
	if (page < page_of(index, run, run->end - 1))
		*high = index->page.at[page + 1];
}

/*
 * Returns where to begin the search: the blocks of a page are spread over it more or less evenly.
 */
static uint32_t guess(const struct extent_index *index, uint32_t low, uint32_t high,
		      uint64_t address)
{
	uint64_t behind = address & ((1ull << index->shift) - 1);

	return high - low < FEW ? low + (uint32_t)((high - low) * behind >> index->shift) :
				  low + (high - low) / 2;
}

/*
 * Find the block among [low, high] that holds address. If there are many, a binary search comes
 * first; then blocks are compared one after the other, from `likely` on.
 */
static uint32_t choose(const struct extents *extents, uint32_t low, uint32_t high, uint32_t likely,
		       uint64_t address)
{
	uint32_t block = likely;

	if (high - low >= FEW)
		block = LOWER_BOUND(i, low + 1, high + 1, start_of(extents, i) <= address) - 1;
	while (block > low && start_of(extents, block) > address)
		block--;
	while (start_of(extents, block) < address && block < high &&
	       start_of(extents, block + 1) <= address)
		block++;
	/* No extent is empty: a block that begins there holds the address. */
	if (start_of(extents, block) == address)
		return block;
	return start_of(extents, block) < address && address < extents_end(extents, block) ?
		       block : EXTENT_NONE;
}

static uint32_t look_up(const struct extents *extents, const struct extent_index *index,
			uint64_t address)
{
	const struct extent_run *run;
	uint32_t low, high;

	if (!index->runs.nr)
		return EXTENT_NONE;
	run = run_of(index, address, NULL);
	if (address < run->start || address >= run->end)
		return EXTENT_NONE;
	narrow(index, run, address, &low, &high);
	return choose(extents, low, high, guess(index, low, high, address), address);
}

/* Each step is done for all addresses, and prefetches the data that the next step reads. */
static void look_up_outer(const struct extents *extents, const uint64_t *address, size_t nr,
			  struct extent_found *ret)
{
	const struct extent_index *index = &extents->outer;
	const struct extent_run *run[EXTENTS_BATCH], *near = NULL;
	uint32_t low[EXTENTS_BATCH], high[EXTENTS_BATCH], likely[EXTENTS_BATCH];

	for (size_t i = 0; i < nr; i++) {
		run[i] = near = run_of(index, address[i], near);
		if (run[i]->page != NO_PAGES && address[i] >= run[i]->start &&
		    address[i] < run[i]->end)
			__builtin_prefetch(&index->page.at[page_of(index, run[i], address[i])]);
	}
	for (size_t i = 0; i < nr; i++) {
		low[i] = EXTENT_NONE;
		if (address[i] < run[i]->start || address[i] >= run[i]->end)
			continue;
		narrow(index, run[i], address[i], &low[i], &high[i]);
		likely[i] = guess(index, low[i], high[i], address[i]);
		__builtin_prefetch(packed_at(extents->list, likely[i]));
	}
	for (size_t i = 0; i < nr; i++)
		ret[i] = (struct extent_found){ low[i] == EXTENT_NONE ?
							EXTENT_NONE :
							choose(extents, low[i], high[i], likely[i],
							       address[i]),
						EXTENT_NONE };
}

/* Look up the addresses that are in blocks of the user's allocators. */
static void look_up_user(const struct extents *extents, const uint64_t *address, size_t nr,
			 struct extent_found *ret)
{
	for (size_t i = 0; i < nr; i++) {
		uint32_t block = look_up(extents, &extents->user, address[i]);

		if (block != EXTENT_NONE)
			ret[i] = (struct extent_found){ block, look_up(extents, &extents->outer,
								       start_of(extents, block)) };
	}
}

void extents_look_up(const struct extents *extents, const uint64_t *address, size_t nr,
		     struct extent_found *ret)
{
	if (extents->outer.runs.nr)
		look_up_outer(extents, address, nr, ret);
	else
		for (size_t i = 0; i < nr; i++)
			ret[i] = (struct extent_found){ EXTENT_NONE, EXTENT_NONE };
	if (extents->user.runs.nr)
		look_up_user(extents, address, nr, ret);
}

/* The first block of an index whose extent ends behind address, or index->behind. */
static uint32_t first_behind(const struct extents *extents, const struct extent_index *index,
			     uint64_t address)
{
	return LOWER_BOUND(i, index->first, index->behind, extents_end(extents, i) <= address);
}

struct extent_at extents_from(const struct extents *extents, uint64_t address)
{
	return (struct extent_at){ address, first_behind(extents, &extents->outer, address),
				   first_behind(extents, &extents->user, address) };
}

/* Move to the first block that ends behind address; UINT64_MAX: there is none. */
static uint64_t go_on(const struct extents *extents, const struct extent_index *index,
		      uint32_t *block, uint64_t address)
{
	while (*block < index->behind && extents_end(extents, *block) <= address)
		++*block;
	return *block < index->behind ? MAX(start_of(extents, *block), address) : UINT64_MAX;
}

bool extents_next(const struct extents *extents, struct extent_at *at, struct extent *ret)
{
	uint64_t outer = go_on(extents, &extents->outer, &at->outer, at->address);
	uint64_t user = go_on(extents, &extents->user, &at->user, at->address);

	if (outer == UINT64_MAX && user == UINT64_MAX)
		return false;
	if (user <= outer)
		*ret = (struct extent){ user, extents_end(extents, at->user), at->user,
					look_up(extents, &extents->outer,
						start_of(extents, at->user)) };
	else
		*ret = (struct extent){ outer, MIN(extents_end(extents, at->outer), user),
					at->outer, EXTENT_NONE };
	at->address = ret->end;
	return true;
}
