/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that are read whole, and what is no file. */

#include "os/input.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "base/cancel.h"
#include "tree.h"
#include "unit.h"

static char path[512];

static const char *at(const struct tree *tree, const char *name)
{
	snprintf(path, sizeof(path), "%s/%s", tree->at, name);
	return path;
}

static bool has(const char *name, const char *text)
{
	AUTO_STR struct str found = STR_INIT;

	CU_ASSERT_PTR_NULL_FATAL(input_read(name, 4096, &found));
	return !strcmp(str_text(&found), text);
}

static bool fails(const char *name, enum err_code code, const char *why)
{
	AUTO_STR struct str found = STR_INIT;
	struct err *err = input_read(name, 4096, &found);

	if (err && err->code == code && strstr(err->msg, why))
		return true;
	fprintf(stderr, "not '%s': %s\n", why, err ? err->msg : "no error");
	return false;
}

TEST("files")
{
	AUTO_FREE char *longest = calloc(1, 4098);
	struct tree tree;

	tree_make(&tree);
	tree_put(&tree, "empty", "");
	tree_put(&tree, "file", "text\n");
	memset(longest, 'x', 4097);
	tree_put(&tree, "long", longest);
	CU_ASSERT(has(at(&tree, "empty"), ""));
	CU_ASSERT(has(at(&tree, "file"), "text\n"));
	CU_ASSERT(has("/dev/null", ""));
	CU_ASSERT(fails(at(&tree, "long"), ERR_RANGE, "at most 4096"));
	CU_ASSERT(fails("/dev/zero", ERR_RANGE, "at most 4096"));
	CU_ASSERT(fails(at(&tree, "none"), ERR_SYS, "No such file"));
	CU_ASSERT(fails(tree.at, ERR_USAGE, "a folder"));
	CU_ASSERT_FALSE(input_may_wait(at(&tree, "file")));
	CU_ASSERT_FALSE(input_may_wait(at(&tree, "none")));
	CU_ASSERT_FALSE(input_may_wait(tree.at));
	tree_remove(&tree);
}

TEST("FIFOs")
{
	struct tree tree;
	int fd;

	tree_make(&tree);
	CU_ASSERT_EQUAL(mkfifo(at(&tree, "fifo"), 0600), 0);
	CU_ASSERT_TRUE(input_may_wait(path));
	CU_ASSERT(fails(path, ERR_USAGE, "nobody writes to"));
	fd = open(path, O_RDWR | O_CLOEXEC);
	CU_ASSERT_EQUAL(write(fd, "text\n", 5), 5);
	/* The writer stays, and says no more: Ctrl-C ends that. */
	cancel_request();
	CU_ASSERT(fails(path, ERR_CANCELLED, "interrupted"));
	cancel_clear();
	close(fd);
	tree_remove(&tree);
}

/* What a shell makes of <(COMMAND): the writer may have gone before it is opened. */
TEST("pipes")
{
	char name[32];
	int ends[2];

	for (unsigned written = 0; written < 2; written++) {
		CU_ASSERT_EQUAL_FATAL(pipe2(ends, O_CLOEXEC), 0);
		if (written)
			CU_ASSERT_EQUAL(write(ends[1], "text\n", 5), 5);
		close(ends[1]);
		snprintf(name, sizeof(name), "/dev/fd/%d", ends[0]);
		CU_ASSERT(has(name, written ? "text\n" : ""));
		close(ends[0]);
	}
}
