/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The walk of tcmalloc's heap, on the real library: what it lists is compared with what this
 * program has got of it, and its sums with tcmalloc's own figures.
 */

#include <malloc.h>
#include <pthread.h>

#include "loaded.h"
#include "unit.h"

#define LIBRARY	"libtcmalloc_minimal.so.4"
#define THREADS	4u
#define BLOCKS	3000u
#define ROUNDS	(UNIT_SANITIZED ? 100u : 400u)

struct held {
	void *block;
	size_t size;
};

static struct tcmalloc {
	struct loaded loaded;
	void *(*malloc)(size_t size);
	void *(*memalign)(size_t align, size_t size);
	void (*free)(void *p);
	int (*figure)(const char *name, size_t *ret);
	void (*release)(void);
	struct held held[(THREADS + 1) * BLOCKS];	/* a thread's behind another's */
	pthread_t thread[THREADS];
	pthread_barrier_t made, end;
	uint64_t own;		/* blocks that are the library's */
} tc;

static size_t size_of(uint64_t random)
{
	if (random % 200 == 0)
		return random >> 16 & 0x1fffff;
	return random >> 16 & (random % 8 ? 0xff : 0x7fff);
}

static void make(struct held *held, uint64_t state)
{
	for (unsigned i = 0; i < BLOCKS; i++) {
		size_t size = size_of(unit_random(&state));

		held[i].size = size;
		held[i].block = i % 16 ? tc.malloc(size) :
					 tc.memalign(16ull << unit_random(&state) % 12, size);
		if (!held[i].block)
			abort();
		memset(held[i].block, 0xa5, size);
	}
	for (unsigned i = 0; i < BLOCKS; i++)
		if (unit_random(&state) % 3) {
			tc.free(held[i].block);
			held[i].block = NULL;
		}
}

static void *work(void *arg)
{
	make(arg, 0x9e3779b97f4a7c15 + (uintptr_t)arg);
	pthread_barrier_wait(&tc.made);
	pthread_barrier_wait(&tc.end);
	return NULL;
}

static void walk(struct heap_walk *ret)
{
	loaded_look(&tc.loaded);
	CU_ASSERT_PTR_NULL_FATAL(tcmalloc_walk(&tc.loaded.source, ret));
	CU_ASSERT_PTR_NULL(loaded_check(ret));
}

static uint64_t used(const struct heap_walk *walk)
{
	return walk->arenas.at[0].chunks[CHUNK_USED];
}

static bool is_there(void)
{
	if (tc.loaded.handle)
		return true;
	unit_skip(LIBRARY " is not installed");
	return false;
}

static int start(void)
{
	struct heap_walk before;
	void *first;

	if (!loaded_open(&tc.loaded, LIBRARY))
		return 0;
	tc.malloc = loaded_function(&tc.loaded, "tc_malloc");
	tc.memalign = loaded_function(&tc.loaded, "tc_memalign");
	tc.free = loaded_function(&tc.loaded, "tc_free");
	tc.figure = loaded_function(&tc.loaded, "MallocExtension_GetNumericProperty");
	tc.release = loaded_function(&tc.loaded, "MallocExtension_ReleaseFreeMemory");
	first = tc.malloc(1);
	loaded_look(&tc.loaded);
	if (tcmalloc_walk(&tc.loaded.source, &before))
		return 1;
	tc.own = used(&before) - 1;
	heap_walk_free(&before);
	pthread_barrier_init(&tc.made, NULL, THREADS + 1);
	pthread_barrier_init(&tc.end, NULL, THREADS + 1);
	for (unsigned i = 0; i < THREADS; i++)
		if (pthread_create(&tc.thread[i], NULL, work, &tc.held[i * BLOCKS]))
			return 1;
	make(&tc.held[THREADS * BLOCKS], 0x123456789);
	tc.free(first);
	pthread_barrier_wait(&tc.made);
	return 0;
}

static int end(void)
{
	if (tc.loaded.handle) {
		pthread_barrier_wait(&tc.end);
		for (unsigned i = 0; i < THREADS; i++)
			pthread_join(tc.thread[i], NULL);
	}
	loaded_close(&tc.loaded);
	return 0;
}

