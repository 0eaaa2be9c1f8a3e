/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The machine's memory as the kernel counts it: /proc/meminfo, /proc/vmstat, /proc/net/sockstat,
 * /proc/pressure/memory, and the resident size of each process. proc(5) and the kernel's
 * Documentation/filesystems/proc.rst and accounting/psi.rst describe them.
 *
 * Every figure is a uint64_t, and KERNEL_UNKNOWN if this kernel does not offer it
 * (os/kernel_text.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/outside.h"
#include "base/vec.h"
#include "os/kernel_text.h"
#include "os/machine/pressure.h"

struct machine {
	/* Bytes, from meminfo. */
	uint64_t total, free, available;
	uint64_t cached, buffers, swap_cached, dirty, writeback, mapped, shared;
	uint64_t anonymous, locked;
	uint64_t slab, slab_reclaimable, slab_unreclaimable;
	uint64_t page_tables, second_page_tables, kernel_stacks, per_cpu, vmalloc, huge_pages;
	uint64_t corrupted;		/* pages with hardware errors, taken out of use */
	uint64_t swap_total, swap_free;
	uint64_t commit_limit, committed;
	/* From sockstat and sockstat6. */
	uint64_t socket_pages;		/* pages of TCP's and UDP's buffers */
	uint64_t fragment_bytes;	/* of IP fragments that wait for the others */
	/* Computed from the others by machine_read. */
	uint64_t sockets;		/* bytes of socket buffers and IP fragments */
	/*
	 * Bytes that are in no other figure: pages that parts of the kernel have taken by
	 * themselves.
	 */
	uint64_t rest;
	/* Counted since boot, from vmstat: pages, unless something else is said. */
	uint64_t scanned, scanned_kswapd, scanned_direct, reclaimed, swapped_in, swapped_out;
	uint64_t paged_in, paged_out;	/* KB to and from disks */
	uint64_t faults, major_faults;	/* events, as those that follow */
	uint64_t stalls;		/* allocations that had to reclaim memory themselves */
	uint64_t compaction_stalls, refaults, migrated, oom_kills;
	struct pressure pressure;
};

/*
 * Read all figures; proc is "/proc", or a tree of a test. Files that cannot be read are left out.
 */
void machine_read(const char *proc, struct machine *ret);
/* For tests, the parts of machine_read: the figures of one text, and the sums. */
void machine_parse_sockets(const char *text, struct machine *machine);
void machine_parse_pressure(const char *text, struct machine *machine);
void machine_parse_meminfo(const char *text, struct machine *machine);
void machine_parse_vmstat(const char *text, struct machine *machine);
void machine_sum(struct machine *machine);

/* What holds memory of the machine: a process, or one of the kernel's slab caches. */
struct machine_holder {
	pid_t pid;		/* 0: a cache */
	uint64_t start_time;	/* tells a process from another one of the same id */
	pid_t parent;
	uint64_t bytes;		/* of a process: resident; a page that is shared counts in each */
	/* Of a process of a family (os/machine_family.h): that are its own, and its share of all. */
	uint64_t private, pss, swap;
	bool stranger;		/* it is not of the family that was asked for, and is in no list */
	uint64_t objects;	/* of a cache, that are in use */
	struct outside_name name;
};

struct machine_holders {
	bool known;		/* they could be read */
	/* Processes in order of their ids, caches in order of their names. */
	VEC(struct machine_holder) vec;
};

/*
 * Read the processes that can be seen (not those that hidepid hides), without kernel threads and
 * those that end meanwhile.
 */
struct err *machine_holder_processes(const char *proc, struct machine_holders *ret) MUST_CHECK;
/*
 * Read the kernel's slab caches, with all pages that are theirs, from slabinfo: root alone may.
 * Caches that the kernel has merged have one of their names.
 */
struct err *machine_holder_caches(const char *proc, struct machine_holders *ret) MUST_CHECK;
/* The same process, or the cache of this name; or NULL. */
const struct machine_holder *machine_holder_find(const struct machine_holders *holders,
						 const struct machine_holder *is);
