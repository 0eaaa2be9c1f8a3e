/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds free chunks that only lists show: the fastbins of an arena, the caches of threads (tcache).
 */

#include <inttypes.h>
#include <string.h>

#include "heap/glibc/glibc.h"

#define CACHE_LISTS	76u	/* the most lists that a cache has */
#define SMALL_LISTS	64u	/* lists that have chunks of one size each */
/* bytes below the thread pointer in which the pointer to the cache is */
#define TLS_LOOK	65536u
#define TLS_PIECE	4096u
#define LOOSE_MOST	65536u	/* chunks that are followed from one word in flight */
#define VOTES		64u	/* lists that are asked how they are linked */
#define COUNT_UNKNOWN	UINT64_MAX

struct list {
	uint64_t head;		/* block of the first chunk */
	uint64_t least, most;	/* size of its chunks */
	/* the number of chunks by the allocator; COUNT_UNKNOWN: it has none */
	uint64_t count;
	uint64_t where;		/* the word that leads to it */
	uint16_t heap;		/* the heap that damage in the list belongs to */
	struct heap_doubt doubt;	/* doubt of damage in it; none: that of the heap */
	uint8_t kind;
};

struct lists {
	VEC(struct list) vec;
};

/* A fastbin links chunks, not blocks. */
static uint64_t block_of(const struct list *list, uint64_t link)
{
	return link && list->kind == CHUNK_FAST ? link + CHUNK_HEADER : link;
}

static bool find_chunk(const struct glibc *glibc, uint64_t block, struct heap_chunk *ret)
{
	return heap_chunk_at(&glibc->walk->chunks, block, ret, NULL);
}

static bool in_heap(const struct glibc *glibc, uint64_t block)
{
	struct heap_chunk chunk;

	return find_chunk(glibc, block, &chunk);
}

/* Read the first word of a block that may be in a list. 0: it is in none, or cannot be read. */
static uint64_t link_of(const struct glibc *glibc, const struct heap_chunk *chunk,
			const struct chunk_at *at)
{
	uint64_t link = 0;

	if (chunk->note == NOTE_LINKED)
		return glibc->links.at[glibc->run_links.at[at->run] +
				       heap_chunks_noted(&glibc->walk->chunks, at, NOTE_LINKED)];
	return glibc_walk_peek(glibc, chunk->address, &link) ? link : 0;
}

/* Returns the doubt of a cache that no thread's pointer leads to. */
static const struct heap_doubt no_thread = { .why = HEAP_DOUBT_NO_THREAD };

/* How are the entries of this list linked? */
static enum linking linking_of(const struct glibc *glibc, const struct list *list)
{
	struct heap_chunk chunk;
	struct chunk_at at;
	uint64_t raw, safe;

	if (!heap_chunk_at(&glibc->walk->chunks, list->head, &chunk, &at))
		return LINKING_UNKNOWN;
	raw = link_of(glibc, &chunk, &at);
	safe = raw ^ list->head >> 12;
	if (!raw || in_heap(glibc, block_of(list, raw)))
		return LINKING_PLAIN;
	if (!safe || in_heap(glibc, block_of(list, safe)))
		return LINKING_SAFE;
	return LINKING_UNKNOWN;
}

static void find_linking(struct glibc *glibc, const struct lists *lists)
{
	unsigned votes[LINKING_SAFE + 1] = { 0 };

	for (size_t i = 0; i < lists->vec.nr && i < VOTES; i++)
		votes[linking_of(glibc, &lists->vec.at[i])]++;
	if (votes[LINKING_PLAIN] || votes[LINKING_SAFE])
		glibc->linking = votes[LINKING_SAFE] >= votes[LINKING_PLAIN] ? LINKING_SAFE :
									       LINKING_PLAIN;
}

static uint64_t unlink_word(const struct glibc *glibc, uint64_t place, uint64_t raw)
{
	return glibc->linking == LINKING_SAFE ? raw ^ place >> 12 : raw;
}

/* Why the chunk cannot be in this list; NULL: it can. */
static const char *wrong_in_list(const struct list *list, const struct heap_chunk *chunk)
{
	if (!chunk)
		return "no chunk";
	if (chunk->size < list->least || chunk->size > list->most)
		return "another size";
	return chunk->kind == CHUNK_USED ? NULL : "in a list already";
}

static const char *or_longer(const struct list *list)
{
	return list->most > list->least ? " and longer" : "";
}

