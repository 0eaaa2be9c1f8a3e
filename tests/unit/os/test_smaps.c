/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What smaps and control groups say. */

#include "os/smaps.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "os/cgroup.h"
#include "unit.h"

TEST("flags and sums")
{
	struct smaps smaps;

	CU_ASSERT_PTR_NULL_FATAL(smaps_parse(
		"55d0c0a81000-55d0c0aa2000 rw-p 00000000 00:00 0                  [heap]\n"
		"Rss:                 132 kB\nAnonymous:           128 kB\n"
		"VmFlags: rd wr mr mw me ac sd \n"
		"7f0000000000-7f0000002000 rw-p 00000000 00:00 0 \n"
		"Anonymous:             8 kB\nVmFlags: rd wr mr mw me dc ac sd\n"
		"7f0000004000-7f0000005000 rw-p 00000000 00:00 0 \n"
		"Anonymous:             4 kB\nVmFlags: rd wr mr mw me ac wf sd\n", &smaps));
	CU_ASSERT_EQUAL(smaps.anonymous, 140 << 10);
	CU_ASSERT_FALSE(smaps.userfault);
	CU_ASSERT_EQUAL_FATAL(smaps.unforked.nr, 2);
	CU_ASSERT_EQUAL(smaps.unforked.at[0].start, 0x7f0000000000);
	CU_ASSERT_EQUAL(smaps.unforked.at[1].end, 0x7f0000005000);
	CU_ASSERT_TRUE(smaps_unforked(&smaps, 0x7f0000001000, 0x7f0000003000));
	CU_ASSERT_FALSE(smaps_unforked(&smaps, 0x7f0000002000, 0x7f0000004000));
	smaps_free(&smaps);
	CU_ASSERT_PTR_NULL_FATAL(smaps_parse("1000-2000 rw-p 0 00:00 0\nVmFlags: rd um wr\n", &smaps));
	CU_ASSERT_TRUE(smaps.userfault);
	smaps_free(&smaps);
}

/* The figures of each mapping, as its kernel gives them; what it does not give stays unknown. */
TEST("figures")
{
	CLEANUP(smaps_free) struct smaps smaps;

	CU_ASSERT_PTR_NULL_FATAL(smaps_parse(
		"1000-5000 rw-p 00000000 00:00 0                          [anon:my pool]\n"
		"Size:                 16 kB\nRss:                   8 kB\n"
		"Pss:                   7 kB\nPss_Dirty:             6 kB\n"
		"Shared_Dirty:          0 kB\nPrivate_Dirty:         4 kB\n"
		"AnonHugePages:         2 kB\nSwap:                  3 kB\n"
		"SwapPss:               1 kB\nLocked:                5 kB\n"
		"VmFlags: rd wr mr mw me ac sd \n"
		"7000-8000 r--s 00001000 08:01 77                         /a b\\012c (deleted)\n"
		"Rss:                   4 kB\nPss: broken\nSwap: 99999999999999999999 kB\n"
		"VmFlags: rd mr me ms pf io\n", &smaps));
	CU_ASSERT_TRUE(smaps.has_flags);
	CU_ASSERT_EQUAL_FATAL(smaps.maps.vec.nr, 2);
	CU_ASSERT_EQUAL_FATAL(smaps.figures.nr, 2);
	CU_ASSERT_STRING_EQUAL(smaps.maps.vec.at[0].path, "[anon:my pool]");
	CU_ASSERT_STRING_EQUAL(smaps.maps.vec.at[1].path, "/a b\nc");
	CU_ASSERT_TRUE(smaps.maps.vec.at[1].deleted && smaps.maps.vec.at[1].shared);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_RSS], 8 << 10);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_PSS], 7 << 10);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_SHARED_DIRTY], 0);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_PRIVATE_DIRTY], 4 << 10);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_HUGE_ANONYMOUS], 2 << 10);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_SWAP], 3 << 10);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_LOCKED], 5 << 10);
	CU_ASSERT_FALSE(smaps.figures.at[0].device);
	CU_ASSERT_EQUAL(smaps.figures.at[1].figure[SMAPS_RSS], 4 << 10);
	CU_ASSERT_EQUAL(smaps.figures.at[1].figure[SMAPS_PSS], SMAPS_UNKNOWN);
	CU_ASSERT_EQUAL(smaps.figures.at[1].figure[SMAPS_SWAP], SMAPS_UNKNOWN);
	CU_ASSERT_EQUAL(smaps.figures.at[1].figure[SMAPS_LOCKED], SMAPS_UNKNOWN);
	CU_ASSERT_TRUE(smaps.figures.at[1].device);
}