FIXTURE(start, end);

/* Each block that the program has, with no less bytes than it asked for; and no other one. */
TEST("all blocks, and none that is free")
{
	struct heap_walk found;
	uint64_t nr = 0, wrong = 0;

	if (!is_there())
		return;
	walk(&found);
	CU_ASSERT_EQUAL(heap_walk_all_damage(&found), 0);
	CU_ASSERT_TRUE(found.arenas.at[0].whole && found.caches_known && found.mmapped_certain);
	for (unsigned i = 0; i < (THREADS + 1) * BLOCKS; i++) {
		const struct held *held = &tc.held[i];
		struct heap_chunk chunk;

		if (!held->block)
			continue;
		nr++;
		wrong += !heap_chunk_at(&found.chunks, (uintptr_t)held->block, &chunk, NULL) ||
			 !chunk_held(&chunk) || chunk_usable(&chunk) < held->size;
	}
	CU_ASSERT_EQUAL(wrong, 0);
	CU_ASSERT_EQUAL(used(&found), nr + tc.own);
	heap_walk_free(&found);
}

static uint64_t figure(const char *name)
{
	size_t value;

	CU_ASSERT_TRUE(tc.figure(name, &value));
	return value;
}

static void compare_figures(void)
{
	const uint64_t *bytes;
	struct heap_walk found;

	walk(&found);
	bytes = found.arenas.at[0].bytes;
	CU_ASSERT_EQUAL(bytes[CHUNK_USED], figure("generic.current_allocated_bytes"));
	CU_ASSERT_EQUAL(bytes[CHUNK_CACHED], figure("tcmalloc.thread_cache_free_bytes") +
						     figure("tcmalloc.transfer_cache_free_bytes"));
	CU_ASSERT_EQUAL(bytes[CHUNK_FREE] + bytes[CHUNK_OWN],
			figure("tcmalloc.central_cache_free_bytes"));
	CU_ASSERT_EQUAL(bytes[CHUNK_KEPT], figure("tcmalloc.pageheap_free_bytes"));
	CU_ASSERT_EQUAL(found.arenas.at[0].system_mem + figure("tcmalloc.pageheap_unmapped_bytes"),
			figure("generic.heap_size"));
	heap_walk_free(&found);
}

/*
 * Those of tcmalloc itself; also when it has given its free pages back, which are in no chunk
 * then.
 */
TEST("figures")
{
	if (!is_there())
		return;
	compare_figures();
	tc.release();
	CU_ASSERT_EQUAL(figure("tcmalloc.pageheap_free_bytes"), 0);
	CU_ASSERT_NOT_EQUAL(figure("tcmalloc.pageheap_unmapped_bytes"), 0);
	compare_figures();
}

/* Without a walk: all chunks are in the ranges, and blocks are as many as are held or cached. */
TEST("ranges and a pulse")
{
	struct chunk_at at = heap_chunks_start();
	uint64_t outside = 0, range = 0;
	struct heap_pulse pulse, again;
	struct heap_ranges ranges;
	struct heap_walk found;
	struct heap_chunk chunk;
	void *more;

	if (!is_there())
		return;
	walk(&found);
	tc.loaded.source.free_ns = 1000000000;
	CU_ASSERT_PTR_NULL_FATAL(tcmalloc_ranges(&tc.loaded.source, &ranges));
	tc.loaded.source.free_ns = 0;
	CU_ASSERT_TRUE(ranges.whole && ranges.free.known && ranges.free.whole);
	CU_ASSERT_EQUAL(ranges.free.trimmed, found.arenas.at[0].bytes[CHUNK_KEPT]);
	while (heap_chunks_next(&found.chunks, &at, &chunk)) {
		while (range < ranges.vec.nr && ranges.vec.at[range].end <= chunk.address)
			range++;
		outside += range == ranges.vec.nr || ranges.vec.at[range].start > chunk.address ||
			   ranges.vec.at[range].end < chunk.address + chunk.size;
	}
	CU_ASSERT_EQUAL(outside, 0);
	CU_ASSERT_PTR_NULL_FATAL(tcmalloc_pulse(&tc.loaded.source, &pulse));
	CU_ASSERT_TRUE(pulse.counted);
	CU_ASSERT_EQUAL(pulse.blocks, used(&found) + found.arenas.at[0].chunks[CHUNK_CACHED]);
	CU_ASSERT_EQUAL(pulse.acquired, found.arenas.at[0].system_mem);
	more = tc.malloc(300000);
	CU_ASSERT_PTR_NULL_FATAL(tcmalloc_pulse(&tc.loaded.source, &again));
	CU_ASSERT_NOT_EQUAL(again.sum, pulse.sum);
	tc.free(more);
	heap_ranges_free(&ranges);
	heap_walk_free(&found);
}