/*
 * Returns the doubt of a list that leads to a block of another kind: the block's heap may be in
 * change, too.
 */
static struct heap_doubt doubt_of(const struct glibc *glibc, const struct list *list,
				  uint64_t block)
{
	struct heap_doubt doubt = list->doubt;

	/*
	 * A thread that ends takes chunks off the list, but that does not make it lead elsewhere.
	 */
	if (doubt.why == HEAP_DOUBT_NO_THREAD)
		doubt = glibc_doubt_any(glibc);
	if (!doubt.why)
		doubt = glibc_doubt_heap(glibc, list->heap);
	return doubt.why ? doubt : glibc_doubt_address(glibc, block);
}

/*
 * Mark each chunk of the list as free. It ends at the first one that is not a chunk of the heap, or
 * is in a list already, so that no list is longer than the heap has chunks.
 */
static struct err *reach_list(struct glibc *glibc, const struct list *list)
{
	uint64_t block = list->head, before = 0, nr = 0;

	for (; block; nr++) {
		struct heap_chunk chunk;
		struct chunk_at at;
		bool found = heap_chunk_at(&glibc->walk->chunks, block, &chunk, &at);
		const char *wrong = wrong_in_list(list, found ? &chunk : NULL);

		if (wrong)
			return glibc_walk_damage(glibc, (struct heap_damage){
						.heap = list->heap, .before = before,
						.address = before ? before : list->where,
						.doubt = doubt_of(glibc, list, block) },
						 "%s list of 0x%" PRIx64 "-byte%s chunks leads to "
						 "0x%" PRIx64 ": %s",
						 list->kind == CHUNK_FAST ? "fastbin" : "tcache",
						 list->least, or_longer(list),
						 block, wrong);
		heap_chunks_set_kind(&glibc->walk->chunks, &at, list->kind);
		before = block;
		block = block_of(list, unlink_word(glibc, block, link_of(glibc, &chunk, &at)));
	}
	if (list->count == COUNT_UNKNOWN || nr == list->count)
		return NULL;
	return glibc_walk_damage(glibc, (struct heap_damage){
				.heap = list->heap, .address = list->where, .before = before,
				.doubt = list->doubt },
				 "tcache list of 0x%" PRIx64 "-byte%s chunks has %" PRIu64 ", and "
				 "says "
				 "%" PRIu64,
				 list->least, or_longer(list),
				 nr, list->count);
}

static struct err *add_fastbins(struct glibc *glibc, size_t number, struct lists *lists)
{
	uint64_t arena = glibc->walk->arenas.at[number].address;
	struct err *err = NULL;

	for (uint32_t i = 0; i < glibc->layout.nr_fastbins && !err; i++) {
		struct list list = {
			.least = CHUNK_LEAST + 16ull * i,
			.most = CHUNK_LEAST + 16ull * i,
			.count = COUNT_UNKNOWN,
			.where = arena + glibc->layout.fastbins + 8ull * i,
			.heap = (uint16_t)number,
			.kind = CHUNK_FAST,
		};

		if (!glibc_walk_peek(glibc, list.where, &list.head) || !list.head)
			continue;
		list.head += CHUNK_HEADER;
		err = vec_push(&lists->vec, list);
	}
	return err;
}

/*
 * tcache_perthread_struct: a count of each list, and the first block of each. A count says how many
 * chunks the list has, or how many more it has room for (`room`). The length of the chunk, which is
 * what such a request gets, tells which layout it is.
 */
struct cache_layout {
	uint64_t chunk;
	unsigned lists, width;		/* bytes of a count */
	bool room;
};

static const struct cache_layout cache_layouts[] = {
	{ .chunk = 0x250, .lists = 64, .width = 1 },			/* 2.26 to 2.29 */
	{ .chunk = 0x290, .lists = 64, .width = 2 },			/* 2.30 to 2.41 */
	{ .chunk = 0x300, .lists = 76, .width = 2, .room = true },	/* 2.42 on */
};

struct cache {
	const struct cache_layout *layout;
	uint64_t address;
	uint16_t libc;			/* of the heap that it is in */
	uint64_t count[CACHE_LISTS];	/* chunks of a list, or COUNT_UNKNOWN */
	uint64_t entry[CACHE_LISTS];
};

/*
 * Returns NULL if no cache has this length. A rest that is too short for a chunk is not split off.
 */
