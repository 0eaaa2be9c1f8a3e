/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine's memory: texts of many kernels, missing files, malformed numbers, processes. */

#include "os/machine/machine.h"

#include "os/machine/machine_family.h"
#include "os/machine/oom_kills.h"
#include "os/procfs.h"
#include "tree.h"
#include "unit.h"

TEST("numbers")
{
	CU_ASSERT_EQUAL(kernel_text_number("0"), 0);
	CU_ASSERT_EQUAL(kernel_text_number("4096\n"), 4096);
	CU_ASSERT_EQUAL(kernel_text_number("12 kB\nX"), 12288);
	CU_ASSERT_EQUAL(kernel_text_number("max\n"), KERNEL_NO_LIMIT);
	CU_ASSERT_EQUAL(kernel_text_number(""), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_number("-1\n"), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_number("maximum\n"), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_number("12 MB\n"), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_number("12x\n"), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_number("18446744073709551614"), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_number("18446744073709551616"), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_number("18446744073709551000 kB"), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_sum(1, 2), 3);
	CU_ASSERT_EQUAL(kernel_text_sum(1, KERNEL_UNKNOWN), KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(kernel_text_sum(UINT64_MAX - 3, 2), KERNEL_UNKNOWN);
}

TEST("a tree")
{
	struct machine machine;
	struct tree tree;

	tree_make(&tree);
	tree_put(&tree, "meminfo",
		 "MemTotal:        1000 kB\nMemFree:          100 kB\nMemAvailable:     300 kB\n"
		 "Buffers:           10 kB\nCached:           200 kB\nSwapCached:         0 kB\n"
		 "AnonPages:        400 kB\nSlab:              50 kB\nSReclaimable:      20 kB\n"
		 "SUnreclaim:        30 kB\nKernelStack:        4 kB\nPageTables:         6 kB\n"
		 "VmallocTotal: 34359738367 kB\nHugePages_Total:       7\n");
	tree_put(&tree, "vmstat",
		 "pgscan_kswapd 5\npgscan_direct 7\npgscan_khugepaged 1\npgscan_direct_throttle 90\n"
		 "pgscan_anon 6\npgscan_file 7\npgsteal_kswapd 3\npgsteal_direct 4\n"
		 "pswpin 11\npswpout 12\npgfault 1300\npgmajfault 14\nallocstall_normal 2\n"
		 "allocstall_movable 3\noom_kill 1\n");
	tree_put(&tree, "net/sockstat",
		 "sockets: used 15\nTCP: inuse 2 orphan 0 tw 0 alloc 3 mem 15\n"
		 "UDP: inuse 0 mem 2\nUDPLITE: inuse 0\nRAW: inuse 0\nFRAG: inuse 0 memory 100\n");
	tree_put(&tree, "net/sockstat6", "FRAG6: inuse 1 memory 28\n");
	tree_put(&tree, "pressure/memory",
		 "some avg10=1.25 avg60=0.07 avg300=0.00 total=12\n"
		 "full avg10=0.00 avg60=100.00 avg300=0.00 total=3\n");
	machine_read(tree.at, &machine);
	CU_ASSERT_EQUAL(machine.total, 1000 << 10);
	CU_ASSERT_EQUAL(machine.available, 300 << 10);
	CU_ASSERT_EQUAL(machine.slab_unreclaimable, 30 << 10);
	CU_ASSERT_EQUAL(machine.scanned, 13);
	CU_ASSERT_EQUAL(machine.scanned_kswapd, 5);
	CU_ASSERT_EQUAL(machine.scanned_direct, 7);
	CU_ASSERT_EQUAL(machine.reclaimed, 7);
	CU_ASSERT_EQUAL(machine.faults, 1300);
	CU_ASSERT_EQUAL(machine.stalls, 5);
	CU_ASSERT_EQUAL(machine.oom_kills, 1);
	CU_ASSERT_EQUAL(machine.sockets, 17u * (unsigned)getpagesize() + 128);
	CU_ASSERT_EQUAL(machine.pressure.some_10, 125);
	CU_ASSERT_EQUAL(machine.pressure.some_60, 7);
	CU_ASSERT_EQUAL(machine.pressure.full_60, 10000);
	CU_ASSERT_EQUAL(machine.rest, 230 << 10);
	/* This kernel does not offer these. */
	CU_ASSERT_EQUAL(machine.corrupted, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.swap_total, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.paged_in, KERNEL_UNKNOWN);
	tree_remove(&tree);
}

/* Kernels before 4.8 count by zone, and allocation stalls in one figure. */
TEST("old kernels")
{
	struct machine machine;

	memset(&machine, 0xff, sizeof(machine));
	machine_parse_vmstat("pgscan_kswapd_dma 1\npgscan_kswapd_normal 2\npgscan_direct_dma32 4\n"
			     "pgscan_direct_movable 8\npgscan_direct_throttle 16\n"
			     "pgsteal_direct_normal 32\nallocstall 64\n", &machine);
	CU_ASSERT_EQUAL(machine.scanned, 15);
	CU_ASSERT_EQUAL(machine.scanned_direct, 12);
	CU_ASSERT_EQUAL(machine.reclaimed, 32);
	CU_ASSERT_EQUAL(machine.stalls, 64);
}

/* Without /proc, or without the right to see a file, no figure is 0. */
TEST("missing files")
{
	struct machine_holders processes;
	struct machine machine;
	struct tree tree;

	tree_make(&tree);
	machine_read(tree.at, &machine);
	for (size_t i = 0; i < sizeof(machine) / sizeof(uint64_t); i++)
		CU_ASSERT_EQUAL(((uint64_t *)&machine)[i], KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.sockets, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.rest, KERNEL_UNKNOWN);
	CU_ASSERT_PTR_NULL_FATAL(machine_holder_processes(tree.at, &processes));
	CU_ASSERT_EQUAL(processes.vec.nr, 0);
	tree_remove(&tree);
	CU_ASSERT_PTR_NOT_NULL(machine_holder_processes(tree.at, &processes));
}

TEST("malformed")
{
	struct machine machine;

	memset(&machine, 0xff, sizeof(machine));
	machine_parse_meminfo("MemTotal: many kB\nMemFree: -5 kB\nCached:\nSlab: 7 kB extra\n"
			      "Dirty: 99999999999999999999 kB\nMapped 8 kB\nno end", &machine);
	CU_ASSERT_EQUAL(machine.total, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.free, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.cached, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.slab, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.dirty, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.mapped, 8192);
	/* A part of a sum that is malformed makes the sum unknown, wherever it stands. */
	machine_parse_vmstat("pgscan_kswapd x\npgscan_direct 7\npgsteal_kswapd 1\n"
			     "pgsteal_direct -\n", &machine);
	CU_ASSERT_EQUAL(machine.scanned, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.reclaimed, KERNEL_UNKNOWN);
	machine_parse_pressure("some avg10=1 avg60=0.123 avg300\nfull avg10=1000.00 avg60=\n",
			       &machine);
	CU_ASSERT_EQUAL(machine.pressure.some_10, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.pressure.some_60, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.pressure.full_10, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.pressure.full_60, KERNEL_UNKNOWN);
	machine_parse_sockets("TCP: inuse 1 mem\nUDP: mem x\nFRAG: memory ", &machine);
	CU_ASSERT_EQUAL(machine.socket_pages, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.fragment_bytes, KERNEL_UNKNOWN);
}

/* The rest of a line of /proc/PID/stat, from the state on. */
#define STAT(state, flags, start, pages)						\
	") " state " 1 1 1 0 -1 " flags " 1 2 3 4 5 6 7 8 20 0 1 0 " start " 4096 " pages	\
	" 18446744073709551615 1 2 3 4 5 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0\n"

TEST("processes")
{
	struct machine_holders processes;
	struct machine_holder is;
	struct tree tree;

	tree_make(&tree);
	tree_put(&tree, "12/stat", "12 (odd) (na\nme" STAT("S", "4194560", "77", "10"));
	tree_put(&tree, "7/stat", "7 (a" STAT("R", "4194560", "5", "3"));
	tree_put(&tree, "8/stat", "8 (kernel" STAT("S", "2129984", "5", "3"));
	tree_put(&tree, "9/stat", "9 (ended" STAT("Z", "4194560", "5", "0"));
	tree_put(&tree, "10/stat", "10 (torn) S 1 2");
	tree_folder(&tree, "11");
	tree_put(&tree, "self/stat", "7 (a" STAT("R", "4194560", "5", "3"));
	CU_ASSERT_PTR_NULL_FATAL(machine_holder_processes(tree.at, &processes));
	CU_ASSERT_EQUAL_FATAL(processes.vec.nr, 2);
	CU_ASSERT_EQUAL(processes.vec.at[0].pid, 7);
	CU_ASSERT_EQUAL(processes.vec.at[1].pid, 12);
	CU_ASSERT_EQUAL(processes.vec.at[1].bytes, 10u * (unsigned)getpagesize());
	CU_ASSERT_STRING_EQUAL(processes.vec.at[1].name.bytes, "odd) (na\nme");
	is = processes.vec.at[1];
	CU_ASSERT_PTR_EQUAL(machine_holder_find(&processes, &is), &processes.vec.at[1]);
	is.start_time++;
	CU_ASSERT_PTR_NULL(machine_holder_find(&processes, &is));
	is.pid = 13;
	CU_ASSERT_PTR_NULL(machine_holder_find(&processes, &is));
	vec_free(&processes.vec);
	tree_remove(&tree);
}

/* The same figures, read by another way. */
TEST("this machine")
{
	struct machine_holders processes;
	struct machine machine;
	struct machine_holder self = { .pid = getpid() };
	struct proc_stat stat;
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)getpagesize();

	machine_read("/proc", &machine);
	CU_ASSERT_EQUAL(machine.total >> 20, pages * page >> 20);
	CU_ASSERT_TRUE(machine.free < machine.total);
	CU_ASSERT_TRUE(kernel_is_number(machine.faults) && machine.faults);
	CU_ASSERT_PTR_NULL_FATAL(procfs_stat(getpid(), &stat));
	self.start_time = stat.start_time;
	CU_ASSERT_PTR_NULL_FATAL(machine_holder_processes("/proc", &processes));
	CU_ASSERT_PTR_NOT_NULL(machine_holder_find(&processes, &self));
	vec_free(&processes.vec);
}

