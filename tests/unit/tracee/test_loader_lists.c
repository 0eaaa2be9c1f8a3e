/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loader's lists: of this process, with and without namespaces; of memory that may be anything. */

#include "tracee/loader_lists.h"

#include <dlfcn.h>
#include <link.h>

#include "base/path.h"
#include "memory_array.h"
#include "own_modules.h"
#include "unit.h"

FIXTURE(own_memory_open, own_memory_close);

static struct modules modules;
static struct loader_lists lists;

static struct loader_state own_state(void)
{
	struct loader_state state;

	loader_lists_read(&lists, &modules, &own_memory.memory, &state);
	return state;
}

static void refresh(void)
{
	CU_ASSERT_PTR_NULL(own_refresh(&modules, NULL));
}

/* This program refers to _r_debug, so it has a copy, which does not say what comes. */
TEST("of this process")
{
	const struct module *loader;

	CU_ASSERT_PTR_NOT_NULL(_r_debug.r_map);
	modules_init(&modules, NULL);
	refresh();
	loader_lists_find(&modules, &own_memory.memory, &lists);
	loader = modules_find(&modules, lists.r_debug);
	CU_ASSERT_PTR_NOT_NULL_FATAL(loader);
	CU_ASSERT_EQUAL(strncmp(path_base(loader->path), "ld-linux", 8), 0);
	CU_ASSERT_NOT_EQUAL(lists.global, 0);
	CU_ASSERT_NOT_EQUAL(own_state().sum, 0);
	CU_ASSERT_EQUAL(own_state().unknown, 0);
	modules_deinit(&modules);
}

static void *open_apart(const struct plugin *plugin)
{
	void *handle = dlmopen(LM_ID_NEWLM, plugin->path, RTLD_NOW);

	CU_ASSERT_PTR_NOT_NULL_FATAL(handle);
	return handle;
}

/* A namespace comes, goes, and is used again. */
TEST("namespaces that come and go")
{
	struct plugin plugin;
	struct loader_state before, with, after;
	void *handle;

	modules_init(&modules, NULL);
	refresh();
	loader_lists_find(&modules, &own_memory.memory, &lists);
	before = own_state();
	plugin_copy(&plugin, "apart");
	for (unsigned i = 0; i < 2; i++) {
		handle = open_apart(&plugin);
		with = own_state();
		CU_ASSERT_NOT_EQUAL(with.sum, before.sum);
		CU_ASSERT_TRUE(with.unknown >= 2);	/* it, and a libc of its own */
		refresh();
		CU_ASSERT_EQUAL(own_state().unknown, 0);
		CU_ASSERT_EQUAL(own_state().sum, with.sum);
		CU_ASSERT_EQUAL(dlclose(handle), 0);
		after = own_state();
		CU_ASSERT_NOT_EQUAL(after.sum, with.sum);
		CU_ASSERT_EQUAL(after.unknown, 0);
		refresh();
		before = after;
	}
	unlink(plugin.path);
	modules_deinit(&modules);
}

/* Memory of the test's own, with a count of what is read. */

#define START	0x10000u
#define WORDS	65536u
#define HOOK	0x1234560u
#define DEBUG_WORDS	6u
#define LINK_WORDS	4u

struct world {
	struct memory memory;
	struct memory_array array;
	uint64_t word[WORDS];
	uint64_t reads;
};

static struct err *world_read(struct memory *memory, uint64_t addr, void *buf, size_t len,
			      size_t *len_ret)
{
	struct world *world = (struct world *)memory;

	world->reads++;
	return memory_array_read(&world->array.memory, addr, buf, len, len_ret);
}

static uint64_t at(size_t word)
{
	return START + 8 * word;
}

static struct world *world_create(void)
{
	struct world *world = calloc(1, sizeof(*world));

	CU_ASSERT_PTR_NOT_NULL_FATAL(world);
	world->memory.read = world_read;
	memory_array_init(&world->array, world->word, START, sizeof(world->word));
	return world;
}

/* An r_debug; next is of version 2. */
static void put_debug(struct world *world, size_t word, uint64_t version, uint64_t map,
		      uint64_t next)
{
	const uint64_t debug[DEBUG_WORDS] = { version, map, HOOK, 0, 0, next };

	memcpy(&world->word[word], debug, (version > 1 ? DEBUG_WORDS : DEBUG_WORDS - 1) * 8);
}

static void put_link(struct world *world, size_t word, uint64_t next)
{
	const uint64_t link[LINK_WORDS] = { 0x5000 + word, 1, 0x7000 + word, next };

	memcpy(&world->word[word], link, sizeof(link));
}

static struct loader_state read_world(struct world *world, const struct loader_lists *of)
{
	static const struct modules none;
	struct loader_state state;

	world->reads = 0;
	loader_lists_read(of, &none, &world->memory, &state);
	return state;
}

#define FIRST	0u
#define SECOND	16u
#define THIRD	32u
#define LINKS	1024u