static const struct cache_layout *cache_layout_of(const struct heap_chunk *chunk)
{
	for (size_t i = 0; i < ARRAY_SIZE(cache_layouts); i++)
		if (chunk->size == cache_layouts[i].chunk ||
		    chunk->size == cache_layouts[i].chunk + CHUNK_LEAST / 2)
			return &cache_layouts[i];
	return NULL;
}

/*
 * Sizes of a list's chunks (csize2tidx, large_csize2tidx): those behind the small ones go from one
 * power of two to the next.
 */
static uint64_t list_least(unsigned list)
{
	if (list < SMALL_LISTS)
		return CHUNK_LEAST + 16ull * list;
	return list == SMALL_LISTS ? LISTED_MOST + 16 : 1024ull << (list - SMALL_LISTS);
}

static uint64_t list_most(unsigned list)
{
	return list < SMALL_LISTS ? list_least(list) : (2048ull << (list - SMALL_LISTS)) - 16;
}

/*
 * Turn the room that lists have into the number of chunks that they have: a list that is empty has
 * room for all. (One that is being changed may have one less.) False: there is no room at all, so
 * this is no cache.
 */
static bool count_by_room(struct cache *cache)
{
	uint64_t all = 0, most = 0;

	for (unsigned i = 0; i < cache->layout->lists; i++) {
		most = MAX(most, cache->count[i]);
		if (!cache->entry[i])
			all = MAX(all, cache->count[i]);
	}
	for (unsigned i = 0; i < cache->layout->lists; i++)
		cache->count[i] = !all ? COUNT_UNKNOWN :
				  cache->count[i] <= all ? all - cache->count[i] : 0;
	return most > 0;
}

static bool read_cache(const struct glibc *glibc, uint64_t address, struct cache *ret)
{
	uint8_t bytes[CACHE_LISTS * (2 + 8)];
	struct heap_chunk chunk;
	unsigned lists, width;

	if (!find_chunk(glibc, address, &chunk) || chunk.kind != CHUNK_USED ||
	    chunk.heap >= glibc->walk->arenas.nr)
		return false;
	ret->address = address;
	ret->libc = glibc->walk->arenas.at[chunk.heap].libc;
	ret->layout = cache_layout_of(&chunk);
	if (!ret->layout)
		return false;
	lists = ret->layout->lists;
	width = ret->layout->width;
	if (memory_read(glibc->source->memory, address, bytes, lists * (width + 8)))
		return false;
	for (unsigned i = 0; i < lists; i++)
		ret->count[i] = width == 1 ? bytes[i] :
					     bytes[2 * i] | (unsigned)bytes[2 * i + 1] << 8;
	memcpy(ret->entry, bytes + lists * width, lists * 8);
	return !ret->layout->room || count_by_room(ret);
}

/*
 * Returns the number of its lists that have chunks; -1: it is no cache. in_change: its lists may be
 * in change.
 */
static int cache_lists(const struct glibc *glibc, const struct cache *cache, unsigned in_change)
{
	int used = 0;

	for (unsigned i = 0; i < cache->layout->lists; i++) {
		struct heap_chunk chunk;

		if (!cache->entry[i] && !cache->count[i])
			continue;
		used++;
		if (cache->count[i] && find_chunk(glibc, cache->entry[i], &chunk) &&
		    chunk.size >= list_least(i) && chunk.size <= list_most(i))
			continue;
		if (!in_change--)
			return -1;
	}
	return used;
}

static struct err *add_cache(struct glibc *glibc, const struct cache *cache,
			     struct heap_doubt doubt, struct lists *lists)
{
	struct heap_chunk chunk;
	struct err *err = NULL;
	struct chunk_at at;

	if (!heap_chunk_at(&glibc->walk->chunks, cache->address, &chunk, &at))
		return NULL;
	heap_chunks_set_kind(&glibc->walk->chunks, &at, CHUNK_OWN);
	for (unsigned i = 0; i < cache->layout->lists && !err; i++) {
		if (!cache->entry[i])
			continue;
		err = vec_push(&lists->vec, ((struct list){
			.head = cache->entry[i],
			.least = list_least(i),
			.most = list_most(i),
			.count = cache->count[i],
			.where = cache->address +
				 cache->layout->lists * cache->layout->width + 8ull * i,
			.heap = chunk.heap,
			.doubt = doubt,
			.kind = CHUNK_CACHED,
		}));
	}
	return err;
}

/*
 * Since 2.43 a thread without a cache has a pointer to one in libc's own data that has nothing, and
 * room for nothing (__tcache_dummy).
 */
