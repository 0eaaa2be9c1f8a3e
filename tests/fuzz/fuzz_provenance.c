/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a later mdbg reads of a log's end: writes over the table of two modules. The first byte says
 * whether the sum is made right afterwards, as one who means harm would do, and whether the file is
 * cut.
 */

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sum.h"
#include "tracee/previous/provenance.h"
#include "tracee/module.h"
#include "writes.h"

#define MODULES		2u
#define ARENA		0x100000u
#define GENERATION	7u

#define RIGHT_SUM	1u
#define CUT		2u

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

struct world {
	struct module module[MODULES];
	struct modules modules;
};

static void world_open(struct world *world)
{
	memset(world, 0, sizeof(*world));
	world->modules.generation = GENERATION;
	for (unsigned i = 0; i < MODULES; i++) {
		world->module[i] = (struct module){
			.start = 0x1000 * (i + 1), .end = 0x1000 * (i + 2), .inode = i, .born = i + 1,
		};
		if (vec_push(&world->modules.live, &world->module[i]))
			abort();
	}
}

/* As it is written, without what fills it up. */
static void make(int fd, const struct world *world, uint8_t *table)
{
	if (ftruncate(fd, 0) || ftruncate(fd, PROVENANCE_SIZE) ||
	    provenance_write(fd, 0, &world->modules, 0, 0x1000) ||
	    pread(fd, table, PROVENANCE_SIZE, 0) != PROVENANCE_SIZE)
		abort();
}

static void make_sum_right(struct provenance *history)
{
	uint64_t len = sizeof(*history) + (uint64_t)history->nr * sizeof(history->module[0]);

	if (len <= PROVENANCE_SIZE)
		history->sum =
			sum_bytes(PROVENANCE_SUM, &history->layout, len - sizeof(history->sum));
}

static void go_on(int fd, struct world *world)
{
	struct provenance *history;
	uint64_t marks;

	if (provenance_read(fd, 0, ARENA, &marks, &history))
		return;
	if (history->arena_low > history->arena_high || history->arena_high > ARENA)
		abort();
	provenance_continue(history, &world->modules);
	for (unsigned i = 0; i < MODULES; i++)
		if (world->module[i].born > world->modules.generation)
			abort();
	free(history);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	/* Of the table's start the room for modules, and of its end the marks. */
	static uint64_t table[PROVENANCE_SIZE / 8];
	static int fd = -1;
	struct input input = { bytes, len };
	uint8_t how = input_byte(&input);
	struct world world;
	struct write write;

	if (fd < 0)
		fd = memfd_create("history", MFD_CLOEXEC);
	world_open(&world);
	make(fd, &world, (uint8_t *)table);
	while (input_write(&input, &write)) {
		size_t room = write.area & 1 ? PROVENANCE_SIZE : 256;

		write_apply(&write, table, room);
	}
	if (how & RIGHT_SUM)
		make_sum_right((struct provenance *)table);
	if (pwrite(fd, table, PROVENANCE_SIZE, 0) != PROVENANCE_SIZE ||
	    (how & CUT && ftruncate(fd, (off_t)(how * 64))))
		abort();
	go_on(fd, &world);
	vec_free(&world.modules.live);
	return 0;
}
