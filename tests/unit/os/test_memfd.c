/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory files of another process, and whose a process is. */

#include "os/memfd.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "os/identity.h"
#include "unit.h"

static struct err *look(int fd, int *fd_ret)
{
	struct stat stat;
	char path[40];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", getpid(), fd);
	return memfd_look(path, "mdbg", fd_ret, &stat);
}

TEST("what a link leads to")
{
	AUTO_CLOSE int ours = memfd_create("mdbg", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	AUTO_CLOSE int other = memfd_create("other", MFD_CLOEXEC);
	AUTO_CLOSE int device = open("/dev/zero", O_RDWR | O_CLOEXEC);
	AUTO_CLOSE int path_fd = -1, fd = -1;
	int pipes[2], none;

	CU_ASSERT_PTR_NULL_FATAL(look(ours, &path_fd));
	CU_ASSERT_PTR_NULL_FATAL(memfd_open(path_fd, &fd));
	CU_ASSERT_EQUAL(write(fd, "x", 1), 1);
	CU_ASSERT_FATAL(!pipe2(pipes, O_CLOEXEC));
	CU_ASSERT_EQUAL(look(other, &none)->code, ERR_BUSY);
	CU_ASSERT_EQUAL(look(device, &none)->code, ERR_BUSY);
	CU_ASSERT_EQUAL(look(pipes[0], &none)->code, ERR_BUSY);
	close(pipes[0]);
	close(pipes[1]);
}

TEST("sealed, and its size")
{
	AUTO_CLOSE int fd = memfd_create("mdbg", MFD_ALLOW_SEALING | MFD_CLOEXEC);
	const int seals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

	CU_ASSERT_FATAL(!ftruncate(fd, 8192));
	CU_ASSERT_EQUAL(memfd_check_sealed(fd, 8192, seals)->code, ERR_BUSY);
	CU_ASSERT_FATAL(!fcntl(fd, F_ADD_SEALS, seals));
	CU_ASSERT_PTR_NULL(memfd_check_sealed(fd, 8192, seals));
	CU_ASSERT_EQUAL(memfd_check_sealed(fd, 4096, seals)->code, ERR_BUSY);
}

/* A forked child is of the same kind until it executes another program; its parent finds it by its id. */
TEST("whose a process is")
{
	struct identity own, child;
	int go[2], status;
	pid_t pid, found = 0;
	char byte;

	CU_ASSERT_FATAL(!pipe2(go, O_CLOEXEC));
	CU_ASSERT_PTR_NULL_FATAL(identity_read(getpid(), &own));
	pid = fork();
	if (!pid) {
		close(go[1]);
		byte = (char)read(go[0], &byte, 1);
		execl("/bin/cat", "cat", (char *)NULL);
		_exit(1);
	}
	CU_ASSERT_PTR_NULL_FATAL(identity_read(pid, &child));
	CU_ASSERT_PTR_NULL(identity_difference(&own, &child));
	CU_ASSERT_TRUE(identity_has_uid(&child, getuid()));
	CU_ASSERT_PTR_NULL(identity_find_child(getpid(), (uint64_t)pid, &found));
	CU_ASSERT_EQUAL(found, pid);
	CU_ASSERT_PTR_NOT_NULL(identity_find_child(getpid(), (uint64_t)getppid(), &found));
	child.uid[2]++;
	CU_ASSERT_PTR_NOT_NULL(identity_difference(&own, &child));
	child.uid[2]--;
	child.start_brk += 4096;
	CU_ASSERT_PTR_NOT_NULL(identity_difference(&own, &child));
	close(go[0]);
	close(go[1]);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

/* A lock says that its holder lives: a mapping, or another descriptor of the file, does not. */
TEST("a lock that says who lives")
{
	int fd = memfd_create("mdbg", MFD_CLOEXEC), lock = -1, other = -1;
	struct err *err;
	struct stat st;
	struct file_id id;
	bool locked = true;
	void *page;

	CU_ASSERT_FATAL(fd >= 0 && !ftruncate(fd, 4096) && !fstat(fd, &st));
	id = file_id_of(&st);
	CU_ASSERT_PTR_NULL_FATAL(memfd_is_locked(&id, &locked));
	CU_ASSERT_FALSE(locked);
	CU_ASSERT_PTR_NULL_FATAL(memfd_lock(fd, &lock));
	page = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	CU_ASSERT_PTR_NULL(memfd_is_locked(&id, &locked));
	CU_ASSERT_TRUE(locked);
	err = memfd_lock(fd, &other);
	CU_ASSERT_PTR_NOT_NULL_FATAL(err);
	CU_ASSERT_EQUAL(err->code, ERR_BUSY);
	CU_ASSERT_EQUAL(other, -1);
	close(lock);
	CU_ASSERT_PTR_NULL(memfd_is_locked(&id, &locked));
	CU_ASSERT_FALSE(locked);
	munmap(page, 4096);
	close(fd);
}