static bool is_dummy(const struct glibc *glibc, const struct cache_layout *layout, uint64_t address)
{
	uint64_t word[CACHE_LISTS * (2 + 8) / 8];
	size_t len = layout->lists * (layout->width + 8u);

	if (!layout->room || address % 8 || in_heap(glibc, address) ||
	    memory_read(glibc->source->memory, address, word, len))
		return false;
	for (size_t i = 0; i < len / 8; i++)
		if (word[i])
			return false;
	return true;
}

/*
 * Rate an offset from the thread pointers at which some thread has a cache like this one. 0: some
 * thread has other data there.
 */
static unsigned score_of(const struct glibc *glibc, uint64_t offset, const struct cache *like)
{
	const struct heap_source *source = glibc->source;
	unsigned score = 0;

	for (size_t i = 0; i < source->nr_threads; i++) {
		struct cache cache;
		uint64_t word;
		int lists;

		if (!glibc_walk_peek(glibc, source->thread[i] - offset, &word))
			return 0;
		if (!word || is_dummy(glibc, like->layout, word))
			continue;
		if (!read_cache(glibc, word, &cache) || cache.layout != like->layout ||
		    cache.libc != like->libc)
			return 0;
		lists = cache_lists(glibc, &cache, 2);
		if (lists < 0)
			return 0;
		score += 2 + (lists > 0);
	}
	return score;
}

/*
 * Read the words below `end` that can be read without a gap; the others are 0. False: none can be
 * read.
 */
static bool read_below(const struct glibc *glibc, uint64_t end, uint64_t word[TLS_PIECE / 8])
{
	size_t i = TLS_PIECE / 8;

	if (!memory_read(glibc->source->memory, end - TLS_PIECE, word, TLS_PIECE))
		return true;
	memset(word, 0, TLS_PIECE);
	while (i > 0 && glibc_walk_peek(glibc, end - (TLS_PIECE / 8 - i + 1) * 8, &word[i - 1]))
		i--;
	return i < TLS_PIECE / 8;
}

/*
 * Returns the distance below a thread pointer of the pointer to the thread's cache in the heaps of
 * a libc; 0: not found.
 */
static uint64_t find_offset(const struct glibc *glibc, uint16_t libc, uint64_t thread)
{
	uint64_t best = 0, word[TLS_PIECE / 8];
	unsigned best_score = 0, score;
	struct cache cache;

	for (uint64_t low = TLS_PIECE; low <= TLS_LOOK; low += TLS_PIECE) {
		if (!read_below(glibc, thread - low + TLS_PIECE, word))
			break;
		for (unsigned i = 0; i < ARRAY_SIZE(word); i++) {
			if (!word[i] || !read_cache(glibc, word[i], &cache) || cache.libc != libc)
				continue;
			score = score_of(glibc, low - i * 8, &cache);
			if (score > best_score) {
				best_score = score;
				best = low - i * 8;
			}
		}
	}
	return best;
}

/* *known_ret: was it found out where threads have the pointer to their cache? */
static struct err *add_caches_of_libc(struct glibc *glibc, uint16_t libc, struct lists *lists,
				      bool *known_ret)
{
	const struct heap_source *source = glibc->source;
	/* Of several glibcs one may be used by few threads. */
	size_t most = source->nr_libcs > 1 ? 64 : 8;
	uint64_t offset = 0;
	struct err *err = NULL;

	for (size_t i = 0; i < source->nr_threads && i < most && !offset; i++)
		offset = find_offset(glibc, libc, source->thread[i]);
	*known_ret = offset;
	for (size_t i = 0; i < source->nr_threads && offset && !err; i++) {
		struct cache cache;
		uint64_t word;

		/* A cache that was added is CHUNK_OWN, and is not read again. */
		if (glibc_walk_peek(glibc, source->thread[i] - offset, &word) && word &&
		    read_cache(glibc, word, &cache))
			err = add_cache(glibc, &cache, glibc_doubt_cache(glibc, source->thread[i]),
					lists);
	}
	return err;
}

static struct err *add_caches_of_threads(struct glibc *glibc, struct lists *lists)
{
	bool all = true, known;
	struct err *err = NULL;

	for (size_t i = 0; i < glibc->source->nr_libcs && !err; i++) {
		if (!glibc->libc[i].found)
			continue;
		err = add_caches_of_libc(glibc, (uint16_t)i, lists, &known);
		all &= !err && known;
	}
	glibc->walk->caches_known = all && glibc->source->all_threads;
	return err;
}