/* Fields by their places, whatever a cache is called; what is torn is left out. */
TEST("slab caches")
{
	struct machine_holders caches;
	struct machine_holder is = { .name = { "odd name 7" } };
	uint64_t page = (uint64_t)getpagesize();
	struct tree tree;

	tree_make(&tree);
	CU_ASSERT_PTR_NOT_NULL(machine_holder_caches(tree.at, &caches));
	CU_ASSERT_TRUE(!caches.known && !caches.vec.nr);
	tree_put(&tree, "slabinfo",
		 "slabinfo - version: 2.1\n"
		 "# name            <active_objs> <num_objs> <objsize> <objperslab> <pagesperslab> : "
		 "tunables <limit> <batchcount> <sharedfactor> : slabdata <active_slabs> <num_slabs> "
		 "<sharedavail>\n"
		 "odd name 7        5      9    312   13    1 : tunables    0    0    0 : slabdata      1 "
		 "     2      0\n"
		 "dentry            1000 1050    192   21    4 : tunables    0    0    0 : slabdata     50 "
		 "    50      0\n"
		 "torn              1000 1050    192   21    4 : tunables    0\n"
		 "huge 1 1 1 1 9999999999999999999 : tunables 0 0 0 : slabdata 1 9999999999 0\n"
		 "1 1 1 1 1 : tunables 0 0 0 : slabdata 1 1 0\n"
		 " : tunables : slabdata ");
	CU_ASSERT_PTR_NULL_FATAL(machine_holder_caches(tree.at, &caches));
	CU_ASSERT_TRUE(caches.known);
	CU_ASSERT_EQUAL_FATAL(caches.vec.nr, 2);
	CU_ASSERT_STRING_EQUAL(caches.vec.at[0].name.bytes, "dentry");
	CU_ASSERT_EQUAL(caches.vec.at[0].bytes, 200 * page);
	CU_ASSERT_EQUAL(caches.vec.at[0].objects, 1000);
	CU_ASSERT_PTR_EQUAL(machine_holder_find(&caches, &is), &caches.vec.at[1]);
	CU_ASSERT_EQUAL(caches.vec.at[1].bytes, 2 * page);
	vec_free(&caches.vec);
	tree_remove(&tree);
}

