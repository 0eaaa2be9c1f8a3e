/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heaps as glibc makes them (glibc_image.h). */

#include "glibc_image.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define PIECES		(0x7f0000100000ull + image->spec.shift)
#define DATA		(0x7f0000200000ull + image->spec.shift)
#define TLS		(0x7f0000300000ull + image->spec.shift)
#define MAPPED		(0x7f0000400000ull + image->spec.shift)
#define BRK		(0x555555600000ull + image->spec.shift)
#define HEAPS		(0x7e0000000000ull + image->spec.shift)
#define TLS_LEN		8192u
/* of `tcache`, below the thread pointer; another one for each glibc */
#define TLS_OFFSET	(72u + 16u * (image->spec.shift >> 36))
#define MAIN_ARENA	0x9c0u	/* in the data */
#define MALLOC_PAR	0x200u
#define DUMMY_CACHE	0x3000u
#define CACHE_ROOM	16u
#define DRIFT		32u	/* of mmapped_mem: two mremaps */

static struct err *image_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	const struct image *image = (struct image *)memory;

	for (unsigned i = 0; i < image->nr_pieces; i++) {
		const struct image_piece *piece = &image->piece[i];

		if (addr < piece->start || addr - piece->start >= piece->len)
			continue;
		*len_ret = MIN(len, piece->len - (addr - piece->start));
		memcpy(buf, piece->bytes + (addr - piece->start), *len_ret);
		return NULL;
	}
	return err_create(ERR_MEMORY, "nothing is there");
}

static uint8_t *byte_at(const struct image *image, uint64_t address)
{
	for (unsigned i = 0; i < image->nr_pieces; i++) {
		const struct image_piece *piece = &image->piece[i];

		if (address >= piece->start && address + 8 <= piece->start + piece->len)
			return piece->bytes + (address - piece->start);
	}
	abort();
}

uint64_t image_get(const struct image *image, uint64_t address)
{
	uint64_t word;

	memcpy(&word, byte_at(image, address), sizeof(word));
	return word;
}

void image_put(struct image *image, uint64_t address, uint64_t word)
{
	memcpy(byte_at(image, address), &word, sizeof(word));
}

static void add_piece(struct image *image, uint64_t start, size_t len, bool brk, bool anonymous)
{
	struct image_piece *piece = &image->piece[image->nr_pieces];

	*piece = (struct image_piece){ start, len, calloc(1, len) };
	if (!piece->bytes)
		abort();
	image->map[image->nr_pieces++] = (struct heap_map){ start, start + len, brk, anonymous };
}

uint64_t image_heap_max(const struct image *image)
{
	return image->spec.huge_page ? 4 * image->spec.huge_page : 64ull << 20;
}

static uint64_t heap_at(const struct image *image, unsigned n)
{
	return HEAPS + n * image_heap_max(image);
}

static unsigned state_len(const struct image *image)
{
	return image->bins + 261 * 8;
}

/* arena in use: all its bins empty. */
static void init_arena(struct image *image, unsigned heap, uint64_t arena)
{
	image->arena[heap] = arena;
	for (unsigned bin = 0; bin < 127; bin++) {
		uint64_t at = arena + image->bins + bin * 16;

		image_put(image, at, at - 16);
		image_put(image, at + 8, at - 16);
	}
}

/* heap_info, arena, and where the first chunk goes. */
static void init_heap(struct image *image, unsigned heap)
{
	uint64_t base = heap_at(image, heap), info = image->spec.page_size ? 48 : 32, chunk;

	add_piece(image, base, IMAGE_SPACE + IMAGE_BEHIND, false, true);
	init_arena(image, heap, base + info);
	image_put(image, base, base + info);
	image_put(image, base + 16, IMAGE_SPACE);
	chunk = ALIGN_UP(base + info + state_len(image), 16ull);
	image->at[heap] = image->first[heap] = chunk;
	image->system_mem[heap] = IMAGE_SPACE;
	image->base[heap] = base;
}

/* What sysmalloc does when a heap is full: two fenceposts at its end, and what is left is freed. */
void image_next_heap(struct image *image)
{
	unsigned heap = image->spec.heaps - 1;
	uint64_t base = heap_at(image, heap), end = base + IMAGE_SPACE;
	uint64_t next = heap_at(image, IMAGE_HEAPS);

	image_chunk(image, heap, end - 32 - image->at[heap], CHUNK_FREE);
	image_put(image, end - 32 + 8, 16 | 1);
	image_put(image, end - 16 + 8, 0 | 1);
	image_put(image, next, image->arena[heap]);
	image_put(image, next + 8, base);
	image_put(image, next + 16, IMAGE_SPACE);
	image->at[heap] = next + (image->spec.page_size ? 48 : 32);
	image->system_mem[heap] += IMAGE_SPACE;
	image->base[heap] = next;
}

