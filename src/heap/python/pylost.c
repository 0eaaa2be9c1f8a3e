/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the objects that nobody can reach any more (pylost.h). */

#include "heap/python/pylost.h"

#include <stdlib.h>
#include <string.h>

#include "base/cancel.h"

#define CHUNK		(256u << 10)
#define NONE		UINT32_MAX

/* The block that the word points to, as its holder would; NONE. */
static uint32_t pointed_to(const struct pyobjects *objects, uint64_t word)
{
	const struct pymalloc_pool *pool = pymalloc_pool_at(&objects->pools, word);
	uint64_t offset = pool ? word - pool->address : 0;
	const struct pynode *node;
	uint32_t number;

	if (!pool || offset < PYMALLOC_HEADER)
		return NONE;
	offset -= PYMALLOC_HEADER;
	number = (uint32_t)(offset / pool->size);
	if (number >= pool->carved)
		return NONE;
	node = &objects->nodes.at[pool->first + number];
	if (node->head == PYNODE_FREE || offset % pool->size < 16u * node->head)
		return NONE;
	return pool->first + number;
}

static void count_word(struct pyobjects *objects, uint64_t word, uint32_t from)
{
	uint32_t to = pointed_to(objects, word);

	if (to != NONE && to != from && objects->nodes.at[to].refs < PYNODE_MANY)
		objects->nodes.at[to].refs++;
}

void pylost_count_words(struct pyobjects *objects, const uint64_t *words, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		count_word(objects, words[i], NONE);
}

/* Do words lie between the first arena and the end of the last one? Most words do not. */
static bool is_near(const struct pyobjects *objects, uint64_t word)
{
	const struct pymalloc *pools = &objects->pools;
	const struct pymalloc_arena *last = &pools->arenas.at[pools->arenas.nr - 1];

	return word >= pools->arenas.at[0].first &&
	       word < last->first + (uint64_t)last->pools * pools->pool_size;
}

static struct err *count_range(struct pyobjects *objects, struct memory *memory, uint64_t start,
			       uint64_t end, uint64_t *words)
{
	struct err *err = NULL;
	uint64_t from, to;

	while (!err && memory_next(memory, start, end, &from, &to)) {
		for (uint64_t at = from; !err && at < to; at += CHUNK) {
			size_t len = (size_t)MIN(to - at, (uint64_t)CHUNK);

			if (!memory_read_holes(memory, at, words, len))
				continue;
			for (size_t i = 0; i < len / sizeof(*words); i++)
				if (is_near(objects, words[i]))
					count_word(objects, words[i], NONE);
			err = cancel_check();
		}
		start = to;
	}
	return err;
}

struct err *pylost_count(struct pyobjects *objects, struct memory *memory, uint64_t start,
			    uint64_t end)
{
	uint64_t *words = objects->pools.arenas.nr ? malloc(CHUNK) : NULL;
	struct err *err = words ? NULL : err_nomem;

	vec_each_while(arena, &objects->pools.arenas, !err) {
		uint64_t to = arena->first + (uint64_t)arena->pools * objects->pools.pool_size;

		if (to <= start || arena->first >= end)
			continue;
		if (arena->first > start)
			err = count_range(objects, memory, start, arena->first, words);
		start = MAX(start, to);
	}
	if (!err && start < end)
		err = count_range(objects, memory, start, end, words);
	free(words);
	return err;
}

/* Count the words of all used blocks of a pool. */
static void count_pool(struct pyobjects *objects, const struct pymalloc_pool *pool,
		       const uint8_t *bytes)
{
	for (uint32_t i = 0; i < pool->carved; i++) {
		const uint8_t *block = bytes + PYMALLOC_HEADER + (size_t)i * pool->size;
		uint64_t word;

		if (objects->nodes.at[pool->first + i].head == PYNODE_FREE)
			continue;
		for (uint32_t at = 0; at + sizeof(word) <= pool->size; at += sizeof(word)) {
			memcpy(&word, block + at, sizeof(word));
			if (is_near(objects, word))
				count_word(objects, word, pool->first + i);
		}
	}
}

/* Copies of pools, by the lowest bits of their numbers: lost blocks lie side by side. */
#define COPIES	1024u

