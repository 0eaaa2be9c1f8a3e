/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What smaps and control groups say. */

#include "os/smaps.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "os/cgroup.h"
#include "unit.h"

void suite_smaps(void);

static struct err *parse(const char *text, struct smaps *ret)
{
	AUTO_FCLOSE FILE *file = fmemopen((char *)(uintptr_t)text, strlen(text), "r");

	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	return smaps_parse(file, ret);
}

static void test_parse(void)
{
	struct smaps smaps;

	CU_ASSERT_PTR_NULL_FATAL(parse(
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
	CU_ASSERT_PTR_NULL_FATAL(parse("1000-2000 rw-p 0 00:00 0\nVmFlags: rd um wr\n", &smaps));
	CU_ASSERT_TRUE(smaps.userfault);
	smaps_free(&smaps);
}

/* A kernel without flags: what is not told is not taken for granted. */
static void test_no_flags(void)
{
	struct smaps smaps;
	struct err *err = parse("1000-2000 rw-p 0 00:00 0\nAnonymous: 4 kB\n", &smaps);

	CU_ASSERT_TRUE(err && err->code == ERR_UNSUPPORTED);
}

static void test_own(void)
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

static void test_cgroups(void)
{
	char mount[] = "/tmp/mdbg-cgroup-XXXXXX", path[512];
	struct cgroup_room room;

	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(mount));
	make_folder(mount, "/a");
	make_folder(mount, "/a/b");
	make_folder(mount, "/memory");
	make_folder(mount, "/memory/c");
	cgroup_room_of("0::/a/b\n", mount, &room);
	CU_ASSERT_TRUE(room.memory == UINT64_MAX && room.tasks == UINT64_MAX);
	snprintf(path, sizeof(path), "%s/a/b", mount);
	put(path, "memory.max", "max\n");
	put(path, "memory.current", "1000\n");
	snprintf(path, sizeof(path), "%s/a", mount);
	put(path, "memory.max", "5000\n");
	put(path, "memory.high", "4000\n");
	put(path, "memory.current", "3000\n");
	put(path, "memory.stat", "anon 1\ninactive_file 500\n");
	put(path, "pids.max", "10\n");
	put(path, "pids.current", "7\n");
	cgroup_room_of("0::/a/b\n", mount, &room);
	CU_ASSERT_EQUAL(room.memory, 1500);
	CU_ASSERT_EQUAL(room.tasks, 3);
	/* What is not to be seen from here has no limit, but the mount's own root has. */
	cgroup_room_of("0::/../x\n", mount, &room);
	CU_ASSERT_EQUAL(room.memory, UINT64_MAX);
	snprintf(path, sizeof(path), "%s/memory/c", mount);
	put(path, "memory.limit_in_bytes", "9000\n");
	put(path, "memory.usage_in_bytes", "9500\n");
	put(path, "memory.stat", "inactive_file 1\ntotal_inactive_file 700\n");
	cgroup_room_of("9:name=systemd:/\n4:memory:/c\n0::/\n", mount, &room);
	CU_ASSERT_EQUAL(room.memory, 200);
	remove_all(mount);
}

void suite_smaps(void)
{
	CU_pSuite suite = CU_add_suite("smaps", NULL, NULL);

	CU_add_test(suite, "flags and sums", test_parse);
	CU_add_test(suite, "no flags", test_no_flags);
	CU_add_test(suite, "its own", test_own);
	CU_add_test(suite, "control groups", test_cgroups);
}
