/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a later mdbg is told of a log: modules, generations, marks; and what it does not believe. */

#include <sys/mman.h>

#include "tracee/previous/provenance.h"
#include "tracee/module.h"
#include "unit.h"

#define AT		0x5000u	/* in the file */
#define ARENA		0x100000u

static int file = -1;

static int make_file(void)
{
	file = memfd_create("history", MFD_CLOEXEC);
	return file < 0 || ftruncate(file, AT + PROVENANCE_SIZE);
}

static int close_file(void)
{
	return close(file);
}

FIXTURE(make_file, close_file);

struct world {
	struct module module[3];
	struct modules modules;
};

static void world_open(struct world *world, uint32_t generation)
{
	memset(world, 0, sizeof(*world));
	world->modules.generation = generation;
	for (unsigned i = 0; i < ARRAY_SIZE(world->module); i++) {
		world->module[i] = (struct module){
			.start = 0x1000 * (i + 1), .end = 0x1000 * (i + 2), .inode = i + 10,
			.dev_major = 8, .dev_minor = 1, .born = generation - i,
		};
		if (vec_push(&world->modules.live, &world->module[i]))
			abort();
	}
}

static void world_close(struct world *world)
{
	vec_free(&world->modules.live);
}

static void write_history(void)
{
	CLEANUP(world_close) struct world world;

	world_open(&world, 7);
	CU_ASSERT_PTR_NULL_FATAL(provenance_write(file, AT, &world.modules, 0x2000, 0x9000));
}

TEST("gone on with")
{
	struct provenance *history;
	struct world world;
	uint64_t marks;

	write_history();
	CU_ASSERT_PTR_NULL_FATAL(provenance_set_marks(file, AT, 0x1234567890));
	CU_ASSERT_PTR_NULL_FATAL(provenance_read(file, AT, ARENA, &marks, &history));
	CU_ASSERT_EQUAL(marks, 0x1234567890);
	CU_ASSERT_EQUAL(history->arena_low, 0x2000);
	CU_ASSERT_EQUAL(history->arena_high, 0x9000);
	CU_ASSERT_EQUAL(history->generation, 7);
	world_open(&world, 1);
	world.module[1].inode = 99;		/* another file in its place */
	provenance_continue(history, &world.modules);
	CU_ASSERT_EQUAL(world.modules.generation, 8);
	CU_ASSERT_EQUAL(world.modules.map.generation, 8);
	CU_ASSERT_EQUAL(world.module[0].born, 7);
	CU_ASSERT_EQUAL(world.module[1].born, 8);
	CU_ASSERT_EQUAL(world.module[2].born, 5);
	world_close(&world);
	free(history);
}

/* Is a history in which this field is that refused for this? */
static bool refuses(size_t offset, const void *value, size_t len, const char *why)
{
	struct provenance *history;
	uint64_t marks;
	struct err *err;

	write_history();
	if (pwrite(file, value, len, (off_t)(AT + offset)) != (ssize_t)len)
		abort();
	err = provenance_read(file, AT, ARENA, &marks, &history);
	if (!err)
		free(history);
	return err && err->code == ERR_FORMAT && strstr(err->msg, why);
}

#define REFUSES(field, number, why) ({ \
	__typeof__(((struct provenance *)NULL)->field) value = number; \
	refuses(offsetof(struct provenance, field), &value, sizeof(value), why); })

TEST("damaged")
{
	CU_ASSERT_TRUE(REFUSES(layout, 1, "another build"));
	CU_ASSERT_TRUE(REFUSES(sum, 1, "damaged"));
	CU_ASSERT_TRUE(REFUSES(nr, 2, "damaged"));
	/* Nothing behind the table is summed up. */
	CU_ASSERT_TRUE(REFUSES(nr, UINT32_MAX, "damaged"));
	CU_ASSERT_TRUE(REFUSES(module[1].born, 6666, "damaged"));
}

/* The sum is right, the numbers make no sense. */
TEST("senseless")
{
	CLEANUP(world_close) struct world world;
	struct provenance *history;
	uint64_t marks;

	world_open(&world, UINT32_MAX / 2);
	CU_ASSERT_PTR_NULL(provenance_write(file, AT, &world.modules, 0, 0x1000));
	CU_ASSERT_PTR_NOT_NULL(provenance_read(file, AT, ARENA, &marks, &history));
	world.modules.generation = 7;
	CU_ASSERT_PTR_NULL(provenance_write(file, AT, &world.modules, 0x2000, 0x1000));
	CU_ASSERT_PTR_NOT_NULL(provenance_read(file, AT, ARENA, &marks, &history));
	CU_ASSERT_PTR_NULL(provenance_write(file, AT, &world.modules, 0x1001, 0x2000));
	CU_ASSERT_PTR_NOT_NULL(provenance_read(file, AT, ARENA, &marks, &history));
	CU_ASSERT_PTR_NULL(provenance_write(file, AT, &world.modules, 0, ARENA + 1));
	CU_ASSERT_PTR_NOT_NULL(provenance_read(file, AT, ARENA, &marks, &history));
	world.module[1].born = 8;
	CU_ASSERT_PTR_NULL(provenance_write(file, AT, &world.modules, 0, ARENA));
	CU_ASSERT_PTR_NOT_NULL(provenance_read(file, AT, ARENA, &marks, &history));
	for (unsigned i = 0; i < ARRAY_SIZE(world.module); i++)
		world.module[i].born = 7;
	CU_ASSERT_PTR_NULL(provenance_write(file, AT, &world.modules, 0, ARENA));
	CU_ASSERT_PTR_NULL_FATAL(provenance_read(file, AT, ARENA, &marks, &history));
	free(history);
}
