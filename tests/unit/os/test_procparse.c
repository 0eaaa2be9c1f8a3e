/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts of /proc that a test machine does not show by itself. */

#include "os/procparse.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "unit.h"

#define MANY	65530	/* the kernel's vm.max_map_count, unless set otherwise */

TEST("maps: every field")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	struct proc_map *map;

	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(
		"55f0a000-55f0b000 r-xp 00002000 fe:0f 248056                     /usr/bin/a b\n"
		"55f0b000-55f0c000 rw-s 123456789000 00:00 0 \n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0          [vsyscall]\n",
		&maps));
	CU_ASSERT_EQUAL_FATAL(maps.vec.nr, 3);
	map = maps.vec.at;
	CU_ASSERT_EQUAL(map[0].start, 0x55f0a000);
	CU_ASSERT_EQUAL(map[0].end, 0x55f0b000);
	CU_ASSERT_EQUAL(map[0].offset, 0x2000);
	CU_ASSERT_EQUAL(map[0].dev_major, 0xfe);
	CU_ASSERT_EQUAL(map[0].dev_minor, 0x0f);
	CU_ASSERT_EQUAL(map[0].inode, 248056);
	CU_ASSERT_TRUE(map[0].read && !map[0].write && map[0].exec && !map[0].shared);
	CU_ASSERT_STRING_EQUAL(map[0].path, "/usr/bin/a b");
	CU_ASSERT_FALSE(map[0].deleted);
	CU_ASSERT_TRUE(map[1].read && map[1].write && !map[1].exec && map[1].shared);
	CU_ASSERT_EQUAL(map[1].offset, 0x123456789000);
	CU_ASSERT_STRING_EQUAL(map[1].path, "");
	CU_ASSERT_EQUAL(map[2].start, 0xffffffffff600000);
	CU_ASSERT_STRING_EQUAL(map[2].path, "[vsyscall]");
}

TEST("maps: odd names")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(
		"1000-2000 r--p 00000000 00:01 7     /a\\012b (deleted)\n"
		"2000-3000 r--p 00000000 00:01 8     /back\\slash  two  \n"
		"3000-4000 r--p 00000000 00:01 9     /memfd:x y (deleted)\n"
		"4000-5000 r--p 00000000 00:00 0     [anon:a: b]\n"
		"5000-6000 r--p 00000000 00:01 10    / (deleted) (deleted)\n"
		"6000-7000 r--p 00000000 00:01 11    /last", &maps));
	CU_ASSERT_EQUAL_FATAL(maps.vec.nr, 6);
	CU_ASSERT_STRING_EQUAL(maps.vec.at[0].path, "/a\nb");
	CU_ASSERT_TRUE(maps.vec.at[0].deleted);
	CU_ASSERT_STRING_EQUAL(maps.vec.at[1].path, "/back\\slash  two  ");
	CU_ASSERT_FALSE(maps.vec.at[1].deleted);
	CU_ASSERT_STRING_EQUAL(maps.vec.at[2].path, "/memfd:x y");
	CU_ASSERT_STRING_EQUAL(maps.vec.at[3].path, "[anon:a: b]");
	CU_ASSERT_STRING_EQUAL(maps.vec.at[4].path, "/ (deleted)");
	CU_ASSERT_STRING_EQUAL(maps.vec.at[5].path, "/last");
}

TEST("maps: changed between two reads")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };

	/* 2000 has merged with 1000; then 6000 grew down over what was 5000's end. */
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(
		"1000-2000 r--p 00000000 00:00 0 \n"
		"2000-3000 rw-p 00000000 00:00 0 \n"
		"1000-4000 rw-p 00000000 00:00 0 \n"
		"5000-7000 r--p 00000000 00:00 0 \n"
		"6000-8000 rw-p 00000000 00:00 0 \n", &maps));
	CU_ASSERT_EQUAL_FATAL(maps.vec.nr, 3);
	CU_ASSERT_EQUAL(maps.vec.at[0].start, 0x1000);
	CU_ASSERT_EQUAL(maps.vec.at[0].end, 0x4000);
	CU_ASSERT_TRUE(maps.vec.at[0].write);
	CU_ASSERT_EQUAL(maps.vec.at[1].end, 0x6000);
	CU_ASSERT_EQUAL(maps.vec.at[2].start, 0x6000);
}

