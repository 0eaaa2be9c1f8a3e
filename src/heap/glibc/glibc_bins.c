/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The links of an arena's bins, for a check, and what is in its lists. */

#include <inttypes.h>

#include "base/cleanup.h"
#include "heap/glibc/glibc.h"

/* The words of a chunk that is in a bin. */
struct links {
	uint64_t prev_size, size, fd, bk;
};

/* Why the chunk cannot be in this bin; NULL: it can. */
static const char *wrong_in_bin(const struct heap_chunk *chunk, uint16_t heap, unsigned bin)
{
	if (!chunk)
		return "no chunk";
	if (chunk->kind != CHUNK_FREE)
		return "not free";
	if (chunk->heap != heap)
		return "of another heap";
	/* number 0 is the unsorted bin */
	if (bin && (chunk->size < 1024 ? bin != chunk->size / 16 - 1 : bin < 1024 / 16 - 1))
		return "of a size for another bin";
	return NULL;
}

/*
 * *nr counts the chunks that were met in bins of this arena. They cannot be more than its free
 * chunks.
 */
static struct err *check_bin(struct glibc *glibc, uint16_t heap, unsigned bin, uint64_t most,
			     uint64_t *nr)
{
	uint64_t header = glibc->walk->arenas.at[heap].address + glibc->layout.bins + bin * 16ull -
			  CHUNK_HEADER;
	uint64_t before = header, at;

	if (!glibc_walk_peek(glibc, header + 16, &at))
		return NULL;
	while (at != header) {
		struct heap_chunk chunk;
		bool found = heap_chunk_at(&glibc->walk->chunks, at + CHUNK_HEADER, &chunk, NULL);
		const char *wrong = wrong_in_bin(found ? &chunk : NULL, heap, bin);
		struct links links;

		if (!wrong && *nr >= most)
			wrong = "in a bin already";
		if (wrong)
			return glibc_walk_damage(glibc, (struct heap_damage){
						.heap = heap, .address = before + 16,
						.before = before == header ? 0 :
							  before + CHUNK_HEADER },
						 "bin %u leads to 0x%" PRIx64 ": %s", bin + 1,
						 at, wrong);
		if (memory_read(glibc->source->memory, at, &links, sizeof(links)))
			return NULL;
		if (links.bk != before)
			return glibc_walk_damage(glibc, (struct heap_damage){
						.heap = heap, .address = at + 24,
						.after = at + CHUNK_HEADER },
						 "chunk in bin %u points back to 0x%" PRIx64
						 ", not 0x%" PRIx64, bin + 1, links.bk, before);
		++*nr;
		before = at;
		at = links.fd;
	}
	return NULL;
}

static struct err *check_arena(struct glibc *glibc, uint16_t heap, uint64_t nr_free)
{
	uint64_t before = heap_walk_all_damage(glibc->walk), nr = 0;
	struct err *err = NULL;

	for (unsigned bin = 0; bin < BINS && !err; bin++)
		err = check_bin(glibc, heap, bin, nr_free, &nr);
	if (err || nr == nr_free || heap_walk_all_damage(glibc->walk) != before)
		return err;
	return glibc_walk_damage(glibc, (struct heap_damage){
				.heap = heap, .address = glibc->walk->arenas.at[heap].address },
				 "%" PRIu64 " chunks are free, %" PRIu64 " are in its bins",
				 nr_free, nr);
}

/* How many free chunks each arena has; the caller frees it. NULL: ERR_NOMEM. */
static uint64_t *count_free(const struct heap_walk *walk)
{
	uint64_t *nr_free = calloc(walk->arenas.nr, sizeof(*nr_free));
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;

	while (nr_free && heap_chunks_next(&walk->chunks, &at, &chunk))
		if (chunk.kind == CHUNK_FREE)
			nr_free[chunk.heap]++;
	return nr_free;
}

struct err *glibc_bins_check(struct glibc *glibc)
{
	const struct heap_walk *walk = glibc->walk;
	AUTO_FREE uint64_t *nr_free = count_free(walk);
	struct err *err = nr_free ? NULL : err_nomem;

	for (size_t i = 0; i < walk->arenas.nr && !err; i++)
		err = check_arena(glibc, (uint16_t)i, nr_free[i]);
	return err;
}

static void add_chunk(struct heap_list *list, uint64_t size)
{
	list->least = list->count ? MIN(list->least, size) : size;
	list->most = MAX(list->most, size);
	list->bytes += size;
	list->count++;
}

/* Add up a bin of an arena with this many free chunks, in all its bins. */
static bool add_bin(struct glibc *glibc, uint64_t header, uint64_t nr_free, struct heap_list *list)
{
	uint64_t before = header, at;
	struct links links;

	if (!glibc_walk_peek(glibc, header + CHUNK_HEADER, &at))
		return false;
	while (at != header) {
		if (list->count >= nr_free ||
		    memory_read(glibc->source->memory, at, &links, sizeof(links)) ||
		    links.bk != before)
			return false;
		add_chunk(list, links.size);
		before = at;
		at = links.fd;
	}
	return true;
}

static void add_fast(const struct heap_walk *walk, struct heap_lists *lists)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;

	while (heap_chunks_next(&walk->chunks, &at, &chunk)) {
		uint64_t i = chunk.size / CHUNK_HEADER - CHUNK_LEAST / CHUNK_HEADER;

		if (chunk.kind == CHUNK_FAST && i < HEAP_FASTBINS)
			add_chunk(&lists[chunk.heap].fast[i], chunk.size);
	}
}

/* The bins are read, not made of the walk's chunks: only the list says which chunks are unsorted. */
static void add_arena(struct glibc *glibc, uint16_t heap, uint64_t nr_free)
{
	const struct heap_arena *arena = &glibc->walk->arenas.at[heap];
	struct heap_lists *lists = &glibc->walk->lists.at[heap];
	uint64_t bins = arena->address + glibc->layout.bins - CHUNK_HEADER;

	lists->heap = heap;
	lists->whole = arena->whole;
	for (unsigned i = 0; i < BINS && lists->whole; i++)
		lists->whole = add_bin(glibc, bins + 16 * i, nr_free, &lists->bin[i]);
	if (!arena->main && arena->top)
		glibc_layout_add_heaps(glibc, arena, lists);
}

struct err *glibc_bins_add_up(struct glibc *glibc)
{
	struct heap_walk *walk = glibc->walk;
	AUTO_FREE uint64_t *nr_free = count_free(walk);

	if (!nr_free || !vec_slot(&walk->lists, walk->arenas.nr - 1))
		return err_nomem;
	add_fast(walk, walk->lists.at);
	for (size_t i = 0; i < walk->arenas.nr; i++)
		add_arena(glibc, (uint16_t)i, nr_free[i]);
	return NULL;
}
