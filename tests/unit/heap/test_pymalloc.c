/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The walk of Python's arenas, and what is lost in them, over an image that knows the truth. */

#include "heap/python/pylost.h"

#include <stdlib.h>

#include "memory_array.h"
#include "os/procfs.h"
#include "unit.h"

#define START		0x7f0000000000ull
#define ARRAY		0x1010u		/* of entries, behind a chunk's head */
#define TYPES		0x4000u		/* PyType_Type, then a collected one, then a plain one */
#define TYPE(n)		(TYPES + 0x400u * (n))
#define NAMES		0x5000u
#define ROOTS		0x6000u
#define ARENA		0x40000u
#define SPACE		(ARENA + 65 * 16384u)
#define OBJECTS		20u		/* blocks of each pool, every fifth is free */

struct world {
	struct memory_array memory;
	struct proc_maps maps;
	struct proc_map map;
	uint8_t *bytes;
	uint32_t pool_size, alignment, nr_pools;
	uint32_t used;
};

static void put(struct world *world, uint64_t offset, uint64_t value)
{
	memcpy(world->bytes + offset, &value, sizeof(value));
}

static void put32(struct world *world, uint64_t offset, uint32_t value)
{
	memcpy(world->bytes + offset, &value, sizeof(value));
}

static void make_type(struct world *world, unsigned n, const char *name, bool collected)
{
	put(world, TYPE(n) + 8, START + TYPE(0));
	put(world, TYPE(n) + 24, START + NAMES + 64 * n);
	put(world, TYPE(n) + 32, 32);
	put(world, TYPE(n) + 168, collected ? 1u << 14 : 0);
	strcpy((char *)world->bytes + NAMES + 64 * n, name);
}

/* A pool's blocks are objects, of the collected type where there is room for its links. */
static void make_pool(struct world *world, uint32_t number, uint32_t szidx)
{
	uint64_t pool = ARENA + (uint64_t)number * world->pool_size, last = 0;
	uint32_t size = (szidx + 1) * world->alignment, used = 0;

	for (uint32_t i = OBJECTS; i-- > 0;) {
		uint64_t block = pool + 48 + (uint64_t)i * size;

		if (i % 5 == 4) {
			put(world, block, last);
			last = START + block;
			continue;
		}
		used++;
		put(world, block + (size >= 48 ? 16 : 0), 1);
		if (size >= 16)
			put(world, block + (size >= 48 ? 24 : 8), START + TYPE(size >= 48 ? 1 : 2));
	}
	put32(world, pool, used);
	put(world, pool + 8, last);
	put32(world, pool + 32, 0);
	put32(world, pool + 36, szidx);
	put32(world, pool + 40, 48 + OBJECTS * size);
	put32(world, pool + 44, world->pool_size - size);
	world->used += used;
}

/* Pools of `classes` sizes, then one that is free. */
static void open_world(struct world *world, uint32_t pool_size, uint32_t alignment, uint32_t first_class,
		       uint32_t classes)
{
	*world = (struct world){ .pool_size = pool_size, .alignment = alignment };
	world->bytes = calloc(1, SPACE);
	world->map = (struct proc_map){ .start = START, .end = START + SPACE, .read = true,
					.write = true, .path = (char *)"" };
	CU_ASSERT_PTR_NULL_FATAL(vec_push(&world->maps.vec, world->map));
	memory_array_init(&world->memory, world->bytes, START, SPACE);
	make_type(world, 0, "type", true);
	make_type(world, 1, "Session", true);
	make_type(world, 2, "float", false);
	put(world, 0x100, START + ARRAY);
	put(world, ARRAY - 8, 16 * 48 + 16 + 1);
	put(world, ARRAY, START + ARENA);
	put(world, ARRAY + 8, START + ARENA + (uint64_t)(classes + 1) * pool_size);
	put32(world, ARRAY + 16, 64 - classes);
	put32(world, ARRAY + 20, 64);
	put(world, ARRAY + 24, START + ARENA + (uint64_t)classes * pool_size);
	for (uint32_t i = 0; i < classes; i++)
		make_pool(world, i, first_class + i);
	world->nr_pools = classes;
}

static void close_world(struct world *world)
{
	vec_free(&world->maps.vec);
	free(world->bytes);
}

static struct err *find(struct world *world, struct pyobjects *ret)
{
	const struct pymalloc_range data = { START, START + 0x1000 };
	const struct pymalloc_source source = { &world->memory.memory, &world->maps, &data, 1 };

	return pyobjects_find(&source, START + TYPE(0), ret);
}

struct counts {
	uint64_t all, sessions, floats, lost, indirect;
};

static struct err *count(void *ctx, uint64_t block, uint64_t object UNUSED, uint32_t size,
			 const struct pytype *type, enum pynode_state state)
{
	struct counts *counts = ctx;

	CU_ASSERT(block > START && size);
	counts->all++;
	counts->sessions += !strcmp(type->name, "Session");
	counts->floats += !strcmp(type->name, "float");
	counts->lost += state == PYNODE_LOST;
	counts->indirect += state == PYNODE_INDIRECT;
	return NULL;
}

static void check_counts(uint32_t pool_size, uint32_t alignment)
{
	struct counts counts = { 0 };
	struct pyobjects objects;
	struct world world;

	open_world(&world, pool_size, alignment, 16 / alignment, 8);
	CU_ASSERT_PTR_NULL_FATAL(find(&world, &objects));
	CU_ASSERT(objects.pools.arenas.nr == 1 && objects.pools.pool_size == pool_size);
	CU_ASSERT_EQUAL(objects.pools.blocks, world.used);
	CU_ASSERT(objects.pools.free_pools == 1 && !objects.pools.damaged);
	CU_ASSERT_PTR_NULL(pyobjects_each(&objects, count, &counts));
	CU_ASSERT(counts.all == world.used && counts.sessions + counts.floats == world.used);
	CU_ASSERT(counts.sessions && counts.floats);
	pyobjects_free(&objects);
	close_world(&world);
}