TEST("maps: broken lines")
{
	static const char *const texts[] = {
		"x\n",
		"1000-2000\n",
		"1000 2000 r--p 00000000 00:00 0 \n",
		"2000-1000 r--p 00000000 00:00 0 \n",
		"1000-2000 r-\n",
		"1000-2000 r--p 00000000 00:00\n",
		"1000-2000 r--p -1 00:00 0 \n",
		"1000-2000 r--p 0 00:00 99999999999999999999999 \n",
		"1000-2000 r--p 0 00:00 0 \n\n",
		"1000-2000 r--p 0 00:00 \n3000-4000 r--p 0 00:00 0 \n",
	};
	struct proc_maps maps;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err *err = procparse_maps(texts[i], &maps);

		CU_ASSERT_FATAL(err && err->code == ERR_FORMAT);
	}
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps("", &maps));
	CU_ASSERT_EQUAL(maps.vec.nr, 0);
}

TEST("maps: 65,530 of them")
{
	CLEANUP(procparse_maps_free) struct proc_maps maps = { VEC_INIT };
	AUTO_STR struct str text = STR_INIT;
	const struct proc_map *map;
	unsigned i;

	for (i = 0; i < MANY; i++)
		CU_ASSERT_PTR_NULL_FATAL(str_addf(&text, "%x-%x r--p 00000000 00:01 %u     /f%u\n",
						  0x10000 + i * 0x2000, 0x11000 + i * 0x2000, i + 1,
						  i));
	CU_ASSERT_PTR_NULL_FATAL(procparse_maps(text.at, &maps));
	CU_ASSERT_EQUAL(maps.vec.nr, MANY);
	map = procparse_maps_find(&maps, 0x10fff + 40000 * 0x2000);
	CU_ASSERT_PTR_NOT_NULL_FATAL(map);
	CU_ASSERT_STRING_EQUAL(map->path, "/f40000");
	CU_ASSERT_PTR_NULL(procparse_maps_find(&maps, 0x11000 + 40000 * 0x2000));
	CU_ASSERT_PTR_NULL(procparse_maps_find(&maps, 0));
	CU_ASSERT_PTR_NULL(procparse_maps_find(&maps, UINT64_MAX));
}

static const char status_text[] =
	"Name:\ta\\nb\\\\c: d\n"
	"Umask:\t0022\n"
	"State:\tt (tracing stop)\n"
	"Tgid:\t100\n"
	"Pid:\t101\n"
	"PPid:\t1\n"
	"TracerPid:\t77\n"
	"Uid:\t1000\t1001\t1002\t1003\n"
	"Gid:\t2000\t2001\t2002\t2003\n"
	"Groups:\t4 24 \n"
	"VmSize:\t  123456 kB\n"
	"VmRSS:\t     789 kB\n"
	"VmExe:\t      12 kB\n"
	"VmLib:\t    1500 kB\n"
	"RssAnon:\t     456 kB\n"
	"VmSwap:\t       5 kB\n"
	"Threads:\t300\n"
	"SigPnd:\t0000000000000001\n"
	"ShdPnd:\t0000000000000002\n"
	"SigBlk:\tfffffffe7ffbfeff\n"
	"SigIgn:\t0000000000001000\n"
	"SigCgt:\t8000000000000010\n"
	"CapPrm:\t000001ffffffffff\n"
	"CapEff:\t0000000000080000\n"
	"NoNewPrivs:\t1\n"
	"Seccomp:\t2\n"
	"Seccomp_filters:\t1\n"
	"x86_Thread_features:\tshstk wrss \n"
	"x86_Thread_features_locked:\t\n";

TEST("status: every field")
{
	struct proc_status status;

	CU_ASSERT_PTR_NULL_FATAL(procparse_status(status_text, &status));
	CU_ASSERT_STRING_EQUAL(status.name.bytes, "a\nb\\c: d");
	CU_ASSERT_EQUAL(status.state, 't');
	CU_ASSERT_EQUAL(status.tgid, 100);
	CU_ASSERT_EQUAL(status.pid, 101);
	CU_ASSERT_EQUAL(status.ppid, 1);
	CU_ASSERT_EQUAL(status.tracer, 77);
	CU_ASSERT_EQUAL(status.uid, 1000);
	CU_ASSERT_EQUAL(status.euid, 1001);
	CU_ASSERT_EQUAL(status.gid, 2000);
	CU_ASSERT_EQUAL(status.threads, 300);
	CU_ASSERT_TRUE(status.has_vm);
	CU_ASSERT_EQUAL(status.vm_kb, 123456);
	CU_ASSERT_EQUAL(status.rss_kb, 789);
	CU_ASSERT_EQUAL(status.code_kb, 1500);
	CU_ASSERT_EQUAL(status.anonymous_kb, 456);
	CU_ASSERT_EQUAL(status.swap_kb, 5);
	CU_ASSERT_EQUAL(status.sig_pending, 1);
	CU_ASSERT_EQUAL(status.shared_pending, 2);
	CU_ASSERT_EQUAL(status.sig_blocked, 0xfffffffe7ffbfeff);
	CU_ASSERT_EQUAL(status.sig_ignored, 0x1000);
	CU_ASSERT_EQUAL(status.sig_caught, 0x8000000000000010);
	CU_ASSERT_EQUAL(status.cap_permitted, 0x1ffffffffff);
	CU_ASSERT_EQUAL(status.cap_effective, 0x80000);
	CU_ASSERT_EQUAL(status.seccomp, 2);
	CU_ASSERT_TRUE(status.no_new_privs);
	CU_ASSERT_TRUE(status.shadow_stack);
}

