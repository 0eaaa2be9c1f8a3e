/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Extents of blocks, and the index by page (extents.h). */

#include "heap/extents.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define PAGE_SHIFT	12
#define GAP_MAX		(64ull << PAGE_SHIFT)	/* between extents of a run */

/* One of no bytes is still somewhere. */
static uint64_t end_of(const struct block *block, size_t nr, size_t i)
{
	uint64_t len = MAX(block[i].size, 1ull), end;

	if (__builtin_add_overflow(block[i].address, len, &end))
		end = UINT64_MAX;
	return i + 1 < nr ? MIN(end, MAX(block[i + 1].address, block[i].address)) : end;
}

static struct err *add(struct extents *extents, uint64_t start, uint64_t end, uint32_t block,
		       uint32_t outer)
{
	if (start >= end)
		return NULL;
	if (extents->first[block] == EXTENT_NONE)
		extents->first[block] = (uint32_t)extents->vec.nr;
	return vec_push(&extents->vec, ((struct extent){ start, end, block, outer }));
}

/*
 * Those of malloc, [0, nr_outer), and the user's own behind them, each in order and without
 * overlap: merged, with the user's on top.
 */
static struct err *merge(struct extents *extents, const struct block *block, size_t nr_outer,
			 size_t nr)
{
	const struct block *user = nr ? block + nr_outer : NULL;
	size_t nr_user = nr - nr_outer, u = 0;
	uint64_t covered = 0;
	struct err *err = NULL;

	for (size_t i = 0; i <= nr_outer && !err; i++) {
		bool any = i < nr_outer;	/* behind the last one lies the rest of the user's */
		uint64_t start = any ? block[i].address : UINT64_MAX;
		uint64_t end = any ? end_of(block, nr_outer, i) : UINT64_MAX;

		for (; u < nr_user && user[u].address < end && !err; u++) {
			bool inside = any && user[u].address >= start;

			if (inside)
				err = add(extents, MAX(start, covered), user[u].address, (uint32_t)i,
					  EXTENT_NONE);
			covered = end_of(user, nr_user, u);
			if (!err)
				err = add(extents, user[u].address, covered, (uint32_t)(nr_outer + u),
					  inside ? (uint32_t)i : EXTENT_NONE);
		}
		if (any && !err)
			err = add(extents, MAX(start, covered), end, (uint32_t)i, EXTENT_NONE);
	}
	return err;
}

/* Extents of a run are small and near each other, so that it has few pages. */
static bool fits(const struct extent_run *run, const struct extent *extent)
{
	return extent->start - run->end <= GAP_MAX && extent->end - extent->start <= GAP_MAX &&
	       (run->nr > 1 || run->end - run->start <= GAP_MAX);
}

static struct err *index_run(struct extents *extents, struct extent_run *run)
{
	uint64_t page = run->start >> PAGE_SHIFT, last = (run->end - 1) >> PAGE_SHIFT;
	uint32_t i = run->first;
	struct err *err = NULL;

	run->page = extents->page.nr;
	if (run->nr > 1)
		err = vec_reserve(&extents->page, last - page + 1);
	for (; run->nr > 1 && !err && page <= last; page++) {
		while (extents->vec.at[i].end <= page << PAGE_SHIFT)
			i++;
		extents->page.at[extents->page.nr++] = i;
	}
	return err;
}

static struct err *make_runs(struct extents *extents)
{
	struct extent_run *run = NULL;
	struct err *err = NULL;

	for (size_t i = 0; i < extents->vec.nr && !err; i++) {
		const struct extent *extent = &extents->vec.at[i];

		if (run && fits(run, extent)) {
			run->end = extent->end;
			run->nr++;
			continue;
		}
		err = vec_push(&extents->runs,
			       ((struct extent_run){ extent->start, extent->end, (uint32_t)i, 1, 0 }));
		if (!err)
			run = &extents->runs.at[extents->runs.nr - 1];
	}
	for (size_t i = 0; i < extents->runs.nr && !err; i++)
		err = index_run(extents, &extents->runs.at[i]);
	return err;
}

struct err *extents_build(const struct block *block, size_t nr, struct extents *ret)
{
	struct extents extents = EXTENTS_INIT;
	size_t nr_outer = nr;
	struct err *err;

	if (nr >= EXTENT_NONE / 4)
		return err_create(ERR_RANGE, "more than %u blocks", EXTENT_NONE / 4);
	while (nr_outer && block[nr_outer - 1].heap == LOG_HEAP_USER)
		nr_outer--;
	extents.first = malloc((nr + 1) * sizeof(*extents.first));
	if (!extents.first)
		return err_nomem;
	memset(extents.first, 0xff, (nr + 1) * sizeof(*extents.first));
	err = vec_reserve(&extents.vec, nr);
	if (!err)
		err = merge(&extents, block, nr_outer, nr);
	if (!err)
		err = make_runs(&extents);
	if (err) {
		extents_free(&extents);
		return err;
	}
	if (extents.vec.nr) {
		extents.low = extents.vec.at[0].start;
		extents.high = extents.vec.at[extents.vec.nr - 1].end;
	}
	*ret = extents;
	return NULL;
}

void extents_free(struct extents *extents)
{
	vec_free(&extents->vec);
	vec_free(&extents->runs);
	vec_free(&extents->page);
	free(extents->first);
	extents->first = NULL;
}

/* The last run that does not start behind address. */
static const struct extent_run *run_of(const struct extents *extents, uint64_t address)
{
	size_t low = 0, high = extents->runs.nr;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (extents->runs.at[middle].start <= address)
			low = middle;
		else
			high = middle;
	}
	return &extents->runs.at[low];
}

uint32_t extents_look_up(const struct extents *extents, uint64_t address)
{
	const struct extent_run *run = run_of(extents, address);
	const struct extent *extent = extents->vec.at;
	uint32_t low = run->first, high = run->first + run->nr - 1;

	if (address >= run->end)
		return EXTENT_NONE;
	if (run->nr > 1) {
		uint64_t page = (address >> PAGE_SHIFT) - (run->start >> PAGE_SHIFT);

		low = extents->page.at[run->page + page];
		if (page < ((run->end - 1) >> PAGE_SHIFT) - (run->start >> PAGE_SHIFT))
			high = extents->page.at[run->page + page + 1];
	}
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (extent[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return extent[low].start <= address ? low : EXTENT_NONE;
}
