/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine's memory: texts of many kernels, missing files, malformed numbers, processes. */

#include "os/machine.h"

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
	CU_ASSERT_EQUAL(machine.reclaimed, 7);
	CU_ASSERT_EQUAL(machine.faults, 1300);
	CU_ASSERT_EQUAL(machine.stalls, 5);
	CU_ASSERT_EQUAL(machine.oom_kills, 1);
	CU_ASSERT_EQUAL(machine.sockets, 17u * (unsigned)getpagesize() + 128);
	CU_ASSERT_EQUAL(machine.some_10, 125);
	CU_ASSERT_EQUAL(machine.some_60, 7);
	CU_ASSERT_EQUAL(machine.full_60, 10000);
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
	CU_ASSERT_EQUAL(machine.reclaimed, 32);
	CU_ASSERT_EQUAL(machine.stalls, 64);
}

/* Without /proc, or without the right to see a file, no figure is 0. */
TEST("missing files")
{
	struct machine_processes processes;
	struct machine machine;
	struct tree tree;

	tree_make(&tree);
	machine_read(tree.at, &machine);
	for (size_t i = 0; i < sizeof(machine) / sizeof(uint64_t); i++)
		CU_ASSERT_EQUAL(((uint64_t *)&machine)[i], KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.sockets, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.rest, KERNEL_UNKNOWN);
	CU_ASSERT_PTR_NULL_FATAL(machine_processes(tree.at, &processes));
	CU_ASSERT_EQUAL(processes.vec.nr, 0);
	tree_remove(&tree);
	CU_ASSERT_PTR_NOT_NULL(machine_processes(tree.at, &processes));
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
	CU_ASSERT_EQUAL(machine.some_10, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.some_60, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.full_10, KERNEL_UNKNOWN);
	CU_ASSERT_EQUAL(machine.full_60, KERNEL_UNKNOWN);
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
	struct machine_processes processes;
	struct machine_process is;
	struct tree tree;

	tree_make(&tree);
	tree_put(&tree, "12/stat", "12 (odd) (na\nme" STAT("S", "4194560", "77", "10"));
	tree_put(&tree, "7/stat", "7 (a" STAT("R", "4194560", "5", "3"));
	tree_put(&tree, "8/stat", "8 (kernel" STAT("S", "2129984", "5", "3"));
	tree_put(&tree, "9/stat", "9 (ended" STAT("Z", "4194560", "5", "0"));
	tree_put(&tree, "10/stat", "10 (torn) S 1 2");
	tree_folder(&tree, "11");
	tree_put(&tree, "self/stat", "7 (a" STAT("R", "4194560", "5", "3"));
	CU_ASSERT_PTR_NULL_FATAL(machine_processes(tree.at, &processes));
	CU_ASSERT_EQUAL_FATAL(processes.vec.nr, 2);
	CU_ASSERT_EQUAL(processes.vec.at[0].pid, 7);
	CU_ASSERT_EQUAL(processes.vec.at[1].pid, 12);
	CU_ASSERT_EQUAL(processes.vec.at[1].resident, 10u * (unsigned)getpagesize());
	CU_ASSERT_STRING_EQUAL(processes.vec.at[1].name.bytes, "odd) (na\nme");
	is = processes.vec.at[1];
	CU_ASSERT_PTR_EQUAL(machine_process_find(&processes, &is), &processes.vec.at[1]);
	is.start_time++;
	CU_ASSERT_PTR_NULL(machine_process_find(&processes, &is));
	is.pid = 13;
	CU_ASSERT_PTR_NULL(machine_process_find(&processes, &is));
	vec_free(&processes.vec);
	tree_remove(&tree);
}

/* The same figures, read by another way. */
TEST("this machine")
{
	struct machine_processes processes;
	struct machine machine;
	struct machine_process self = { .pid = getpid() };
	struct proc_stat stat;
	uint64_t pages = (uint64_t)sysconf(_SC_PHYS_PAGES), page = (uint64_t)getpagesize();

	machine_read("/proc", &machine);
	CU_ASSERT_EQUAL(machine.total >> 20, pages * page >> 20);
	CU_ASSERT_TRUE(machine.free < machine.total);
	CU_ASSERT_TRUE(kernel_is_number(machine.faults) && machine.faults);
	CU_ASSERT_PTR_NULL_FATAL(procfs_stat(getpid(), &stat));
	self.start_time = stat.start_time;
	CU_ASSERT_PTR_NULL_FATAL(machine_processes("/proc", &processes));
	CU_ASSERT_PTR_NOT_NULL(machine_process_find(&processes, &self));
	vec_free(&processes.vec);
}
