/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chunks that are mappings of their own. They are in no list: a page of an anonymous mapping that
 * begins with such a header is one. Neighbours may be one mapping to the kernel, so each is
 * followed by its length.
 *
 * An aligned block does not begin its mapping: the header at the mapping's start is what it was
 * before the front was cut off (_int_memalign leaves it there), and the block's own header has the
 * distance in prev_size. It is looked for where alignments would have put it.
 *
 * Since 2.43 such a chunk ends 16 bytes before its mapping, so that its block is as long as that of
 * any other chunk of its size, and prev_size has a bit for huge pages. As all else about them is a
 * multiple of a page, each header says by itself which kind it is.
 */

#include "base/page.h"
#include "heap/glibc/glibc.h"
#include "log/log.h"

#define TAIL	16u		/* of a mapping, behind its chunk */
#define HUGE_PAGES	1ull		/* in prev_size */
/* HEAP_PAGES_MAX while the target runs; all of them take 10 ms or so. */
#define PAGES_RUNNING	(1u << 13)

struct look {
	struct glibc *glibc;
	size_t nr_heaps;	/* of the walk's spans: those in order of address */
	/* all pages are tried, not only those at the start of a mapping or behind a chunk */
	bool all_pages;
	uint64_t nr, bytes;	/* number and bytes found so far */
	unsigned pages;		/* pages that were looked at only because all_pages is set */
};

struct header {
	uint64_t prev_size, size;
};

/* The bytes that a chunk of this length leaves at the end of its mapping. */
static uint64_t tail_of(uint64_t len)
{
	return len % PAGE ? TAIL : 0;
}

static uint64_t mapping_of(uint64_t len)
{
	return ALIGN_UP(len, PAGE);
}

/* The window is not used, since hardly any two of them are in one page. */
static bool read_header(const struct glibc *glibc, uint64_t chunk, struct header *ret)
{
	return !memory_read(glibc->source->memory, chunk, ret, sizeof(*ret));
}

/*
 * Returns the length of the chunk whose header is at the start of a page, if the chunk is a whole
 * mapping; 0: there is none.
 */
static uint64_t mapped_length(const struct glibc *glibc, uint64_t page, uint64_t end)
{
	struct header header;
	uint64_t len;

	if (!read_header(glibc, page, &header) || (header.size & SIZE_FLAGS) != IS_MMAPPED)
		return 0;
	len = header.size & ~SIZE_FLAGS;
	/* The length is checked first, since that of the mapping could overflow. */
	if (!len || len > end - page || header.prev_size & ~(tail_of(len) ? HUGE_PAGES : 0ull))
		return 0;
	return len == mapping_of(len) - tail_of(len) && mapping_of(len) <= end - page ? len : 0;
}

/* Is there the header of a block that was aligned inside the mapping? */
static bool is_aligned_chunk(const struct glibc *glibc, uint64_t chunk, uint64_t page, uint64_t len)
{
	uint64_t lead = chunk - page;
	struct header header;

	return chunk > page && chunk < page + len - CHUNK_HEADER &&
	       read_header(glibc, chunk, &header) &&
	       (header.prev_size == lead ||
		(tail_of(len) && header.prev_size == (lead | HUGE_PAGES))) &&
	       header.size == ((len - lead) | IS_MMAPPED);
}

static uint64_t chunk_in(const struct glibc *glibc, uint64_t page, uint64_t len)
{
	for (uint64_t align = 32; align < len && align; align *= 2) {
		uint64_t block = ALIGN_UP(page + CHUNK_HEADER, align);

		if (is_aligned_chunk(glibc, block - CHUNK_HEADER, page, len))
			return block - CHUNK_HEADER;
		/* A front that is too short to be a chunk is made longer. */
		if (is_aligned_chunk(glibc, block + align - CHUNK_HEADER, page, len))
			return block + align - CHUNK_HEADER;
	}
	return page;
}

