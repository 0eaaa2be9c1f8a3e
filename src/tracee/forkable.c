/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides whether a process may be forked (theory in forkable.h). */

#include "tracee/forkable.h"

#include <fcntl.h>
#include <inttypes.h>

#include "base/cleanup.h"
#include "os/file.h"
#include "os/memory_limits.h"
#include "os/procfs.h"
#include "os/task_limits.h"

#define MARGIN			(64ull << 20)	/* for everything else that happens meanwhile */
#define TASKS_MARGIN		16u

/* Files by which memory may be pinned, or written by a device. */
static const char *const pinning[] = {
	"anon_inode:[io_uring]", "/dev/infiniband/", "/dev/vfio/", "/dev/nvidia", "/dev/kfd",
	"/dev/dri/",
};

static struct err *no(const char *why)
{
	return err_create(ERR_UNSUPPORTED, "no snapshot: %s", why);
}

static struct err *check_descriptor(pid_t pid, int fd)
{
	char path[48], link[256];
	uint64_t flags;

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	if (!file_link(AT_FDCWD, path, link, sizeof(link)))
		return NULL;		/* closed meanwhile */
	for (size_t i = 0; i < ARRAY_SIZE(pinning); i++)
		if (!strncmp(link, pinning[i], strlen(pinning[i])))
			return err_create(ERR_UNSUPPORTED,
					  "no snapshot: the process uses %.80s, by which "
					  "its memory may be written to",
					  link);
	/*
	 * Files without a name (sockets, pipes) do no direct I/O; O_DIRECT of a pipe means
	 * something else.
	 */
	snprintf(path, sizeof(path), "/proc/%d/fdinfo/%d", pid, fd);
	if (*link == '/' && file_number(path, "flags:", &flags) && flags & O_DIRECT)
		return err_create(ERR_UNSUPPORTED,
				  "no snapshot: the process has %.80s open for direct I/O", link);
	return NULL;
}

static struct err *check_descriptors(pid_t pid)
{
	struct proc_tasks fds;
	char path[32];
	struct err *err;

	snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	err = procfs_numbers(path, &fds);
	if (err)
		return err;
	vec_each_while(fd, &fds.vec, !err)
		err = check_descriptor(pid, *fd);
	vec_free(&fds.vec);
	return err;
}

static struct err *check_limits(pid_t pid, uint64_t anonymous)
{
	uint64_t wanted = anonymous + anonymous / 512 + MARGIN;
	struct memory_limit limit;
	const char *close;

	if (memory_limits_never_overcommitted())
		return no("memory is never overcommitted here (vm.overcommit_memory)");
	memory_limits_of(pid, MEMORY_LIMIT_GROUPS | MEMORY_LIMIT_MACHINE, &limit);
	if (limit.left < wanted)
		return err_create(ERR_UNSUPPORTED,
				  "no snapshot: %s, of which %" PRIu64 " MB are left, and it may "
				  "take %" PRIu64, limit.name, limit.left >> 20, wanted >> 20);
	close = task_limits_close(pid, TASKS_MARGIN);
	return close ? no(close) : NULL;
}

/* Pages of hugetlbfs that a fork would share until one side writes. */
static bool has_private_huge(const struct smaps *smaps)
{
	for (size_t i = 0; i < smaps->maps.vec.nr; i++) {
		const uint64_t *figure = smaps->figures.at[i].figure;
		uint64_t shared = figure[SMAPS_HUGETLB_SHARED];
		uint64_t private = figure[SMAPS_HUGETLB_PRIVATE];

		if (!smaps->maps.vec.at[i].shared &&
		    ((shared && shared != SMAPS_UNKNOWN) || (private && private != SMAPS_UNKNOWN)))
			return true;
	}
	return false;
}

struct err *forkable_check(pid_t pid, struct smaps *ret)
{
	struct smaps smaps;
	struct err *err = smaps_read(pid, &smaps);

	if (err)
		return err;
	if (!smaps.has_flags)
		err = err_create(ERR_UNSUPPORTED, "the kernel does not say what a fork copies "
				 "(no VmFlags in smaps)");
	if (!err)
		err = check_limits(pid, smaps.anonymous);
	if (!err && has_private_huge(&smaps))
		err = no("the process has private memory of huge pages (hugetlbfs), of which a fork "
			 "may take the last");
	if (!err && smaps.userfault)
		err = no("somebody handles the page faults of the process (userfaultfd)");
	if (!err)
		err = check_descriptors(pid);
	if (err)
		smaps_free(&smaps);
	else
		*ret = smaps;
	return err;
}