void image_next_piece(struct image *image)
{
	bool first = image->base[0] == BRK;
	uint64_t len = IMAGE_SPACE + (first ? IMAGE_BEHIND : 0), end = image->base[0] + len;

	/* One ends with a free chunk, one with a top of 16 bytes that could not be freed. */
	image_chunk(image, 0, end - (first ? 32 : 48) - image->at[0], first ? CHUNK_FREE : CHUNK_USED);
	for (uint64_t at = end - (first ? 32 : 48); at < end; at += 16)
		image_put(image, at + 8, 16 | 1);
	image->at[0] = image->base[0] = first ? PIECES + IMAGE_SPACE : PIECES;
	image->system_mem[0] += IMAGE_SPACE + (first ? IMAGE_BEHIND : 0);
}

static uint64_t cache_len(const struct image *image)
{
	return image->spec.room ? 0x300 : image->spec.wide_counts ? 0x290 : 0x250;
}

static unsigned cache_lists(const struct image *image)
{
	return image->spec.room ? 76 : 64;
}

static unsigned count_width(const struct image *image)
{
	return image->spec.wide_counts ? 2 : 1;
}

static void init_thread(struct image *image, unsigned heap)
{
	uint64_t pointer = TLS + heap * TLS_LEN + TLS_LEN - 256;

	image->cache[heap] = image_chunk(image, heap, cache_len(image), CHUNK_OWN);
	image->threads[heap] = pointer;
	image_put(image, pointer - TLS_OFFSET, image->cache[heap]);
	for (unsigned i = 0; image->spec.room && i < cache_lists(image); i++)
		*byte_at(image, image->cache[heap] + i * count_width(image)) = CACHE_ROOM;
}

/* It has not allocated anything. */
static void init_idle_thread(struct image *image)
{
	uint64_t pointer = TLS + image->spec.heaps * TLS_LEN + TLS_LEN - 256;

	image->threads[image->spec.heaps] = pointer;
	image_put(image, pointer - TLS_OFFSET, DATA + DUMMY_CACHE);
}

void image_init(struct image *image, const struct image_spec *spec)
{
	uint64_t brk;

	memset(image, 0, sizeof(*image));
	image->memory.read = image_read;
	image->spec = *spec;
	brk = BRK + (spec->uneven_brk ? 8 : 0);
	image->bins = spec->no_fastbins ? 24 : spec->have_fastchunks ? 112 : 104;
	/* In order of address. */
	add_piece(image, BRK, IMAGE_SPACE + IMAGE_BEHIND, !spec->apart, spec->apart);
	for (unsigned i = 1; i < spec->heaps; i++)
		init_heap(image, i);
	if (spec->second_heap)
		add_piece(image, heap_at(image, IMAGE_HEAPS), IMAGE_SPACE + IMAGE_BEHIND, false, true);
	if (spec->blocked)
		add_piece(image, PIECES, 2 * IMAGE_SPACE, false, true);
	add_piece(image, DATA, 16384, false, false);
	add_piece(image, TLS, TLS_LEN * (spec->heaps + 1), false, true);
	add_piece(image, MAPPED, 0x40000, false, true);
	image->data = DATA;
	init_arena(image, 0, DATA + MAIN_ARENA);
	image->at[0] = image->first[0] = ALIGN_UP(brk, 16ull);
	image->system_mem[0] = BRK + IMAGE_SPACE - brk;
	image->base[0] = BRK;
	for (unsigned i = 0; i < spec->heaps; i++)
		init_thread(image, i);
	if (spec->no_fastbins)
		init_idle_thread(image);
}

void image_free(struct image *image)
{
	for (unsigned i = 0; i < image->nr_pieces; i++)
		free(image->piece[i].bytes);
}

uint64_t image_chunk(struct image *image, unsigned heap, uint64_t size, enum chunk_kind kind)
{
	uint64_t chunk = image->at[heap], flags = 1;

	if (image->nr_chunks == IMAGE_CHUNKS)
		abort();
	if (heap && kind != CHUNK_FREE && kind != CHUNK_TOP)
		flags |= 4;
	image_put(image, chunk + 8, size | flags);
	image->at[heap] += size;
	image->chunk[image->nr_chunks++] =
		(struct image_chunk){ chunk + 16, size, (uint8_t)kind, (uint8_t)heap };
	return chunk + 16;
}

/* --- links --- */

static uint64_t link_word(const struct image *image, uint64_t place, uint64_t to)
{
	return image->spec.safe_linking ? to ^ place >> 12 : to;
}

static void link_fast(struct image *image, const struct image_chunk *chunk)
{
	uint64_t bin = image->arena[chunk->heap] + image->bins - 16 - 80 +
		       (chunk->size - 32) / 16 * 8;

	image_put(image, chunk->block, link_word(image, chunk->block, image_get(image, bin)));
	image_put(image, bin, chunk->block - 16);
}

/* The list of a cache for such a chunk: beyond 0x410 there is one for each power of two. */
static unsigned list_for(uint64_t size)
{
	unsigned list = 64;

	if (size <= 0x410)
		return (unsigned)(size - 32) / 16;
	for (uint64_t end = 0x800; size >= end; end *= 2)
		list++;
	return list;
}