TEST("all blocks, with both sizes of pools, and of steps")
{
	check_counts(4096, 16);
	check_counts(16384, 16);
	check_counts(4096, 8);
}

/* Sessions are in a pool of their own. */
static uint64_t session_at(const struct world *world, uint32_t pool, uint32_t i)
{
	return START + ARENA + (uint64_t)pool * world->pool_size + 48 + i * (3 + pool) * 16ull;
}

TEST("what nothing points to is lost, and what only that points to")
{
	struct counts counts = { 0 };
	struct pyobjects objects;
	struct world world;
	unsigned held = 0;

	open_world(&world, 4096, 16, 2, 1);
	/* 0 is held, 1 by it; 2 is lost, 3 by it; 5 and 6 hold one another; others only have links. */
	put(&world, ROOTS, session_at(&world, 0, 0) + 16);
	put(&world, session_at(&world, 0, 0) - START + 32, session_at(&world, 0, 1) + 16);
	put(&world, session_at(&world, 0, 2) - START + 32, session_at(&world, 0, 3) + 24);
	put(&world, session_at(&world, 0, 5) - START + 32, session_at(&world, 0, 6) + 16);
	put(&world, session_at(&world, 0, 6) - START + 32, session_at(&world, 0, 5) + 16);
	for (unsigned i = 0; i + 1 < OBJECTS; i++)
		if (i % 5 != 4 && (i + 1) % 5 != 4)
			put(&world, session_at(&world, 0, i) - START, session_at(&world, 0, i + 1));
	put(&world, session_at(&world, 0, 7) - START + 40, session_at(&world, 0, 7) + 16);
	CU_ASSERT_PTR_NULL_FATAL(find(&world, &objects));
	CU_ASSERT_PTR_NULL_FATAL(pylost_count(&objects, &world.memory.memory, START + ROOTS,
					      START + SPACE));
	held = 4;		/* 0, 1, 5, 6 */
	CU_ASSERT_PTR_NULL_FATAL(pylost_settle(&objects, &world.memory.memory));
	CU_ASSERT_PTR_NULL(pyobjects_each(&objects, count, &counts));
	CU_ASSERT_EQUAL(counts.all, 16);
	CU_ASSERT_EQUAL(counts.indirect, 1);
	CU_ASSERT_EQUAL(counts.lost, 16 - held - 1);
	pyobjects_free(&objects);
	close_world(&world);
}

TEST("no arenas, or such as are none")
{
	struct pyobjects objects;
	struct world world;
	struct err *err;

	open_world(&world, 4096, 16, 0, 4);
	put32(&world, ARENA + 32, 7);		/* the first pool names another arena */
	err = find(&world, &objects);
	CU_ASSERT(err && err->code == ERR_NOTFOUND);
	pyobjects_free(&objects);
	put32(&world, ARENA + 32, 0);
	put32(&world, ARENA + 4096, 9);		/* a count that is wrong */
	CU_ASSERT_PTR_NULL_FATAL(find(&world, &objects));
	CU_ASSERT(objects.pools.damaged == 1 && objects.pools.blocks == 3 * 16);
	pyobjects_free(&objects);
	close_world(&world);
}

/* Behind a plausible count of references stands the address of an object that is no type. */
TEST("an object's word that leads to a string")
{
	struct counts counts = { 0 };
	struct pyobjects objects;
	struct world world;

	open_world(&world, 4096, 16, 0, 2);
	put(&world, TYPE(3) + 8, START + TYPE(2));	/* an instance of float */
	put(&world, TYPE(3) + 24, START + NAMES);
	put(&world, TYPE(3) + 32, 32);
	for (unsigned i = 0; i < 4; i++)
		put(&world, ARENA + 48 + i * 16 + 8, START + TYPE(3));
	CU_ASSERT_PTR_NULL_FATAL(find(&world, &objects));
	CU_ASSERT_PTR_NULL(pyobjects_each(&objects, count, &counts));
	CU_ASSERT(counts.all == 32 && counts.floats == 28);
	pyobjects_free(&objects);
	close_world(&world);
}

/* Whatever was changed, the walk ends inside of its memory, and its sums are those of its blocks. */
TEST("damage")
{
	uint64_t random = 1;

	for (unsigned round = 0; round < 2000; round++) {
		struct counts counts = { 0 };
		struct pyobjects objects;
		struct world world;

		open_world(&world, round % 2 ? 16384 : 4096, 16, 0, 12);
		for (unsigned i = 0; i < 1 + round % 8; i++) {
			random = random * 6364136223846793005ull + 1442695040888963407ull;
			put(&world, (random >> 33) % 2 ? ARRAY + random % 96 / 8 * 8 :
			    ARENA + (random >> 40) % (12 * world.pool_size) / 8 * 8,
			    (random >> 20) % 3 ? random >> 50 : START + (random >> 30) % SPACE);
		}
		if (!find(&world, &objects)) {
			CU_ASSERT_PTR_NULL(pylost_count(&objects, &world.memory.memory, START,
							START + SPACE));
			CU_ASSERT_PTR_NULL(pylost_settle(&objects, &world.memory.memory));
			CU_ASSERT_PTR_NULL(pyobjects_each(&objects, count, &counts));
			CU_ASSERT_EQUAL(counts.all, objects.pools.blocks);
		}
		pyobjects_free(&objects);
		close_world(&world);
	}
}