TEST("status: little in it")
{
	char name[200];
	struct proc_status status;
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(
		procparse_status("Name:\tx\nState:\tZ (zombie)\nPid:\t5\n"
				 "x86_Thread_features:\t\n"
				 "x86_Thread_features_locked:\tshstk \n", &status));
	CU_ASSERT_FALSE(status.shadow_stack);
	CU_ASSERT_EQUAL(status.state, 'Z');
	CU_ASSERT_FALSE(status.has_vm);
	CU_ASSERT_EQUAL(status.tracer, 0);
	snprintf(name, sizeof(name), "Name:\t%0150d\nPid:\t5\nPid\nPPid:\tx\nUid:\t7", 0);
	CU_ASSERT_PTR_NULL_FATAL(procparse_status(name, &status));
	CU_ASSERT_EQUAL(strlen(status.name.bytes), sizeof(status.name.bytes) - 1);
	CU_ASSERT_EQUAL(status.ppid, 0);
	CU_ASSERT_EQUAL(status.uid, 7);
	CU_ASSERT_EQUAL(status.euid, 0);
	err = procparse_status("Name:\tx\n", &status);
	CU_ASSERT_FATAL(err && err->code == ERR_FORMAT);
}

TEST("stat: every field")
{
	static const char text[] = "812 (a) R 1 (b\n) S 811 810 809 34816 -1 4194560 1213 2 3 4 55 "
				   "66 0 0 20 0 1 0 987654 9633792 1283 "
				   "18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 5 0 0 0 0 0 7 "
				   "8 94313 10 11 12 13 0\n";
	struct proc_stat stat;

	CU_ASSERT_PTR_NULL_FATAL(procparse_stat(text, &stat));
	CU_ASSERT_EQUAL(stat.state, 'S');
	CU_ASSERT_EQUAL(stat.ppid, 811);
	CU_ASSERT_EQUAL(stat.pgrp, 810);
	CU_ASSERT_EQUAL(stat.session, 809);
	CU_ASSERT_EQUAL(stat.flags, 4194560);
	CU_ASSERT_EQUAL(stat.min_faults, 1213);
	CU_ASSERT_EQUAL(stat.maj_faults, 3);
	CU_ASSERT_EQUAL(stat.utime, 55);
	CU_ASSERT_EQUAL(stat.stime, 66);
	CU_ASSERT_EQUAL(stat.start_time, 987654);
	CU_ASSERT_EQUAL(stat.exit_signal, 17);
	CU_ASSERT_EQUAL(stat.cpu, 5);
	CU_ASSERT_EQUAL(stat.start_brk, 94313);
}

TEST("stat: broken")
{
	static const char *const texts[] = { "", "1 (x", "1 (x)", "1 (x) ", "1 (x) R 1 2 3" };
	struct proc_stat stat;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(texts); i++) {
		struct err *err = procparse_stat(texts[i], &stat);

		CU_ASSERT_FATAL(err && err->code == ERR_FORMAT);
	}
}

TEST("process ids and auxv")
{
	struct proc_tasks tasks = { VEC_INIT };
	const uint64_t pairs[] = { 6, 4096, 9, 0x401000, 0, 0 };
	char bytes[sizeof(pairs) + 1];
	uint64_t value = 0;
	struct err *err;

	CU_ASSERT_PTR_NULL_FATAL(procparse_pids("12 7 100 ", &tasks));
	CU_ASSERT_EQUAL_FATAL(tasks.vec.nr, 3);
	CU_ASSERT_EQUAL(tasks.vec.at[1], 7);
	vec_free(&tasks.vec);
	CU_ASSERT_PTR_NULL_FATAL(procparse_pids("", &tasks));
	CU_ASSERT_EQUAL(tasks.vec.nr, 0);
	err = procparse_pids("12 x", &tasks);
	CU_ASSERT_PTR_NOT_NULL(err);
	memcpy(bytes + 1, pairs, sizeof(pairs));
	CU_ASSERT_PTR_NULL(procparse_auxv(bytes + 1, sizeof(pairs), 9, &value));
	CU_ASSERT_EQUAL(value, 0x401000);
	err = procparse_auxv(bytes + 1, 31, 9, &value);
	CU_ASSERT_FATAL(err && err->code == ERR_NOTFOUND);
}