static void link_cached(struct image *image, const struct image_chunk *chunk)
{
	uint64_t cache = image->cache[chunk->heap], list = list_for(chunk->size);
	uint64_t count = cache + list * count_width(image);
	uint64_t entry = cache + cache_lists(image) * count_width(image) + list * 8;

	image_put(image, chunk->block, link_word(image, chunk->block, image_get(image, entry)));
	image_put(image, entry, chunk->block);
	*byte_at(image, count) += image->spec.room ? -1 : 1;
}

/* Into the right small bin, or the last but some of the large ones; behind its header. */
static void link_free(struct image *image, const struct image_chunk *chunk)
{
	uint64_t bin = chunk->size < 1024 ? chunk->size / 16 - 1 : 80;
	uint64_t header = image->arena[chunk->heap] + image->bins + bin * 16 - 16;
	uint64_t at = chunk->block - 16, next = image_get(image, header + 16);

	image_put(image, at + 16, next);
	image_put(image, at + 24, header);
	image_put(image, next + 24, at);
	image_put(image, header + 16, at);
	image_put(image, at + chunk->size, chunk->size);
	image_put(image, at + chunk->size + 8, image_get(image, at + chunk->size + 8) & ~1ull);
}

static void end_heap(struct image *image, unsigned heap)
{
	uint64_t base = image->base[heap], arena = image->arena[heap];

	image_put(image, arena + image->bins - 16, image->at[heap]);
	image_put(image, arena + image->bins + 259 * 8, image->system_mem[heap]);
	image_put(image, arena + image->bins + 260 * 8, image->system_mem[heap]);
	/* Newest first, behind the main one. */
	image_put(image, arena + image->bins + 256 * 8,
		  heap == 1 ? image->arena[0] :
		  image->arena[heap ? heap - 1 : image->spec.heaps - 1]);
	image_chunk(image, heap, base + IMAGE_SPACE - image->at[heap], CHUNK_TOP);
}

static void add_mapped(struct image *image, unsigned n)
{
	uint64_t start = MAPPED + image->mapped_bytes, map = 0x3000, lead = 0;
	uint64_t len = map - (image->spec.no_fastbins ? 16 : 0);

	if (n + 1 == image->spec.mapped) {
		lead = 0xff0;	/* a block at a page's start */
		image_put(image, start + lead, lead);
	}
	image_put(image, start + 8, len | 2);
	image_put(image, start + lead + 8, (len - lead) | 2);
	/* Huge pages. */
	if (!n && !lead && image->spec.no_fastbins)
		image_put(image, start, 1);
	image->mapped_bytes += map;
	image->chunk[image->nr_chunks++] = (struct image_chunk){
		start + lead + 16, len - lead, image->spec.no_fastbins ? CHUNK_USED : CHUNK_MMAPPED,
		IMAGE_MAPPED };
}

static void put_int(struct image *image, uint64_t address, uint32_t value)
{
	memcpy(byte_at(image, address), &value, sizeof(value));
}

static void end_malloc_par(struct image *image)
{
	uint64_t sums = DATA + MALLOC_PAR, counts = sums - (image->spec.page_size ? 20 : 16);
	uint64_t sum = image->mapped_bytes + (image->spec.no_fastbins ? DRIFT : 0);

	if (image->spec.page_size)
		image_put(image, counts - 12, image->spec.huge_page);
	put_int(image, counts, image->spec.mapped);
	put_int(image, counts + 4, 65536);
	put_int(image, counts + 8, image->spec.mapped);
	image_put(image, sums, sum);
	image_put(image, sums + 8, sum);
	image_put(image, sums + 16, BRK + (image->spec.uneven_brk ? 8 : 0));
}

void image_end(struct image *image)
{
	for (unsigned i = 0; i < image->spec.heaps; i++)
		end_heap(image, i);
	for (unsigned i = 0; i < image->nr_chunks; i++) {
		const struct image_chunk *chunk = &image->chunk[i];

		if (chunk->kind == CHUNK_FAST)
			link_fast(image, chunk);
		else if (chunk->kind == CHUNK_CACHED)
			link_cached(image, chunk);
		else if (chunk->kind == CHUNK_FREE)
			link_free(image, chunk);
	}
	for (unsigned i = 0; i < image->spec.mapped; i++)
		add_mapped(image, i);
	end_malloc_par(image);
	image->libc = (struct heap_libc){
		.data = &image->map[image->spec.heaps + image->spec.second_heap +
				    image->spec.blocked], .nr_data = 1,
	};
	image->source = (struct heap_source){
		.memory = &image->memory,
		.map = image->map, .nr_maps = image->nr_pieces,
		.libc = &image->libc, .nr_libcs = 1,
		.thread = image->threads, .nr_threads = image->spec.heaps + image->spec.no_fastbins,
		.all_threads = true,
		.check = true,
	};
}

void image_make(struct image *image, const struct image_spec *spec,
		void (*populate)(struct image *image, unsigned heap))
{
	image_init(image, spec);
	for (unsigned heap = 0; heap < spec->heaps; heap++)
		populate(image, heap);
	if (spec->second_heap) {
		image_next_heap(image);
		populate(image, spec->heaps - 1);
	}
	for (unsigned i = 0; spec->blocked && i < 2; i++) {
		image_next_piece(image);
		populate(image, 0);
	}
	image_end(image);
}
