/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which files called mdbg an earlier mdbg has made, and which are the program's own. */

#include "tracee/previous/previous_file.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "base/cleanup.h"
#include "child.h"
#include "jumped.h"
#include "tracee/previous/previous_session.h"
#include "tracee/share.h"
#include "unit.h"

CHILD_SHARED(jumped.shared);

#define OPEN		(O_RDWR | O_CLOEXEC | 0100000)	/* the kernel's O_LARGEFILE */
#define SEAL_EXEC	0x20

/* The moments at which an mdbg may be killed, in their order. */
static const struct previous_file moment[] = {
	{ .flags = OPEN },
	{ .flags = OPEN, .seals = SEAL_EXEC },	/* vm.memfd_noexec */
	{ .flags = OPEN, .nr_maps = 1, .maps_journal = true },
	{ .flags = OPEN, .nr_maps = 1, .maps_journal = true, .size = LIMIT, .changed = true },
	{ .flags = OPEN, .nr_maps = 1, .maps_journal = true, .size = LIMIT, .changed = true,
	  .seals = REGION_SEALS },
};

/* Another thing in each moment that it can be in, and it is the program's own. */
TEST("as it is at each moment")
{
	for (size_t i = 0; i < ARRAY_SIZE(moment); i++) {
		struct previous_file file = moment[i];

		CU_ASSERT_TRUE(previous_file_is_unbegun(&file));
		CU_ASSERT_FALSE(previous_file_is_begun(&file));
		file.flags &= ~O_CLOEXEC;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file.flags = OPEN | O_APPEND;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file.flags = OPEN & ~O_RDWR;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file = moment[i];
		file.position = 1;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file = moment[i];
		file.memory = 4096;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file = moment[i];
		file.seals = F_SEAL_SEAL;	/* made without MFD_ALLOW_SEALING */
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file = moment[i];
		file.nr_maps++;
		file.maps_journal = false;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file = moment[i];
		file.size = 1;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
		file = moment[i];
		file.size = JOURNAL_SIZE;
		CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
	}
}

TEST("as it is at none")
{
	struct previous_file file = moment[0];

	file.changed = true;
	CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
	file = moment[3];
	file.nr_maps = 0;
	CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
	file = (struct previous_file){ .flags = OPEN, .size = LIMIT, .memory = 4096,
				       .journal = true };
	CU_ASSERT_TRUE(previous_file_is_begun(&file));
	CU_ASSERT_FALSE(previous_file_is_unbegun(&file));
	file.flags &= ~O_CLOEXEC;
	CU_ASSERT_FALSE(previous_file_is_begun(&file));
}

/* How far an mdbg has come that is killed in the middle of region_create. */
static int killed_at;

static void make_left(void *arg UNUSED)
{
	int fd = memfd_create(JOURNAL_MEMFD_NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	bool good = fd >= 0;

	if (killed_at > 0)
		good &= mmap(NULL, JOURNAL_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd,
			     0) != MAP_FAILED;
	if (killed_at > 1)
		good &= !ftruncate(fd, (off_t)share_file_size(LIMIT, AGENT_THREADS));
	if (killed_at > 2)
		good &= !fcntl(fd, F_ADD_SEALS, REGION_SEALS);
	child_ready(good ? (uint64_t)fd : UINT64_MAX);
	child_wait();
}

static int left_fd(void)
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	CU_ASSERT_PTR_NULL(procfs_maps(jumped.victim.pid, &maps));
	return previous_file_find(jumped.victim.target, &maps);
}

TEST("mdbg is killed at each moment")
{
	for (killed_at = 0; killed_at <= 3; killed_at++) {
		uint64_t fd;

		CU_ASSERT_TRUE_FATAL(child_start(&jumped.child, make_left, NULL));
		CU_ASSERT_TRUE_FATAL(child_word(&jumped.child, &fd));
		CU_ASSERT_NOT_EQUAL_FATAL(fd, UINT64_MAX);
		if (victim_seize(&jumped.victim, jumped.child.pid)) {
			CU_ASSERT_EQUAL(left_fd(), (int)fd);
			victim_run(&jumped.victim, jumped_clean);
			CU_ASSERT_TRUE(jumped.found);
			CU_ASSERT_STRING_EQUAL(jumped.left, "");
			CU_ASSERT_EQUAL(left_fd(), -1);
			CU_ASSERT_FALSE(previous_session_exists(jumped.victim.target));
			victim_release(&jumped.victim);
		}
		CU_ASSERT_EQUAL(child_end(&jumped.child), 0);
	}
}