/* Find caches by their content, for threads whose pointer is not known. */
static struct err *add_caches_by_content(struct glibc *glibc, struct lists *lists)
{
	struct chunk_at at = heap_chunks_start();
	struct heap_chunk chunk;
	struct err *err = NULL;

	while (!err && heap_chunks_next(&glibc->walk->chunks, &at, &chunk)) {
		struct cache cache;

		if (chunk.kind == CHUNK_USED && cache_layout_of(&chunk) &&
		    read_cache(glibc, chunk.address, &cache) && cache_lists(glibc, &cache, 0) > 0)
			err = add_cache(glibc, &cache, no_thread, lists);
	}
	return err;
}

/* Returns the block or the chunk whose address a word in flight is, if it is in use. */
static bool used_by_in_flight_word(const struct glibc *glibc, uint64_t in_flight_word,
				   struct heap_chunk *ret,
				   struct chunk_at *at_ret)
{
	const struct heap_chunks *chunks = &glibc->walk->chunks;

	return (heap_chunk_at(chunks, in_flight_word, ret, at_ret) ||
		heap_chunk_at(chunks, in_flight_word + CHUNK_HEADER, ret, at_ret)) &&
	       ret->kind == CHUNK_USED;
}

/* Find the caches of threads that are ending, and have no pointer to them any more. */
static struct err *add_caches_by_in_flight_word(struct glibc *glibc, struct lists *lists)
{
	const struct heap_source *source = glibc->source;
	struct err *err = NULL;

	for (size_t i = 0; i < source->nr_in_flight && !err; i++) {
		struct heap_chunk chunk;
		struct chunk_at at;
		struct cache cache;

		if (!used_by_in_flight_word(glibc, source->in_flight_word[i], &chunk, &at) ||
		    !read_cache(glibc, chunk.address, &cache))
			continue;
		/* The end of a thread takes the lists apart, and leaves the counts as they were. */
		for (unsigned j = 0; j < cache.layout->lists; j++)
			cache.count[j] = cache.entry[j] && cache.count[j] ? COUNT_UNKNOWN : 0;
		if (cache_lists(glibc, &cache, 0) > 0)
			err = add_cache(glibc, &cache, no_thread, lists);
	}
	return err;
}

/* Walk a fastbin's list that is being taken apart, from one of its chunks on. */
static struct err *follow_loose(struct glibc *glibc, struct heap_chunk chunk, struct chunk_at at)
{
	const struct list list = { .kind = CHUNK_FAST };
	uint64_t size = chunk.size;
	struct err *err = NULL;

	for (unsigned i = 0; i < LOOSE_MOST && !err; i++) {
		uint64_t next = unlink_word(glibc, chunk.address, link_of(glibc, &chunk, &at));

		if (!next ||
		    !heap_chunk_at(&glibc->walk->chunks, block_of(&list, next), &chunk, &at) ||
		    chunk.kind != CHUNK_USED || chunk.size != size)
			break;
		err = vec_push(&glibc->walk->loose, chunk.address);
	}
	return err;
}

static struct err *find_loose(struct glibc *glibc)
{
	const struct heap_source *source = glibc->source;
	struct err *err = NULL;

	for (size_t i = 0; i < source->nr_in_flight && !err; i++) {
		struct heap_chunk chunk;
		struct chunk_at at;

		if (used_by_in_flight_word(glibc, source->in_flight_word[i], &chunk, &at) &&
		    chunk.size < CHUNK_LEAST + 16 * glibc->layout.nr_fastbins)
			err = follow_loose(glibc, chunk, at);
	}
	return err;
}

struct err *glibc_lists_mark(struct glibc *glibc)
{
	struct lists lists = { VEC_INIT };
	struct err *err = add_caches_of_threads(glibc, &lists);

	if (!err)
		err = add_caches_by_in_flight_word(glibc, &lists);
	if (!err && !glibc->walk->caches_known)
		err = add_caches_by_content(glibc, &lists);
	for (size_t i = 0; i < glibc->walk->arenas.nr && !err; i++)
		err = add_fastbins(glibc, i, &lists);
	if (!err)
		find_linking(glibc, &lists);
	for (size_t i = 0; i < lists.vec.nr && !err; i++)
		err = reach_list(glibc, &lists.vec.at[i]);
	vec_free(&lists.vec);
	return err ? err : find_loose(glibc);
}
