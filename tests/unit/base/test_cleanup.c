/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scope cleanup: what is owned is released, what was taken is not. */

#include "base/cleanup.h"

#include <fcntl.h>

#include "unit.h"

static int is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static int open_and_leave(void)
{
	AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	CU_ASSERT(is_open(fd));
	return fd;
}

static int open_and_take(void)
{
	AUTO_CLOSE int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CU_ASSERT_FATAL(fd >= 0);
	return take_fd(fd);
}

TEST("close")
{
	int fd = open_and_leave();

	CU_ASSERT_FALSE(is_open(fd));
	CU_ASSERT_EQUAL(errno, EBADF);
	fd = open_and_take();
	CU_ASSERT(is_open(fd));
	close(fd);
}

static int released;

static void release(int *value)
{
	released += *value;
}

TEST("order")
{
	released = 0;
	{
		CLEANUP(release) int a = 1;
		CLEANUP(release) int b = 10;

		CU_ASSERT_EQUAL(released, 0);
		b += a;
	}
	CU_ASSERT_EQUAL(released, 12);
}

static char *allocate(void)
{
	AUTO_FREE char *lost = malloc(16);
	AUTO_FREE char *kept = malloc(16);

	CU_ASSERT_PTR_NOT_NULL_FATAL(lost);
	CU_ASSERT_PTR_NOT_NULL_FATAL(kept);
	*kept = 'k';
	return take(kept);
}

/* Under the address sanitizer this fails too if `lost` is not freed, or `kept` is. */
TEST("free")
{
	char *kept = allocate();

	CU_ASSERT_EQUAL(*kept, 'k');
	free(kept);
}
