/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files of somebody else's choice: what is opened. */

#include "os/file.h"

#include <fcntl.h>

#include "unit.h"

static char top[] = "/tmp/mdbg-file.XXXXXX";

static const char *at(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof(path[turn]), "%s/%s", top, name);
	return path[turn];
}

static bool make(const char *name)
{
	int fd = open(at(name), O_WRONLY | O_CREAT | O_TRUNC, 0644);
	bool made = fd >= 0 && write(fd, "text", 4) == 4;

	close(fd);
	return made;
}

static int file_init(void)
{
	if (!mkdtemp(top) || mkdir(at("in"), 0755) || !make("plain") || !make("in/plain"))
		return 1;
	return mkfifo(at("fifo"), 0644) || symlink("plain", at("link")) ||
	       symlink("/plain", at("in/up"));
}

static int file_deinit(void)
{
	static const char *const names[] = { "plain", "in/plain", "fifo", "link", "in/up" };

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unlink(at(names[i]));
	rmdir(at("in"));
	return rmdir(top);
}

FIXTURE(file_init, file_deinit);

/* -1: it is opened; else the error's code. */
static int code_of(struct err *err, int fd)
{
	if (!err)
		close(fd);
	return err ? (int)err->code : -1;
}

static int open_own(const char *name, bool nofollow, uint64_t most)
{
	int fd = -1;
	struct err *err = file_open(AT_FDCWD, at(name), nofollow, most, &fd);

	return code_of(err, fd);
}

static int open_below(int root, const char *path)
{
	int fd = -1;
	struct err *err = file_open(root, path, false, 100, &fd);

	return code_of(err, fd);
}

/* A FIFO without a writer: an open() for reading would wait. */
TEST("kinds and lengths")
{
	int fd = -1;
	struct err *err;

	CU_ASSERT_EQUAL(open_own("plain", false, 4), -1);
	CU_ASSERT_EQUAL(open_own("fifo", false, 4), ERR_FORMAT);
	CU_ASSERT_EQUAL(open_own("in", false, 4), ERR_FORMAT);
	CU_ASSERT_EQUAL(open_own("none", false, 4), ERR_SYS);
	err = file_open(AT_FDCWD, "/dev/zero", false, 4, &fd);
	CU_ASSERT_EQUAL(code_of(err, fd), ERR_FORMAT);
	err = file_open(AT_FDCWD, at("plain"), false, 3, &fd);
	CU_ASSERT(err && err->code == ERR_RANGE && strstr(err->msg, "(at most 3)"));
}

TEST("links")
{
	int root = open(top, O_PATH | O_DIRECTORY | O_CLOEXEC);

	CU_ASSERT_EQUAL(open_own("link", false, 4), -1);
	CU_ASSERT_EQUAL(open_own("link", true, 4), ERR_FORMAT);
	CU_ASSERT_EQUAL(open_below(root, "/plain"), -1);
	CU_ASSERT_EQUAL(open_below(root, "/in/up"), -1);	/* the root is that folder */
	CU_ASSERT_EQUAL(open_below(root, "/../../../../in/plain"), -1);
	CU_ASSERT_NOT_EQUAL(open_below(root, "/etc/passwd"), -1);
	close(root);
}
