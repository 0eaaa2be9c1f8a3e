/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Copies and look-ups by errands, of files that are as good as any; FUSE is in the cases reader-*. */

#include "os/far_file.h"

#include <fcntl.h>
#include <linux/openat2.h>

#include "base/cancel.h"
#include "base/cleanup.h"
#include "unit.h"

TEST("where files are")
{
	AUTO_CLOSE int local = open("/var/tmp", O_TMPFILE | O_RDWR, 0600);
	AUTO_CLOSE int proc = open("/proc/self/status", O_PATH);
	AUTO_CLOSE int device = open("/dev/null", O_PATH);

	CU_ASSERT_FALSE(far_file_is(local));
	CU_ASSERT_TRUE(far_file_is(proc));
	CU_ASSERT_TRUE(far_file_is(device));
	CU_ASSERT_TRUE(far_file_is(-1));
}

static bool same_bytes(int a, int b)
{
	static uint8_t x[1 << 16], y[1 << 16];
	ssize_t got, nr;
	off_t at = 0;

	do {
		got = pread(a, x, sizeof(x), at);
		nr = pread(b, y, sizeof(y), at);
		at += got;
	} while (got > 0 && got == nr && !memcmp(x, y, (size_t)got));
	return !got && !nr;
}

TEST("copies")
{
	AUTO_CLOSE int self = open("/proc/self/exe", O_RDONLY), path = open("/proc/self/exe", O_PATH);
	AUTO_CLOSE int folder = open("/", O_PATH), copy = -1;
	struct stat st, is;
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(far_file_copy(path, UINT64_MAX, &st, &copy));
	CU_ASSERT_EQUAL(fstat(self, &is), 0);
	CU_ASSERT_TRUE(st.st_dev == is.st_dev && st.st_ino == is.st_ino && st.st_size == is.st_size &&
		       st.st_mode == is.st_mode && st.st_mtim.tv_nsec == is.st_mtim.tv_nsec);
	CU_ASSERT_TRUE(same_bytes(self, copy));
	err = far_file_copy(path, 4096, &st, &copy);
	CU_ASSERT_TRUE_FATAL(err && err->code == ERR_RANGE);
	err = far_file_copy(folder, 4096, &st, &copy);
	CU_ASSERT_TRUE_FATAL(err && err->code == ERR_FORMAT);
	cancel_request();
	err = far_file_copy(path, UINT64_MAX, &st, &copy);
	CU_ASSERT_TRUE_FATAL(err && err->code == ERR_CANCELLED);
	cancel_clear();
}

TEST("looks up")
{
	const struct open_how how = { .flags = O_PATH | O_CLOEXEC,
				      .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	AUTO_CLOSE int root = open("/", O_PATH), fd = far_file_look(root, "/etc/passwd", &how);
	char folder[] = "/var/tmp/mdbg-far-XXXXXX", file[64];

	CU_ASSERT_TRUE(fd >= 0);
	CU_ASSERT_EQUAL(far_file_look(root, "/etc/no-such-file", &how), -1);
	CU_ASSERT_EQUAL(errno, ENOENT);
	/* A name that the kernel cannot have in its cache, since nobody has asked for it. */
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	snprintf(file, sizeof(file), "%s/never", folder);
	CU_ASSERT_EQUAL(far_file_look(root, file, &how), -1);
	CU_ASSERT_EQUAL(errno, ENOENT);
	rmdir(folder);
}