/* Mappings that went while the text was written go with their figures. */
TEST("torn")
{
	struct smaps smaps;
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(smaps_parse(
		"Rss: 1 kB\n1000-5000 rw-p 0 00:00 0 \nRss: 8 kB\n"
		"5000-6000 rw-p 0 00:00 0 \nRss: 4 kB\n"
		"2000-8000 rw-p 0 00:00 0 \nRss: 24 kB\n9000-a000 rw-p 0 00:00 0 \nRss:", &smaps));
	CU_ASSERT_EQUAL_FATAL(smaps.maps.vec.nr, 3);
	CU_ASSERT_EQUAL_FATAL(smaps.figures.nr, 3);
	CU_ASSERT_EQUAL(smaps.maps.vec.at[0].end, 0x2000);
	CU_ASSERT_EQUAL(smaps.figures.at[0].figure[SMAPS_RSS], 8 << 10);
	CU_ASSERT_EQUAL(smaps.maps.vec.at[1].end, 0x8000);
	CU_ASSERT_EQUAL(smaps.figures.at[1].figure[SMAPS_RSS], 24 << 10);
	CU_ASSERT_EQUAL(smaps.figures.at[2].figure[SMAPS_RSS], SMAPS_UNKNOWN);
	smaps_free(&smaps);
	err = smaps_parse("1000-2000 rw-p 0 00:00 0\nno line of the kernel's\n", &smaps);
	CU_ASSERT_TRUE(err && err->code == ERR_FORMAT);
	CU_ASSERT_PTR_NULL_FATAL(smaps_parse("", &smaps));
	CU_ASSERT_EQUAL(smaps.maps.vec.nr, 0);
	smaps_free(&smaps);
}

/* A kernel without flags: the caller is told, and nothing is taken for granted. */
TEST("no flags")
{
	CLEANUP(smaps_free) struct smaps smaps;

	CU_ASSERT_PTR_NULL_FATAL(smaps_parse("1000-2000 rw-p 0 00:00 0\nAnonymous: 4 kB\n",
					     &smaps));
	CU_ASSERT_FALSE(smaps.has_flags);
}

TEST("its own")
{
	size_t len = 3 << 20;
	char *at = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct smaps smaps;

	CU_ASSERT_TRUE_FATAL(at != MAP_FAILED);
	memset(at, 1, len);
	CU_ASSERT_EQUAL_FATAL(madvise(at + len - 4096, 4096, MADV_DONTFORK), 0);
	CU_ASSERT_PTR_NULL_FATAL(smaps_read(getpid(), &smaps));
	CU_ASSERT_TRUE(smaps.anonymous >= len);
	CU_ASSERT_TRUE(smaps_unforked(&smaps, (uintptr_t)at + len - 4096, (uintptr_t)at + len));
	CU_ASSERT_FALSE(smaps_unforked(&smaps, (uintptr_t)at, (uintptr_t)at + len - 4096));
	smaps_free(&smaps);
	munmap(at, len);
}

static uint64_t figure_at(const struct smaps *smaps, const void *at, enum smaps_figure figure)
{
	for (size_t i = 0; i < smaps->maps.vec.nr; i++)
		if (smaps->maps.vec.at[i].start == (uintptr_t)at)
			return smaps->figures.at[i].figure[figure];
	return SMAPS_UNKNOWN;
}

