/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory behind the descriptors of this test. */

#include "os/held_files.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "unit.h"

#define SIZE	(1u << 20)

static void write_all(int fd)
{
	static char bytes[SIZE];

	memset(bytes, 1, sizeof(bytes));
	CU_ASSERT_EQUAL_FATAL(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
}

static const struct held_file *find(const struct held_files *files, int fd)
{
	vec_each(file, &files->vec)
		if (file->fd == fd)
			return file;
	return NULL;
}

TEST("memory files count once, and files of disks do not")
{
	AUTO_CLOSE int fd = memfd_create("a store", MFD_CLOEXEC);
	AUTO_CLOSE int empty = memfd_create("empty", MFD_CLOEXEC);
	AUTO_CLOSE int again = dup(fd);
	AUTO_CLOSE int exe = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct held_files files;

	write_all(fd);
	CU_ASSERT_PTR_NULL_FATAL(held_files_find(getpid(), 1000, &files));
	CU_ASSERT_FALSE(files.cut);
	CU_ASSERT_PTR_NOT_NULL_FATAL(find(&files, fd));
	CU_ASSERT_EQUAL(find(&files, fd)->bytes, SIZE);
	CU_ASSERT_STRING_EQUAL(find(&files, fd)->name, "/memfd:a store");
	CU_ASSERT_PTR_NULL(find(&files, again));
	CU_ASSERT_PTR_NULL(find(&files, empty));
	CU_ASSERT_PTR_NULL(find(&files, exe));
	held_files_free(&files);
	CU_ASSERT_PTR_NULL_FATAL(held_files_find(getpid(), 1, &files));
	CU_ASSERT_TRUE(files.cut);
	held_files_free(&files);
}

TEST("deleted files of tmpfs")
{
	AUTO_CLOSE int fd = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct held_files files;

	if (fd < 0) {
		unit_skip("no /dev/shm to write to");
		return;
	}
	write_all(fd);
	CU_ASSERT_PTR_NULL_FATAL(held_files_find(getpid(), 1000, &files));
	CU_ASSERT_PTR_NOT_NULL_FATAL(find(&files, fd));
	CU_ASSERT_EQUAL(find(&files, fd)->bytes, SIZE);
	held_files_free(&files);
}

/* Two file systems count their files from the same number on. */
static void hold_two(const char *folder)
{
	char path[64];
	int one[2] = { -1, -1 };
	struct held_files files;

	if (unshare(CLONE_NEWNS) || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL))
		_exit(77);
	snprintf(path, sizeof(path), "%s/file", folder);
	for (unsigned i = 0; i < 2; i++) {
		if (mount("held", folder, "tmpfs", 0, NULL))
			_exit(77);
		one[i] = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
		if (one[i] < 0 || pwrite(one[i], path, 1, 0) != 1 || unlink(path))
			_exit(1);
	}
	/* By number only: the first, the second, the first again. */
	if (dup(one[0]) < 0 || held_files_find(getpid(), 1000, &files))
		_exit(2);
	_exit(files.vec.nr == 2 && find(&files, one[0]) && find(&files, one[1]) ? 0 : 3);
}

TEST("files of one number are told apart")
{
	char folder[] = "/tmp/held-XXXXXX";
	int status;
	pid_t pid;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(folder));
	pid = fork();
	if (!pid)
		hold_two(folder);
	CU_ASSERT_EQUAL_FATAL(waitpid(pid, &status, 0), pid);
	rmdir(folder);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		unit_skip("no mounts can be made here");
	else
		CU_ASSERT_EQUAL(status, 0);
}

TEST("a process that has gone")
{
	struct held_files files;

	CU_ASSERT_PTR_NOT_NULL(held_files_find(0x7ffffffe, 10, &files));
}
