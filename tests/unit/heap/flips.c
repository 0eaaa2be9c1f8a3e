/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Damage to a heap's image (flips.h). */

#include "flips.h"

#include <string.h>

#include "base/compiler.h"
#include "heap/free_space.h"
#include "log/log.h"
#include "os/page_runs.h"

static const struct image_spec specs[FLIP_IMAGES] = {
	{ .heaps = 2, .mapped = 2 },
	{ .have_fastchunks = true, .heaps = 1, .uneven_brk = true, .mapped = 1 },
	{ .have_fastchunks = true, .wide_counts = true, .heaps = 3, .second_heap = true },
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true,
	  .heaps = 4, .mapped = 4 },
	{ .wide_counts = true, .safe_linking = true, .page_size = true, .room = true,
	  .no_fastbins = true, .heaps = 3, .mapped = 3 },
	{ .have_fastchunks = true, .wide_counts = true, .safe_linking = true, .page_size = true,
	  .heaps = 2, .mapped = 2, .blocked = true },
};

static void populate(struct image *image, unsigned heap)
{
	enum chunk_kind fast = image->spec.no_fastbins ? CHUNK_CACHED : CHUNK_FAST;

	for (unsigned i = 0; i < 8; i++) {
		image_chunk(image, heap, 0x20 + 0x10 * i, CHUNK_USED);
		image_chunk(image, heap, 0x20 + 0x10 * (i % 3), fast);
		image_chunk(image, heap, image->spec.room ? 0x510 : 0x30, CHUNK_CACHED);
		image_chunk(image, heap, 0x90 + 0x90 * i, CHUNK_FREE);
	}
	image_chunk(image, heap, 0x40, CHUNK_USED);
}

void flips_make(struct image *image, unsigned n)
{
	image_make(image, &specs[n % FLIP_IMAGES], populate);
}

/* Where it hurts, mostly: in chunks and arenas, and not in the empty space behind them. */
static uint64_t pick_address(const struct image *image, uint64_t offset, uint8_t how,
			     uint64_t value)
{
	if (how & 0x80) {
		const struct image_piece *piece = &image->piece[value % image->nr_pieces];

		return piece->start + offset % (piece->len - 8) / 8 * 8;
	}
	if (how & 0x40)
		return image->chunk[value % image->nr_chunks].block - 16 + offset % 4 * 8;
	return image->arena[value % image->spec.heaps] + offset % 2192 / 8 * 8;
}

void flips_change(struct image *image, uint64_t offset, uint8_t how, uint64_t value)
{
	const struct image_chunk *chunk = &image->chunk[offset / 8 % image->nr_chunks];
	uint64_t address = pick_address(image, offset, how, value);
	uint64_t word = image_get(image, address);

	switch (how % 6) {
	case 0:
		word ^= 1ull << offset / 8 % 64;
		break;
	case 1:
		word = value;
		break;
	case 2:
		word = chunk->block;
		break;
	case 3:
		word = chunk->block - 16;
		break;
	case 4:
		word = value % 4096 * 16 + value / 4096 % 8;
		break;
	case 5:
		word = 0;
		break;
	}
	image_put(image, address, word);
}

static const char *check_chunk(const struct heap_walk *walk, const struct heap_chunk *chunk,
			       uint64_t behind)
{
	uint64_t start = chunk->address - 16;
	struct heap_chunk found;

	if (behind > chunk->address)
		return "chunks overlap";
	if (chunk->note)
		return "a chunk has a note";
	if (!heap_chunk_at(&walk->chunks, chunk->address, &found, NULL) ||
	    found.size != chunk->size || found.kind != chunk->kind)
		return "a chunk is not found";
	if (chunk->kind >= CHUNK_KINDS || chunk->size < 16)
		return "a chunk is none";
	if (chunk->heap >= walk->arenas.nr && chunk->heap != LOG_HEAP_MMAP)
		return "a chunk of no heap";
	for (size_t j = 0; j < walk->spans.nr; j++)
		if (start >= walk->spans.at[j].start && start < walk->spans.at[j].end)
			return start + chunk->size <= walk->spans.at[j].end ? NULL :
			       "a chunk is longer than its heap";
	return "a chunk outside all heaps";
}

