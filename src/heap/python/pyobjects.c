/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the types of Python's objects (pyobjects.h). */

#include "heap/python/pyobjects.h"

#include <string.h>

/* struct _typeobject, as far as all versions have it alike. */
#define TYPE_TYPE	8u
#define TYPE_NAME	24u
#define TYPE_BASICSIZE	32u
#define TYPE_FLAGS	168u
#define TYPE_BYTES	176u
#define FLAG_GC		(1ull << 14)
#define FLAG_TYPES	(1ull << 31)	/* Py_TPFLAGS_TYPE_SUBCLASS */
#define BASIC_MAX	(1u << 24)

#define REFS_LEAST	1ull
#define REFS_MOST	((1ull << 32) - 1)	/* those that never die have less, or this (3.12) */

struct finder {
	struct pyobjects *ret;
	struct memory *memory;
	uint64_t type_type;
};

bool pyobjects_is_name(const char *name)
{
	if (!*name)
		return false;
	for (; *name; name++)
		if ((unsigned char)*name <= ' ' || *name == 127)
			return false;
	return true;
}

/* Is it a type of types? Its instances are types then, and not strings or anything else. */
static bool is_metatype(const struct finder *finder, uint64_t type)
{
	uint64_t flags, of;

	if (type == finder->type_type)
		return true;
	return type % 8 == 0 && !memory_read_u64(finder->memory, type + TYPE_FLAGS, &flags) &&
	       flags & FLAG_TYPES && !memory_read_u64(finder->memory, type + TYPE_TYPE, &of) &&
	       (of == finder->type_type || of == type);
}

static bool read_type(const struct finder *finder, uint64_t address, struct pytype *ret)
{
	uint64_t word[TYPE_BYTES / 8];

	ret->address = address;
	if (memory_read(finder->memory, address, word, sizeof(word)) ||
	    !is_metatype(finder, word[TYPE_TYPE / 8]) || word[TYPE_BASICSIZE / 8] < 16 ||
	    word[TYPE_BASICSIZE / 8] > BASIC_MAX)
		return false;
	ret->collected = word[TYPE_FLAGS / 8] & FLAG_GC;
	ret->name_at = word[TYPE_NAME / 8];
	if (!memory_read_string(finder->memory, ret->name_at, ret->name, sizeof(ret->name)))
		return pyobjects_is_name(ret->name);
	*ret->name = '\0';
	return ret->name_at >= 4096 && ret->name_at < 1ull << 47;
}

/* *ret is the type's index; 0: it is none. */
static struct err *type_at(const struct finder *finder, uint64_t address, uint16_t *ret)
{
	struct pyobjects *objects = finder->ret;
	uintptr_t known = (uintptr_t)map_get(&objects->known, address);
	struct pytype type;
	struct err *err = NULL;

	if (known) {
		*ret = (uint16_t)(known - 1);
		return NULL;
	}
	*ret = 0;
	if (objects->types.nr < UINT16_MAX && read_type(finder, address, &type)) {
		*ret = (uint16_t)objects->types.nr;
		err = vec_push(&objects->types, type);
	}
	return err ? err : map_put(&objects->known, address, (void *)(uintptr_t)(*ret + 1u));
}

static bool may_be_type(uint64_t address)
{
	return address >= 4096 && address < 1ull << 47 && address % 8 == 0;
}

static struct err *classify(const struct finder *finder, const uint8_t *bytes, uint32_t size,
			    struct pynode *ret)
{
	for (unsigned head = 0; head <= 2 && 16 * head + 16 <= size; head++) {
		uint64_t object[2];
		uint16_t type;
		struct err *err;

		memcpy(object, bytes + (size_t)16 * head, sizeof(object));
		if (object[0] < REFS_LEAST || object[0] > REFS_MOST ||
		    !may_be_type(object[1]))
			continue;
		err = type_at(finder, object[1], &type);
		if (err)
			return err;
		if (!type || finder->ret->types.at[type].collected != (head != 0))
			continue;
		ret->type = type;
		ret->head = (uint8_t)head;
		return NULL;
	}
	return NULL;
}

static struct err *add_pool(void *ctx, const struct pymalloc_pool *pool, const uint8_t *bytes,
			    const bool *used)
{
	const struct finder *finder = ctx;
	struct err *err = NULL;

	for (uint32_t i = 0; !err && i < pool->carved; i++) {
		struct pynode node = { .head = used[i] ? 0 : PYNODE_FREE };

		if (used[i])
			err = classify(finder, bytes + PYMALLOC_HEADER + (size_t)i * pool->size,
				       pool->size, &node);
		if (!err)
			err = vec_push(&finder->ret->nodes, node);
	}
	return err;
}

struct err *pyobjects_begin(struct pyobjects *ret)
{
	*ret = (struct pyobjects){ .known = MAP_INIT };
	return vec_push(&ret->types, ((struct pytype){ .name = "(no object)" }));
}

struct err *pyobjects_type(struct pyobjects *objects, struct memory *memory, uint64_t type_type,
			   const uint8_t *bytes, uint32_t size, uint16_t *ret)
{
	const struct finder finder = { objects, memory, type_type };
	struct pynode node = { .type = 0 };
	struct err *err = classify(&finder, bytes, size, &node);

	*ret = node.type;
	return err;
}

struct err *pyobjects_find(const struct pymalloc_source *source, uint64_t type_type,
			   struct pyobjects *ret)
{
	struct finder finder = { ret, source->memory, type_type };
	struct err *err = pyobjects_begin(ret);

	return err ? err : pymalloc_walk(source, add_pool, &finder, &ret->pools);
}

void pyobjects_free(struct pyobjects *objects)
{
	pymalloc_free(&objects->pools);
	vec_free(&objects->nodes);
	vec_free(&objects->types);
	map_free(&objects->known, NULL);
}

struct err *pyobjects_each(const struct pyobjects *objects, pyobjects_fn *fn, void *ctx)
{
	struct err *err = NULL;

	vec_each_while(pool, &objects->pools.pools, !err) {
		for (uint32_t i = 0; !err && i < pool->carved; i++) {
			const struct pynode *node = &objects->nodes.at[pool->first + i];
			uint64_t block = pool->address + PYMALLOC_HEADER + (uint64_t)i * pool->size;

			if (node->head == PYNODE_FREE)
				continue;
			err = fn(ctx, block, block + 16u * node->head, pool->size,
				 &objects->types.at[node->type], (enum pynode_state)node->state);
		}
	}
	return err;
}