#define SMAPS_ROLLUP(pss, clean, dirty)						\
	"5601-7ff0 ---p 00000000 00:00 0    [rollup]\nRss:    900 kB\nPss:    " pss " kB\n"	\
	"Pss_Anon:  1 kB\nPrivate_Clean:  " clean " kB\nPrivate_Dirty:  " dirty " kB\n"

/* Ids that no process of this machine has, so that none is asked for its lock. */
#define FIRST	4194305

static void put_kin(const struct tree *tree, unsigned pid, unsigned parent, const char *group)
{
	char name[64], text[512];

	snprintf(name, sizeof(name), "%u/stat", FIRST + pid);
	snprintf(text, sizeof(text), "%u (x) S %u 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 5 4096 10 "
		 "18446744073709551615 1 2 3 4 5 0 0 0 0 0 0 0 17 1 0 0 0 0 0 1 2 3 4 5 6 7 0\n",
		 FIRST + pid, parent ? FIRST + parent : 1);
	tree_put(tree, name, text);
	snprintf(name, sizeof(name), "%u/cgroup", FIRST + pid);
	tree_put(tree, name, group);
	snprintf(name, sizeof(name), "%u/smaps_rollup", FIRST + pid);
	if (pid != 3)
		tree_put(tree, name, SMAPS_ROLLUP("300", "20", "100"));
}

