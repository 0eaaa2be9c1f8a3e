/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds and walks CPython's arenas (pymalloc.h). */

#include "heap/python/pymalloc.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"
#include "os/procfs.h"

#define ENTRIES_FIRST	16u		/* of the array; it is doubled when it is full */
#define ENTRIES_MOST	(1u << 20)
#define POOLS_AN_ARENA	64u
#define DATA_CHUNK	65536u

/* struct arena_object and struct pool_header, as they are in all versions. */
struct arena_object {
	uint64_t address, pool_address;
	uint32_t nfreepools, ntotalpools;
	uint64_t freepools, nextarena, prevarena;
};

struct pool_header {
	uint32_t count, pad;
	uint64_t freeblock, nextpool, prevpool;
	uint32_t arenaindex, szidx, nextoffset, maxnextoffset;
};

_Static_assert(sizeof(struct arena_object) == 48, "arena_object");
_Static_assert(sizeof(struct pool_header) == PYMALLOC_HEADER, "pool_header");

struct walk {
	const struct pymalloc_source *source;
	pymalloc_fn *fn;
	void *ctx;
	struct pymalloc *ret;
	uint64_t array;
	uint32_t alignment;		/* of sizes: 16, or 8 */
	uint8_t bytes[PYMALLOC_POOL_MAX];
	bool used[PYMALLOC_BLOCKS_MAX];
	bool free_pool[POOLS_AN_ARENA];
};

/* The size of the blocks of a pool of pool_size bytes; 0: its header fits none. */
static uint32_t block_size(const struct pool_header *pool, uint32_t pool_size, uint32_t alignment)
{
	uint32_t size = (pool->szidx + 1) * alignment;

	return pool->szidx < PYMALLOC_SIZE_MAX / alignment &&
	       pool->maxnextoffset == pool_size - size ? size : 0;
}

/* Do the numbers of an entry fit pools of this size? */
static bool fits(const struct arena_object *arena, uint32_t pool_size)
{
	uint64_t first = ALIGN_UP(arena->address, pool_size);
	uint32_t pools = arena->ntotalpools;

	return arena->address % 4096 == 0 && arena->address < 1ull << 47 &&
	       pools == POOLS_AN_ARENA - (first != arena->address) && arena->nfreepools < pools &&
	       arena->pool_address % pool_size == 0 && arena->pool_address > first &&
	       arena->pool_address <= first + (uint64_t)pools * pool_size;
}

/* Does the entry lead to a pool that names it? Sets the sizes, if they were not known. */
static bool proves(struct walk *walk, const struct arena_object *arena, uint32_t index)
{
	static const uint32_t sizes[] = { 4096, 16384 };

	for (unsigned i = 0; i < ARRAY_SIZE(sizes); i++) {
		uint32_t is = walk->ret->pool_size;
		struct pool_header pool;

		if ((is && is != sizes[i]) || !fits(arena, sizes[i]) ||
		    memory_read(walk->source->memory, ALIGN_UP(arena->address, sizes[i]), &pool,
				sizeof(pool)) || pool.arenaindex != index)
			continue;
		for (uint32_t alignment = 16; alignment >= 8; alignment /= 2) {
			if ((is && walk->alignment != alignment) ||
			    !block_size(&pool, sizes[i], alignment))
				continue;
			walk->ret->pool_size = sizes[i];
			walk->alignment = alignment;
			return true;
		}
	}
	return false;
}

static bool is_unused(const struct arena_object *arena, uint64_t array)
{
	uint64_t next = arena->nextarena;

	return !arena->address && (!next || (next > array && (next - array) % sizeof(*arena) == 0));
}

/* Is this the array? Its first entries must fit, and one must be proved. */
static bool is_array(struct walk *walk, uint64_t array)
{
	struct arena_object entry[ENTRIES_FIRST];
	bool proved = false;

	walk->ret->pool_size = 0;
	if (memory_read(walk->source->memory, array, entry, sizeof(entry)))
		return false;
	for (uint32_t i = 0; i < ENTRIES_FIRST; i++) {
		if (is_unused(&entry[i], array))
			continue;
		if (!proves(walk, &entry[i], i))
			return false;
		proved = true;
	}
	return proved;
}

static bool find_in(struct walk *walk, const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		const struct proc_map *map;

		if (!words[i] || words[i] % 16)
			continue;
		/* It is a block of malloc. */
		map = procparse_maps_find(walk->source->maps, words[i]);
		if (!map || !map->write || map->inode || !is_array(walk, words[i]))
			continue;
		walk->array = words[i];
		return true;
	}
	return false;
}