bool glibc_mapped_skip_heap(const struct glibc *glibc, size_t nr_heaps, uint64_t *page)
{
	const struct heap_span *span = glibc->walk->spans.at;
	uint64_t max = glibc->layout.heap_max;
	size_t low = LOWER_BOUND(i, 0, nr_heaps, span[i].end <= *page);

	if (low == nr_heaps)
		return false;
	span += low;
	if (span->start >= *page + PAGE &&
	    !(!glibc_is_main(glibc, span->heap) && max && (span->start & ~(max - 1)) <= *page))
		return false;
	*page = MAX(ALIGN_UP(span->end, PAGE), *page + PAGE);
	return true;
}

/*
 * Returns the end of the stack at this address, behind a thread's control block; the end of the map
 * if there is none.
 */
static uint64_t behind_stack(const struct look *look, uint64_t page, uint64_t end)
{
	const struct heap_source *source = look->glibc->source;
	uint64_t first = end;

	for (size_t i = 0; i < source->nr_threads; i++)
		if (source->thread[i] >= page && source->thread[i] < first)
			first = source->thread[i];
	return MIN(ALIGN_UP(first + 1, PAGE), end);
}

static bool found_all(const struct look *look)
{
	const struct heap_walk *walk = look->glibc->walk;
	uint64_t more = walk->mmapped_bytes - look->bytes;

	if (!walk->mmapped_known || look->nr != walk->mmapped)
		return false;
	return !more || (glibc_sum_drifts(look->glibc) && look->bytes < walk->mmapped_bytes &&
			 more % 16 == 0);
}

/* It takes dozens of reads to find where the block begins, and glibc_ranges does not need it. */
static uint64_t start_of(const struct glibc *glibc, uint64_t page, uint64_t len)
{
	return glibc->running ? page : chunk_in(glibc, page, len);
}

/* False: the search by pages has taken long enough. */
static bool count_page(struct look *look)
{
	return look->pages++ <= (look->glibc->running ? PAGES_RUNNING : HEAP_PAGES_MAX);
}

/*
 * The next page to be looked at. A process may have reserved terabytes: what it has never written is
 * passed over, whole ranges at a time.
 */
static bool next_page(const struct look *look, uint64_t end, uint64_t *page, uint64_t *part_end)
{
	return look->all_pages ? glibc_pieces_next_written(look->glibc, end, page, part_end) :
				 *page < end;
}

/* While the target runs, pages are only searched for chunks that are known to be there. */
static bool may_search_pages(const struct glibc *glibc)
{
	return !glibc->running || (glibc->source->live && glibc->walk->mmapped_known);
}

static struct err *look_in(struct look *look, const struct heap_map *map)
{
	uint64_t page = map->start, part_end = 0;
	struct err *err = NULL;

	while (!err && next_page(look, map->end, &page, &part_end)) {
		uint64_t len;

		if (glibc_mapped_skip_heap(look->glibc, look->nr_heaps, &page))
			continue;
		len = mapped_length(look->glibc, page, map->end);
		if (len) {
			look->nr++;
			look->bytes += mapping_of(len);
			err = glibc_pieces_add_span(look->glibc, start_of(look->glibc, page, len),
						    page + len, LOG_HEAP_MMAP);
		} else if (!look->all_pages) {
			len = behind_stack(look, page, map->end) - page;
		} else if (!count_page(look)) {
			break;
		}
		page += len ? mapping_of(len) : PAGE;
	}
	return err;
}

static struct err *look_everywhere(struct look *look)
{
	const struct heap_source *source = look->glibc->source;
	struct err *err = NULL;

	look->glibc->walk->spans.nr = look->nr_heaps;
	look->nr = look->bytes = 0;
	for (size_t i = 0; i < source->nr_maps && !err && !found_all(look); i++)
		if (source->map[i].anonymous && !source->map[i].brk)
			err = look_in(look, &source->map[i]);
	return err;
}

struct err *glibc_mapped_find(struct glibc *glibc)
{
	struct heap_walk *walk = glibc->walk;
	struct look look = { .glibc = glibc, .nr_heaps = walk->spans.nr };
	struct err *err = look_everywhere(&look);

	if (!err && !found_all(&look) && may_search_pages(glibc)) {
		look.all_pages = true;
		err = look_everywhere(&look);
	}
	walk->mmapped_certain = found_all(&look);
	if (!walk->mmapped_known || walk->mmapped_certain) {
		walk->mmapped = look.nr;
		walk->mmapped_bytes = look.bytes;
	}
	return err;
}