static unsigned kin(const struct tree *tree, pid_t pid, enum machine_family family)
{
	struct machine_holders processes;
	unsigned ret = 0;

	CU_ASSERT_PTR_NULL_FATAL(machine_holder_processes(tree->at, &processes));
	CU_ASSERT_PTR_NULL(machine_family_find(tree->at, pid, family, &processes));
	vec_each(process, &processes.vec) {
		bool known = family != FAMILY_ALL && !process->stranger && process->pid != FIRST + 3;

		ret |= process->stranger ? 0 : 1u << (process->pid - FIRST);
		CU_ASSERT_EQUAL(process->pss, known ? 300 << 10 : KERNEL_UNKNOWN);
		CU_ASSERT_EQUAL(process->private, known ? 120 << 10 : KERNEL_UNKNOWN);
	}
	vec_free(&processes.vec);
	return ret;
}

TEST("families")
{
	struct machine_holders none = { .vec = VEC_INIT };
	struct tree tree;

	tree_make(&tree);
	put_kin(&tree, 1, 0, "0::/a\n");
	put_kin(&tree, 2, 1, "0::/a/b\n");
	put_kin(&tree, 3, 2, "0::/ab\n");
	put_kin(&tree, 4, 0, "3:cpu:/x\n2:cpuset,memory:/m\n0::/a\n");
	put_kin(&tree, 5, 6, "2:memory:/m/n\n0::/z\n");	/* a ring, as of ids taken anew */
	put_kin(&tree, 6, 5, "no group\n");
	CU_ASSERT_EQUAL(kin(&tree, FIRST + 1, FAMILY_CHILDREN), 1 << 1 | 1 << 2 | 1 << 3);
	CU_ASSERT_EQUAL(kin(&tree, FIRST + 2, FAMILY_CHILDREN), 1 << 2 | 1 << 3);
	CU_ASSERT_EQUAL(kin(&tree, FIRST + 5, FAMILY_CHILDREN), 1 << 5 | 1 << 6);
	CU_ASSERT_EQUAL(kin(&tree, FIRST + 1, FAMILY_GROUP), 1 << 1 | 1 << 2);
	CU_ASSERT_EQUAL(kin(&tree, FIRST + 4, FAMILY_GROUP), 1 << 4 | 1 << 5);
	CU_ASSERT_EQUAL(kin(&tree, FIRST + 1, FAMILY_ALL), 0x7e);
	CU_ASSERT_PTR_NOT_NULL(machine_family_find(tree.at, FIRST + 6, FAMILY_GROUP, &none));
	tree_remove(&tree);
}

static void took(struct oom_kills *kills, char *group, const char *message)
{
	CU_ASSERT_PTR_NULL(oom_kills_take(kills, message, group));
}

#define KILLED	"illed process 42 (odd) (na) total-vm:9kB, anon-rss:980kB, file-rss:13kB, "	\
		"shmem-rss:2kB, UID:0 pgtables:256kB oom_score_adj:0\n SUBSYSTEM=x\n"

TEST("kills")
{
	struct oom_kills kills = { .vec = VEC_INIT };
	char group[sizeof(kills.vec.at->group)] = "";

	took(&kills, group, "6,2402,29465158815,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),"
		   "cpuset=/,mems_allowed=0,oom_memcg=/a,b,task_memcg=/a,b/c,task=odd,pid=42,uid=0\n");
	/* What a process has written is not the kernel's. */
	took(&kills, group, "12,2403,29465158820,-;Memory cgroup out of memory: K" KILLED);
	took(&kills, group, "3,2404,29465158843,-;Memory cgroup out of memory: K" KILLED);
	took(&kills, group, "3,2405,29465158844,-;Out of memory: K" KILLED);
	took(&kills, group, "3,2406,1,-;Out of memory: Killed process x (y) total-vm:1kB\n");
	took(&kills, group, "3,2406,1,-;Killed process 7 (y)\n");
	took(&kills, group, "no message");
	took(&kills, group, "");
	CU_ASSERT_EQUAL_FATAL(kills.vec.nr, 2);
	CU_ASSERT_EQUAL(kills.vec.at[0].pid, 42);
	CU_ASSERT_EQUAL(kills.vec.at[0].time_ns, 29465158843000);
	CU_ASSERT_STRING_EQUAL(kills.vec.at[0].name.bytes, "odd) (na");
	CU_ASSERT_EQUAL(kills.vec.at[0].anonymous, 980 << 10);
	CU_ASSERT_EQUAL(kills.vec.at[0].file, 13 << 10);
	CU_ASSERT_EQUAL(kills.vec.at[0].shared, 2 << 10);
	CU_ASSERT_STRING_EQUAL(kills.vec.at[0].group, "/a,b");
	CU_ASSERT_STRING_EQUAL(kills.vec.at[1].group, "");
	vec_free(&kills.vec);
}