/* What is said to be whole ends with its top; no heap lies outside the mappings. */
static const char *check_heaps(const struct image *image, const struct heap_walk *walk)
{
	for (size_t i = 0; i < walk->arenas.nr; i++) {
		const struct heap_arena *arena = &walk->arenas.at[i];
		struct heap_chunk top;

		if (arena->whole && arena->top &&
		    (!heap_chunk_at(&walk->chunks, arena->top + 16, &top, NULL) ||
		     top.kind != CHUNK_TOP))
			return "a whole heap has no top";
	}
	for (size_t i = 0; i < walk->spans.nr; i++) {
		bool inside = false;

		for (unsigned j = 0; j < image->nr_pieces; j++)
			inside |= walk->spans.at[i].start >= image->map[j].start &&
				  walk->spans.at[i].end <= image->map[j].end;
		if (!inside)
			return "a heap is in no mapping";
	}
	return NULL;
}

static const char *check_sums(const struct heap_walk *walk)
{
	for (size_t i = 0; i < walk->arenas.nr; i++) {
		const struct heap_arena *arena = &walk->arenas.at[i];
		struct chunk_at at = heap_chunks_start();
		uint64_t bytes[CHUNK_KINDS] = { 0 };
		struct heap_chunk chunk;

		while (heap_chunks_next(&walk->chunks, &at, &chunk))
			if (chunk.heap == i)
				bytes[chunk.kind] += chunk.size;
		if (memcmp(bytes, arena->bytes, sizeof(bytes)))
			return "sums of a heap are wrong";
	}
	return walk->damage.nr > HEAP_DAMAGE_MAX ? "too much damage is listed" : NULL;
}

/* Ranges are in order and not empty, whatever is in the memory. */
static const char *check_ranges(struct image *image)
{
	struct heap_ranges ranges;
	uint64_t start = 0;
	bool wrong = false;

	if (glibc_ranges(&image->source, &ranges))
		return "no ranges, but an error";
	vec_each(range, &ranges.vec) {
		wrong |= range->start < start || range->start >= range->end;
		start = range->start;
	}
	heap_ranges_free(&ranges);
	return wrong ? "a range is empty, or not in order" : NULL;
}

/* With all pages resident each free byte is there, and for one reason. */
static const char *check_free_space(const struct heap_walk *walk)
{
	struct page_runs pages = { VEC_INIT };
	struct free_space space = FREE_SPACE_INIT;
	const struct free_space_source source = { .walk = walk, .pages = &pages };
	const char *wrong = vec_push(&pages.vec, ((struct page_run){ 0, 1ull << 47, false })) ||
				    free_space_add_up(&source, &space) ?
				    "no free space, but an error" : NULL;

	for (size_t i = 0; !wrong && i < walk->arenas.nr; i++) {
		const uint64_t *bytes = walk->arenas.at[i].bytes;
		const struct free_sum *sum = &space.arenas.at[i];

		if (sum->bytes != bytes[CHUNK_FAST] + bytes[CHUNK_FREE] + bytes[CHUNK_TOP] ||
		    sum->cached != bytes[CHUNK_CACHED] || sum->cached_resident != sum->cached)
			wrong = "free bytes are missing, or too many";
		else if (sum->resident != sum->bytes)
			wrong = "free bytes are resident for no reason, or for two";
	}
	free_space_free(&space);
	page_runs_free(&pages);
	return wrong;
}

const char *flips_check(struct image *image)
{
	const char *wrong = check_ranges(image);
	struct heap_chunk chunk;
	struct heap_walk walk;
	struct chunk_at at;
	uint64_t behind = 0, nr = 0;
	struct err *err = glibc_walk(&image->source, &walk);

	if (err)
		return err->code == ERR_NOTFOUND ? wrong : "neither a walk nor ERR_NOTFOUND";
	at = heap_chunks_start();
	for (; !wrong && heap_chunks_next(&walk.chunks, &at, &chunk);
	     behind = chunk.address + chunk.size, nr++)
		wrong = check_chunk(&walk, &chunk, behind);
	if (!wrong && nr != walk.chunks.nr)
		wrong = "there are more chunks, or less";
	if (!wrong)
		wrong = check_heaps(image, &walk);
	if (!wrong)
		wrong = check_sums(&walk);
	if (!wrong)
		wrong = check_free_space(&walk);
	heap_walk_free(&walk);
	return wrong;
}