struct found {
	VEC(uint64_t) blocks;		/* addresses of lost ones that are still to be looked into */
	uint64_t copied[COPIES];	/* address of the pool; 0: none */
	uint8_t *copies;		/* of PYMALLOC_POOL_MAX bytes each */
};

static struct err *note_lost(struct pyobjects *objects, struct found *found)
{
	struct err *err = NULL;

	vec_each_while(pool, &objects->pools.pools, !err) {
		for (uint32_t i = 0; !err && i < pool->carved; i++) {
			struct pynode *node = &objects->nodes.at[pool->first + i];

			if (node->head == PYNODE_FREE || node->refs)
				continue;
			node->state = PYNODE_LOST;
			err = vec_push(&found->blocks, pool->address + PYMALLOC_HEADER +
						       (uint64_t)i * pool->size);
		}
	}
	return err;
}

static uint64_t address_of(const struct pymalloc_pool *pool, uint32_t node)
{
	return pool->address + PYMALLOC_HEADER + (uint64_t)(node - pool->first) * pool->size;
}

/* The bytes of a pool; NULL: they cannot be read. */
static const uint8_t *copy_of(const struct pyobjects *objects, struct memory *memory,
			      const struct pymalloc_pool *pool, struct found *found)
{
	uint32_t bytes = objects->pools.pool_size;
	size_t place = pool->address / bytes % COPIES;
	uint8_t *copy = found->copies + place * PYMALLOC_POOL_MAX;

	if (found->copied[place] == pool->address)
		return copy;
	found->copied[place] = 0;
	if (!memory_read_holes(memory, pool->address, copy, bytes))
		return NULL;
	found->copied[place] = pool->address;
	return copy;
}

/* The lost block does not hold what it points to: find what nobody else does. */
static struct err *take_back(struct pyobjects *objects, struct memory *memory, uint64_t block,
			     struct found *found)
{
	const struct pymalloc_pool *pool = pymalloc_pool_at(&objects->pools, block);
	const uint8_t *bytes = pool ? copy_of(objects, memory, pool, found) : NULL;
	uint64_t word[PYMALLOC_SIZE_MAX / 8];
	struct err *err = NULL;
	uint32_t from;

	if (!bytes)
		return NULL;
	memcpy(word, bytes + (block - pool->address), pool->size);
	from = pool->first + (uint32_t)((block - pool->address - PYMALLOC_HEADER) / pool->size);
	for (uint32_t i = 0; !err && i < pool->size / 8u; i++) {
		uint32_t to = pointed_to(objects, word[i]);
		struct pynode *node = to == NONE || to == from ? NULL : &objects->nodes.at[to];

		if (!node || !node->refs || node->refs == PYNODE_MANY || --node->refs)
			continue;
		node->state = PYNODE_INDIRECT;
		err = vec_push(&found->blocks,
			       address_of(pymalloc_pool_at(&objects->pools, word[i]), to));
	}
	return err;
}

static struct err *count_pools(struct pyobjects *objects, struct memory *memory)
{
	uint8_t *bytes = malloc(PYMALLOC_POOL_MAX);
	struct err *err = bytes ? NULL : err_nomem;

	vec_each_while(pool, &objects->pools.pools, !err) {
		if (!pool->carved)
			continue;
		if (memory_read_holes(memory, pool->address, bytes, objects->pools.pool_size))
			count_pool(objects, pool, bytes);
		err = cancel_check();
	}
	free(bytes);
	return err;
}

struct err *pylost_settle(struct pyobjects *objects, struct memory *memory)
{
	struct found *found = calloc(1, sizeof(*found));
	struct err *err = found ? count_pools(objects, memory) : err_nomem;

	if (!err)
		err = note_lost(objects, found);
	if (!err && found->blocks.nr) {
		found->copies = malloc((size_t)COPIES * PYMALLOC_POOL_MAX);
		err = found->copies ? NULL : err_nomem;
	}
	while (!err && found->blocks.nr)
		err = take_back(objects, memory, found->blocks.at[--found->blocks.nr], found);
	if (found) {
		vec_free(&found->blocks);
		free(found->copies);
	}
	free(found);
	return err;
}