static const struct loader_lists first_only = { .r_debug = START + 8 * FIRST };

/* Of each namespace in the chain a change counts, also behind a list that is empty or wild. */
TEST("a chain of namespaces")
{
	static const uint64_t lists_of_second[] = { 0, 0x666, START + 8 * (LINKS + 64) };
	AUTO_FREE struct world *world = world_create();

	put_link(world, LINKS, 0);
	put_link(world, LINKS + 64, 0);
	put_link(world, LINKS + 128, 0);
	for (unsigned i = 0; i < 3; i++) {
		struct loader_state one, two, gone;

		put_debug(world, FIRST, 2, at(LINKS), at(SECOND));
		put_debug(world, SECOND, 2, lists_of_second[i], at(THIRD));
		put_debug(world, THIRD, 2, 0, 0);
		one = read_world(world, &first_only);
		CU_ASSERT_EQUAL(one.unknown, i == 2 ? 2 : 1);
		put_debug(world, THIRD, 2, at(LINKS + 128), 0);
		two = read_world(world, &first_only);
		CU_ASSERT_EQUAL(two.unknown, one.unknown + 1);
		CU_ASSERT_NOT_EQUAL(two.sum, one.sum);
		put_debug(world, SECOND, 2, lists_of_second[i], 0);
		gone = read_world(world, &first_only);
		CU_ASSERT_NOT_EQUAL(gone.sum, two.sum);
		CU_ASSERT_NOT_EQUAL(gone.sum, one.sum);
	}
}

/* Before r_next, the structs are found in the loader's data. */
TEST("namespaces in the loader's data")
{
	const struct loader_lists of = { .r_debug = at(FIRST), .global = at(256),
					 .global_len = 512 * 8 };
	AUTO_FREE struct world *world = world_create();
	struct loader_state one, two;

	put_link(world, LINKS, 0);
	put_link(world, LINKS + 64, at(LINKS + 128));
	put_link(world, LINKS + 128, 0);
	put_debug(world, FIRST, 1, at(LINKS), 0);
	one = read_world(world, &of);
	CU_ASSERT_EQUAL(one.unknown, 1);
	put_debug(world, 256 + 14, 1, at(LINKS + 64), 0);
	two = read_world(world, &of);
	CU_ASSERT_EQUAL(two.unknown, 3);
	CU_ASSERT_NOT_EQUAL(one.sum, two.sum);
	world->word[256 + 14 + 2] = HOOK + 8;		/* another hook: it is something else */
	CU_ASSERT_EQUAL(read_world(world, &of).sum, one.sum);
	put_debug(world, 256 + 507, 1, at(LINKS + 64), 0);	/* the last that fits */
	CU_ASSERT_EQUAL(read_world(world, &of).unknown, 3);
}

/* Whatever the words are, the reading ends. */
TEST("loops and thousands")
{
	AUTO_FREE struct world *world = world_create();
	unsigned words = DEBUG_WORDS;

	put_link(world, LINKS, at(LINKS));		/* a list that is a loop */
	put_debug(world, FIRST, 2, at(LINKS), at(FIRST));
	CU_ASSERT_NOT_EQUAL(read_world(world, &first_only).sum, 0);
	CU_ASSERT_TRUE(world->reads <= 65536 + 8);
	put_debug(world, FIRST, 2, 0, at(SECOND));	/* namespaces that are one */
	put_debug(world, SECOND, 2, 0, at(THIRD));
	put_debug(world, THIRD, 2, 0, at(SECOND));
	CU_ASSERT_NOT_EQUAL(read_world(world, &first_only).sum, 0);
	CU_ASSERT_TRUE(world->reads <= 8);
	for (unsigned i = 0; i < 8000; i++)		/* thousands, with an endless list each */
		put_debug(world, i * words, 2, at(50000), at((i + 1) * words));
	put_link(world, 50000, at(50000));
	CU_ASSERT_NOT_EQUAL(read_world(world, &first_only).sum, 0);
	CU_ASSERT_TRUE(world->reads <= 65536 + 256);
}

TEST("what cannot be read")
{
	static const struct loader_lists nowhere = { .r_debug = 0x10 };
	static const struct loader_lists no_list = { .r_debug = 0 };
	const struct loader_lists wild = { .r_debug = at(FIRST), .global = UINT64_MAX - 64,
					   .global_len = UINT64_MAX };
	AUTO_FREE struct world *world = world_create();

	CU_ASSERT_EQUAL(read_world(world, &nowhere).sum, 0);
	CU_ASSERT_EQUAL(read_world(world, &no_list).sum, 0);
	put_debug(world, FIRST, 2, UINT64_MAX, UINT64_MAX - 8);
	CU_ASSERT_NOT_EQUAL(read_world(world, &first_only).sum, 0);
	put_debug(world, FIRST, 1, 0, 0);
	CU_ASSERT_NOT_EQUAL(read_world(world, &wild).sum, 0);
}