/* The word that leads to the longest chain of a cache, of more than one block. */
static uint64_t longest_list(uint64_t *head_ret, unsigned *nr_ret)
{
	struct heap_walk found;
	uint64_t where = 0;

	*nr_ret = 1;
	tc.loaded.note = true;
	vec_clear(&tc.loaded.noted);
	loaded_look(&tc.loaded);
	CU_ASSERT_PTR_NULL_FATAL(tcmalloc_walk(&tc.loaded.source, &found));
	tc.loaded.note = false;
	vec_each_value(address, &tc.loaded.noted) {
		uint64_t at = loaded_word(address);
		struct heap_chunk chunk;
		unsigned nr = 0;

		/* A list of a cache: its head and how long it is. */
		while (heap_chunk_at(&found.chunks, at, &chunk, NULL) &&
		       chunk.kind == CHUNK_CACHED) {
			at = loaded_word(at);
			nr++;
		}
		if (nr <= *nr_ret || nr != (uint32_t)loaded_word(address + 8) || at)
			continue;
		*nr_ret = nr;
		*head_ret = loaded_word(address);
		where = address;
	}
	heap_walk_free(&found);
	return where;
}

/*
 * Blocks that a thread inside tcmalloc carries away from its cache are not found again elsewhere.
 */
TEST("a chain on its way")
{
	struct heap_inside inside = { .tid = 1 };
	struct heap_walk before, found;
	uint64_t where, head = 0, chained = 0;
	unsigned nr;

	if (!is_there())
		return;
	walk(&before);
	where = longest_list(&head, &nr);
	CU_ASSERT_NOT_EQUAL_FATAL(where, 0);
	loaded_change(&tc.loaded, where, 0);
	loaded_change(&tc.loaded, where + 8, loaded_word(where + 8) & ~0xffffffffull);
	tc.loaded.source.in_flight_word = &head;
	tc.loaded.source.nr_in_flight = 1;
	tc.loaded.source.inside = &inside;
	tc.loaded.source.nr_inside = 1;
	walk(&found);
	CU_ASSERT_EQUAL(heap_walk_all_damage(&found), 0);
	CU_ASSERT_EQUAL(used(&found), used(&before) + nr);
	CU_ASSERT_EQUAL(found.loose.nr, nr - 1);
	for (uint64_t at = loaded_word(head); at; at = loaded_word(at))
		for (size_t i = 0; i < found.loose.nr; i++)
			chained += found.loose.at[i] == at;
	CU_ASSERT_EQUAL(chained, nr - 1);
	tc.loaded.source.nr_in_flight = tc.loaded.source.nr_inside = 0;
	vec_clear(&tc.loaded.changes);
	heap_walk_free(&found);
	heap_walk_free(&before);
}

/* A list that leads elsewhere is damage; while a thread is inside tcmalloc, it may be none. */
TEST("damage, certain or not")
{
	struct heap_inside inside = { .tid = 1 };
	uint64_t where, head = 0;
	struct heap_walk found;
	unsigned nr;

	if (!is_there())
		return;
	where = longest_list(&head, &nr);
	loaded_change(&tc.loaded, where, head + 8);
	walk(&found);
	CU_ASSERT_EQUAL(found.damages, 1);
	CU_ASSERT_EQUAL(found.damage.at[0].address, where);
	CU_ASSERT_FALSE(found.arenas.at[0].whole);
	heap_walk_free(&found);
	tc.loaded.source.inside = &inside;
	tc.loaded.source.nr_inside = 1;
	walk(&found);
	CU_ASSERT_EQUAL(found.damages, 0);
	CU_ASSERT_EQUAL(found.uncertain, 1);
	CU_ASSERT_EQUAL(found.damage.at[0].doubt.thread, 1);
	heap_walk_free(&found);
	tc.loaded.source.nr_inside = 0;
	vec_clear(&tc.loaded.changes);
}