static struct err *find_array(struct walk *walk)
{
	uint64_t *words = malloc(DATA_CHUNK);
	struct err *err = words ? NULL : err_nomem;

	for (size_t i = 0; !err && !walk->array && i < walk->source->nr_data; i++) {
		const struct pymalloc_range *range = &walk->source->data[i];
		uint64_t at = range->start;
		size_t len;

		while (!err && !walk->array && at < range->end) {
			len = (size_t)MIN(range->end - at, (uint64_t)DATA_CHUNK);
			if (memory_read_holes(walk->source->memory, at, words, len))
				(void)find_in(walk, words, len / sizeof(*words));
			at += len;
			err = cancel_check();
		}
	}
	free(words);
	if (!err && !walk->array)
		err = err_create(ERR_NOTFOUND, "no arenas of Python's were found");
	return err;
}

/* Note which of the arena's pools are in its chain of free ones. False: the chain does not fit. */
static bool find_free_pools(struct walk *walk, const struct arena_object *arena, uint64_t first,
			    uint32_t cut)
{
	uint32_t uncut = arena->ntotalpools - cut, most = arena->nfreepools - uncut;
	uint64_t at = arena->freepools;
	struct pool_header pool;

	memset(walk->free_pool, 0, sizeof(walk->free_pool));
	if (uncut > arena->nfreepools)
		return false;
	for (uint32_t i = 0; i < most; i++) {
		uint64_t number = (at - first) / walk->ret->pool_size;

		if (at < first || number >= cut || walk->free_pool[number] ||
		    memory_read(walk->source->memory, at, &pool, sizeof(pool)))
			return false;
		walk->free_pool[number] = true;
		at = pool.nextpool;
	}
	return !at;
}

/* Which blocks are used? Returns how many; UINT32_MAX: the chain of free ones does not fit. */
static uint32_t find_used(struct walk *walk, const struct pool_header *head,
			  const struct pymalloc_pool *pool)
{
	uint64_t at = head->freeblock, next;
	uint32_t used = pool->carved;

	memset(walk->used, true, pool->carved);
	while (at) {
		uint64_t offset = at - pool->address - PYMALLOC_HEADER;
		uint64_t number = offset / pool->size;

		if (at < pool->address + PYMALLOC_HEADER || number >= pool->carved ||
		    offset % pool->size || !walk->used[number])
			return UINT32_MAX;
		walk->used[number] = false;
		used--;
		memcpy(&next, walk->bytes + PYMALLOC_HEADER + offset, sizeof(next));
		at = next;
	}
	return used;
}

/* False: it is damaged. */
static bool read_pool(struct walk *walk, uint32_t index, struct pymalloc_pool *pool)
{
	uint32_t pool_size = walk->ret->pool_size, size;
	struct pool_header head;

	/* The end of a pool may never have been touched. */
	if (!memory_read_holes(walk->source->memory, pool->address, walk->bytes, pool_size))
		return false;
	memcpy(&head, walk->bytes, sizeof(head));
	size = block_size(&head, pool_size, walk->alignment);
	if (!size || head.arenaindex != index || head.nextoffset < PYMALLOC_HEADER ||
	    head.nextoffset > pool_size || (head.nextoffset - PYMALLOC_HEADER) % size)
		return false;
	pool->size = (uint16_t)size;
	pool->carved = (uint16_t)((head.nextoffset - PYMALLOC_HEADER) / size);
	pool->first = walk->ret->carved;
	if (pool->carved > PYMALLOC_BLOCKS_MAX || find_used(walk, &head, pool) != head.count)
		return false;
	pool->used = (uint16_t)head.count;
	return true;
}

static struct err *add_pool(struct walk *walk, uint32_t index, uint64_t address, bool is_free)
{
	struct pymalloc_pool pool = { .address = address };
	struct pymalloc *ret = walk->ret;
	struct err *err = NULL;

	ret->free_pools += is_free;
	if (!is_free && !read_pool(walk, index, &pool)) {
		pool = (struct pymalloc_pool){ .address = address };
		ret->damaged++;
	}
	if (pool.carved) {
		if (ret->carved > UINT32_MAX - pool.carved)
			return err_create(ERR_RANGE, "Python has too many objects");
		ret->carved += pool.carved;
		ret->blocks += pool.used;
		ret->bytes += (uint64_t)pool.used * pool.size;
		err = walk->fn ? walk->fn(walk->ctx, &pool, walk->bytes, walk->used) : NULL;
	}
	return err ? err : vec_push(&ret->pools, pool);
}

