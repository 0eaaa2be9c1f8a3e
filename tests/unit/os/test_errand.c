/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Errands that come back, and some that do not; a pipe that nobody writes to is their file. */

#include "os/errand.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/syscall.h>

#include "unit.h"

#define SOON	20000000ull
#define LATE	10000000000ull

struct world {
	struct errands errands;
	int pipe[2];
	uint8_t *bytes;
	long got;
};

static void begin(struct world *world)
{
	*world = (struct world){ .got = 0 };
	CU_ASSERT_EQUAL_FATAL(pipe2(world->pipe, O_CLOEXEC), 0);
}

static void end(struct world *world)
{
	/* One that was given up is killed, and may still be dying. */
	do
		errands_free(&world->errands);
	while (world->errands.nr_left && !sched_yield());
	close(world->pipe[0]);
	close(world->pipe[1]);
}

static struct err *read_pipe(struct world *world, uint64_t within)
{
	struct err *err = errands_ready(&world->errands, &world->bytes);

	return err ? err :
	       errands_call(&world->errands, within, &world->got, SYS_read,
			    (long[6]){ world->pipe[0], (long)world->bytes, 4 });
}

TEST("comes back")
{
	struct world world;

	begin(&world);
	for (int i = 0; i < 1000; i++) {
		CU_ASSERT_EQUAL(write(world.pipe[1], "word", 4), 4);
		errno = 77;
		CU_ASSERT_PTR_NULL_FATAL(read_pipe(&world, LATE));
		CU_ASSERT_EQUAL(world.got, 4);
		CU_ASSERT_EQUAL(memcmp(world.bytes, "word", 4), 0);
	}
	CU_ASSERT_PTR_NULL_FATAL(errands_call(&world.errands, LATE, &world.got, SYS_close,
					      (long[6]){ 1 << 20 }));
	CU_ASSERT_EQUAL(world.got, -EBADF);
	end(&world);
}

TEST("given up")
{
	struct world world;
	struct err *err;

	begin(&world);
	err = read_pipe(&world, SOON);
	CU_ASSERT_FATAL(err && err->code == ERR_TIMEOUT);
	err = read_pipe(&world, SOON);		/* nobody waits for the next one */
	CU_ASSERT_FATAL(err && err->code == ERR_BUSY);
	world.errands.refuse_until = 0;
	/* The one that was given up may still be there, and read the first four. */
	CU_ASSERT_EQUAL(write(world.pipe[1], "wordword", 8), 8);
	CU_ASSERT_PTR_NULL(read_pipe(&world, LATE));
	end(&world);
}

/* 16 MB of random bytes take a processor for more than 10 ms, and wait for nobody. */
TEST("takes long")
{
	const size_t len = 16u << 20;
	struct world world;
	void *bytes = malloc(len);
	int fd = open("/dev/urandom", O_RDONLY | O_CLOEXEC);

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	CU_ASSERT_FATAL(fd >= 0);
	begin(&world);
	CU_ASSERT_PTR_NULL_FATAL(errands_ready(&world.errands, &world.bytes));
	CU_ASSERT_PTR_NULL(errands_call(&world.errands, 1000000, &world.got, SYS_read,
					(long[6]){ fd, (long)bytes, (long)len }));
	CU_ASSERT_EQUAL(world.got, (long)len);
	end(&world);
	close(fd);
	free(bytes);
}