/* The quick look says what smaps says: of 64 pages 20 are resident, in three places. */
TEST("the quick look")
{
	size_t page = 4096, len = 64 * page;
	char *at = mmap(NULL, len + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct smaps quick, whole;
	struct err *err;

	CU_ASSERT_TRUE_FATAL(at != MAP_FAILED);
	at += page;
	CU_ASSERT_EQUAL_FATAL(mprotect(at, len, PROT_READ | PROT_WRITE), 0);
	CU_ASSERT_EQUAL_FATAL(madvise(at, len, MADV_NOHUGEPAGE), 0);
	memset(at, 1, 3 * page);
	memset(at + 10 * page, 1, 16 * page);
	memset(at + 63 * page, 1, page);
	/* the page of zeros, which is nobody's */
	CU_ASSERT_EQUAL(*(volatile char *)&at[40 * page], 0);
	err = smaps_scan(getpid(), &quick);
	if (err && err->code == ERR_UNSUPPORTED) {
		unit_skip(err->msg);
	} else {
		CU_ASSERT_PTR_NULL_FATAL(err);
		CU_ASSERT_PTR_NULL_FATAL(smaps_read(getpid(), &whole));
		CU_ASSERT_EQUAL(figure_at(&quick, at, SMAPS_RSS), 20 * page);
		CU_ASSERT_EQUAL(figure_at(&whole, at, SMAPS_RSS), 20 * page);
		CU_ASSERT_EQUAL(figure_at(&quick, at, SMAPS_SWAP), 0);
		CU_ASSERT_EQUAL(figure_at(&quick, at, SMAPS_PSS), SMAPS_UNKNOWN);
		CU_ASSERT_EQUAL(figure_at(&quick, at + len, SMAPS_RSS), 0);
		smaps_free(&quick);
		smaps_free(&whole);
	}
	munmap(at - page, len + 2 * page);
}

TEST("the sum of all")
{
	struct smaps smaps;
	uint64_t pss = 0, sum = 0;

	CU_ASSERT_PTR_NULL_FATAL(smaps_whole_pss(getpid(), &pss));
	CU_ASSERT_PTR_NULL_FATAL(smaps_read(getpid(), &smaps));
	vec_each(figures, &smaps.figures)
		sum += figures->figure[SMAPS_PSS];
	/* Each mapping is rounded down; this process has got a little memory meanwhile. */
	CU_ASSERT_TRUE(pss + (1 << 20) > sum && pss < sum + 1024 * smaps.figures.nr + (1 << 20));
	smaps_free(&smaps);
	CU_ASSERT_PTR_NOT_NULL(smaps_whole_pss(0x7ffffff0, &pss));
	CU_ASSERT_PTR_NOT_NULL(smaps_scan(0x7ffffff0, &smaps));
	CU_ASSERT_PTR_NOT_NULL(smaps_read(0x7ffffff0, &smaps));
}

static void put(const char *folder, const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static void make_folder(const char *mount, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s%s", mount, name);
	CU_ASSERT_EQUAL(mkdir(path, 0700), 0);
}

static void remove_all(const char *folder)
{
	char command[512];

	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	CU_ASSERT_EQUAL(system(command), 0);
}

TEST("control groups")
{
	char mount[] = "/tmp/mdbg-cgroup-XXXXXX", path[512];

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mount));
	make_folder(mount, "/a");
	make_folder(mount, "/a/b");
	make_folder(mount, "/pids");
	make_folder(mount, "/pids/c");
	CU_ASSERT_EQUAL(cgroup_tasks_of("0::/a/b\n", mount), UINT64_MAX);
	snprintf(path, sizeof(path), "%s/a", mount);
	put(path, "pids.max", "10\n");
	put(path, "pids.current", "7\n");
	CU_ASSERT_EQUAL(cgroup_tasks_of("0::/a/b\n", mount), 3);
	/* What is not to be seen from here has no limit. */
	CU_ASSERT_EQUAL(cgroup_tasks_of("0::/../x\n", mount), UINT64_MAX);
	snprintf(path, sizeof(path), "%s/pids/c", mount);
	put(path, "pids.max", "9\n");
	put(path, "pids.current", "12\n");
	CU_ASSERT_EQUAL(cgroup_tasks_of("9:name=systemd:/\n4:pids:/c\n0::/\n", mount), 0);
	remove_all(mount);
}
