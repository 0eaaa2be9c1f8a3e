/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What glibc counts of its mapped chunks: struct malloc_par (mp_) is found by its sbrk_base. */

#include <string.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "heap/glibc/glibc.h"

#define HUGE_PAGE_MAX	(16ull << 30)

/*
 * The end of struct malloc_par up to sbrk_base. The four counts come right before mmapped_mem, or,
 * since 2.35 has put hp_pagesize and an int before them, with one int of padding between.
 */
struct malloc_par {
	uint64_t hp_pagesize;
	int32_t word[6];
	uint64_t mmapped_mem, max_mmapped_mem, sbrk_base;
};

struct counts {
	int32_t n_mmaps, n_mmaps_max, max_n_mmaps, no_dyn_threshold;
};

static bool are_counts(const struct counts *counts, const struct malloc_par *par, bool drifts)
{
	return counts->n_mmaps >= 0 && counts->n_mmaps <= counts->max_n_mmaps &&
	       counts->max_n_mmaps <= counts->n_mmaps_max &&
	       (uint32_t)counts->no_dyn_threshold <= 1 &&
	       (!par->mmapped_mem ? !counts->n_mmaps : counts->n_mmaps || drifts) &&
	       /* Without sbrk_base there is less to check: the limit is 65536 unless it was set. */
	       (par->sbrk_base || counts->n_mmaps_max == 65536);
}

static bool is_malloc_par(const struct malloc_par *par, bool drifts, struct counts *ret)
{
	if (par->mmapped_mem > par->max_mmapped_mem ||
	    par->mmapped_mem % (drifts ? 16 : PAGE) || par->mmapped_mem >= ADDRESS_END)
		return false;
	for (unsigned i = 1; i <= 2; i++) {
		memcpy(ret, &par->word[i], sizeof(*ret));
		if (are_counts(ret, par, drifts))
			return true;
	}
	return false;
}

/* The size of the huge pages that the process wants; 0: none, or a glibc that has no such. */
static uint64_t huge_page_of(const struct malloc_par *par, const struct counts *counts)
{
	uint64_t size = par->hp_pagesize;

	if (memcmp(&par->word[1], counts, sizeof(*counts)) || size & (size - 1))
		return 0;
	return size > PAGE && size <= HUGE_PAGE_MAX ? size : 0;
}

/* What sbrk_base must be. */
struct base {
	uint64_t address;
	/*
	 * If this is not NULL, `address` is not known. It is in memory that sbrk has made (brk), or
	 * it is the address of a piece that was mapped, or 0 because there is no such piece.
	 */
	const struct heap_source *in;
	bool brk;
};

/* Can this be sbrk_base, where it is not known what that must be? */
static bool may_be_base(const struct base *base, uint64_t address)
{
	const struct heap_map *map;

	if (!address)
		return !base->brk;
	/* [heap] may begin at the next page behind it. */
	map = glibc_pieces_map_of(base->in, base->brk ? ALIGN_UP(address, PAGE) : address);
	return map && map->brk == base->brk && (base->brk || (map->anonymous && address % PAGE == 0));
}

static bool search_sums(const struct glibc *glibc, const struct heap_map *map,
			const struct base *base, struct malloc_par *par, struct counts *counts)
{
	uint64_t len = MIN(map->end - map->start, DATA_MAX);
	AUTO_FREE uint8_t *bytes = malloc(len);

	if (!bytes || !memory_read_holes(glibc->source->memory, map->start, bytes, len))
		return false;
	for (size_t i = 0; i + sizeof(*par) <= len; i += 8) {
		memcpy(par, bytes + i, sizeof(*par));
		if (!base->in && par->sbrk_base != base->address)
			continue;
		if (is_malloc_par(par, glibc_sum_drifts(glibc), counts) &&
		    (!base->in || (counts->n_mmaps_max == 65536 &&
				   may_be_base(base, par->sbrk_base))))
			return true;
	}
	return false;
}

static bool find_sums(const struct glibc *glibc, size_t libc, const struct base *base,
		      struct malloc_par *par, struct counts *counts)
{
	const struct heap_libc *is = &glibc->source->libc[libc];

	for (size_t i = 0; i < is->nr_data; i++)
		if (search_sums(glibc, &is->data[i], base, par, counts))
			return true;
	return false;
}

bool glibc_sums_has_brk_base(const struct glibc *glibc, size_t libc)
{
	const struct base base = { .in = glibc->source, .brk = true };
	struct malloc_par par;
	struct counts counts;

	return find_sums(glibc, libc, &base, &par, &counts);
}

void glibc_sums_find_mapped(struct glibc *glibc)
{
	struct heap_walk *walk = glibc->walk;

	walk->mmapped_known = true;
	for (size_t i = 0; i < glibc->source->nr_libcs; i++) {
		const struct glibc_libc *libc = &glibc->libc[i];
		struct base base = { .address = libc->sbrk_base };
		struct malloc_par par;
		struct counts counts;

		if (!libc->found)
			continue;
		/* Its first piece was mapped; which one that is is not known if there are several. */
		if (!libc->brk && !libc->sbrk_base)
			base.in = glibc->source;
		if (!find_sums(glibc, i, &base, &par, &counts)) {
			walk->mmapped_known = false;
			return;
		}
		walk->mmapped += (uint64_t)counts.n_mmaps;
		walk->mmapped_bytes += par.mmapped_mem;
		walk->mmapped_most += (uint64_t)counts.max_n_mmaps;
		walk->mmapped_bytes_most += par.max_mmapped_mem;
		glibc->huge_page = MAX(glibc->huge_page, huge_page_of(&par, &counts));
		walk->huge_page = glibc->huge_page;
	}
}