static struct err *add_arena(struct walk *walk, const struct arena_object *arena, uint32_t index)
{
	uint32_t pool_size = walk->ret->pool_size;
	struct pymalloc_arena is = {
		.address = arena->address,
		.first = ALIGN_UP(arena->address, pool_size),
		.pools = (uint32_t)((arena->pool_address - ALIGN_UP(arena->address, pool_size)) /
				    pool_size),
		.at = (uint32_t)walk->ret->pools.nr,
	};
	bool whole = find_free_pools(walk, arena, is.first, is.pools);
	struct err *err = vec_push(&walk->ret->arenas, is);

	walk->ret->damaged += !whole;
	walk->ret->mapped += (uint64_t)POOLS_AN_ARENA * pool_size;
	for (uint32_t i = 0; !err && i < is.pools; i++)
		err = add_pool(walk, index, is.first + (uint64_t)i * pool_size,
			       walk->free_pool[i]);
	return err ? err : cancel_check();
}

/*
 * The number of entries: glibc's word before the block says how many it has room for. Under another
 * allocator 0, and the array ends with the first entry that does not fit.
 */
static uint32_t entries(struct walk *walk)
{
	uint64_t head, room;
	uint32_t nr = ENTRIES_FIRST;

	if (memory_read_u64(walk->source->memory, walk->array - 8, &head))
		return 0;
	room = (head & ~15ull) - 8;
	while (nr < ENTRIES_MOST && 2 * nr * sizeof(struct arena_object) <= room)
		nr *= 2;
	return (head & 8) || room < nr * sizeof(struct arena_object) ||
	       room - nr * sizeof(struct arena_object) > 4096 + 32 ? 0 : nr;
}

COMPARE_BY(by_address, struct pymalloc_arena, arena, arena->address)

static struct err *walk_all(struct walk *walk)
{
	uint32_t nr = entries(walk), most = nr ? nr : ENTRIES_MOST;
	struct arena_object entry;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < most; i++) {
		if (memory_read(walk->source->memory, walk->array + i * sizeof(entry), &entry,
				sizeof(entry)))
			break;
		if (is_unused(&entry, walk->array))
			continue;
		if (proves(walk, &entry, i))
			err = add_arena(walk, &entry, i);
		else if (nr)
			walk->ret->damaged++;
		else
			break;
	}
	vec_sort(&walk->ret->arenas, by_address);
	return err;
}

struct err *pymalloc_walk(const struct pymalloc_source *source, pymalloc_fn *fn, void *ctx,
			  struct pymalloc *ret)
{
	struct walk *walk = calloc(1, sizeof(*walk));
	struct err *err;

	*ret = (struct pymalloc){ .pool_size = 0 };
	if (!walk)
		return err_nomem;
	walk->source = source;
	walk->fn = fn;
	walk->ctx = ctx;
	walk->ret = ret;
	err = find_array(walk);
	if (!err)
		err = walk_all(walk);
	free(walk);
	return err;
}

void pymalloc_free(struct pymalloc *pymalloc)
{
	vec_free(&pymalloc->arenas);
	vec_free(&pymalloc->pools);
}

/* The arena that holds the address, and the number of its pool there; NULL: none does. */
static const struct pymalloc_arena *arena_at(const struct pymalloc *pymalloc, uint64_t address,
					     uint64_t *number_ret)
{
	size_t low = LOWER_BOUND(i, 0, pymalloc->arenas.nr, pymalloc->arenas.at[i].first <= address);
	const struct pymalloc_arena *arena = low ? &pymalloc->arenas.at[low - 1] : NULL;

	if (!arena)
		return NULL;
	*number_ret = (address - arena->first) / pymalloc->pool_size;
	return *number_ret < arena->pools ? arena : NULL;
}

bool pymalloc_has(const struct pymalloc *pymalloc, uint64_t address)
{
	uint64_t number;

	return arena_at(pymalloc, address, &number);
}

const struct pymalloc_pool *pymalloc_pool_at(const struct pymalloc *pymalloc, uint64_t address)
{
	uint64_t number;
	const struct pymalloc_arena *arena = arena_at(pymalloc, address, &number);
	const struct pymalloc_pool *pool = arena ? &pymalloc->pools.at[arena->at + number] : NULL;

	return pool && pool->carved ? pool : NULL;
}