static uint64_t forged(uint64_t *state, uint64_t word)
{
	const struct loaded *loaded = &tc.loaded;

	switch (unit_random(state) % 6) {
	case 0:
		return word ^ 1ull << unit_random(state) % 64;
	case 1:
		return unit_random(state);
	case 2:
		return loaded_word(loaded->noted.at[unit_random(state) % loaded->noted.nr]);
	case 3:
		return loaded->noted.at[unit_random(state) % loaded->noted.nr];
	case 4:
		return word + (unit_random(state) % 64 - 32) * 8;
	}
	return 0;
}

/*
 * Of what a walk reads, one word to all (1 %) are forged: it ends, and what it lists can be.
 * HEAP_ROUNDS is how many (`make torture` asks for 10^6).
 */
TEST("survives any damage")
{
	const char *text = getenv("HEAP_ROUNDS");
	unsigned rounds = text ? (unsigned)atol(text) / 100 : ROUNDS, bad = 0;
	uint64_t state = 0x9e3779b97f4a7c15;
	struct heap_walk found;

	if (!is_there())
		return;
	tc.loaded.note = true;
	vec_clear(&tc.loaded.noted);
	walk(&found);
	tc.loaded.note = false;
	heap_walk_free(&found);
	for (unsigned i = 0; i < rounds; i++) {
		size_t flips = i % 10 ? 1 + unit_random(&state) % 4 : tc.loaded.noted.nr / 100;
		const char *wrong = NULL;
		struct err *err;

		while (flips--) {
			uint64_t at = tc.loaded.noted.at[unit_random(&state) % tc.loaded.noted.nr];

			loaded_change(&tc.loaded, at, forged(&state, loaded_word(at)));
		}
		err = tcmalloc_walk(&tc.loaded.source, &found);
		if (!err)
			wrong = loaded_check(&found);
		else if (err->code != ERR_UNSUPPORTED && err->code != ERR_NOTFOUND)
			wrong = err->msg;
		if (!err)
			heap_walk_free(&found);
		if (wrong && bad++ < 10)
			printf("round %u: %s\n", i, wrong);
		vec_clear(&tc.loaded.changes);
	}
	CU_ASSERT_EQUAL(bad, 0);
}

/* A limit of chunks is kept. */
TEST("too many chunks")
{
	struct heap_walk found;
	struct err *err;

	if (!is_there())
		return;
	loaded_look(&tc.loaded);
	tc.loaded.source.most_chunks = 100;
	err = tcmalloc_walk(&tc.loaded.source, &found);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_RANGE);
	tc.loaded.source.most_chunks = 0;
}

/* Each of its blocks has a header, which is not where the program's block begins. */
TEST("the debugging library is not walked")
{
	void *(*allocate)(size_t size);
	void (*release)(void *p);
	struct loaded debugging;
	struct heap_walk found;
	void *block[100];
	struct err *err;

	if (!loaded_open(&debugging, "libtcmalloc_minimal_debug.so.4")) {
		unit_skip("libtcmalloc_minimal_debug is not installed");
		return;
	}
	*(void **)&allocate = loaded_function(&debugging, "tc_malloc");
	*(void **)&release = loaded_function(&debugging, "tc_free");
	for (unsigned i = 0; i < ARRAY_SIZE(block); i++)
		block[i] = allocate(i);
	loaded_look(&debugging);
	err = tcmalloc_walk(&debugging.source, &found);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_UNSUPPORTED);
	CU_ASSERT_PTR_NOT_NULL(strstr(err->msg, "debugging"));
	for (unsigned i = 0; i < ARRAY_SIZE(block); i++)
		release(block[i]);
	loaded_close(&debugging);
}
