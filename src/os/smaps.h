/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * /proc/PID/smaps: the mappings of a process with their figures, and facts about a process that is
 * about to be forked. The kernel looks at each page for it, which takes 10 to 30 ms for each GB in
 * memory. It stops nothing.
 */
#pragma once

#include "os/procfs.h"

struct smaps_range {
	uint64_t start, end;
};

/* The kernel gives no such figure. */
#define SMAPS_UNKNOWN	UINT64_MAX

/* In bytes. The comments have the kernel's names. */
enum smaps_figure {
	SMAPS_RSS,		/* Rss; pages of hugetlbfs are not part of it */
	SMAPS_PSS,		/* Pss; rounded down to 1024 in each mapping */
	SMAPS_SHARED_DIRTY,
	SMAPS_PRIVATE_DIRTY,
	SMAPS_ANONYMOUS,	/* pages that it does not share with a file */
	SMAPS_SWAP,
	SMAPS_LOCKED,		/* the part of Pss that is locked by mlock(2) */
	/* Huge pages: transparent ones of anonymous, shared and file memory, and hugetlbfs. */
	SMAPS_HUGE_ANONYMOUS,
	SMAPS_HUGE_SHARED,
	SMAPS_HUGE_FILE,
	SMAPS_HUGETLB_SHARED,
	SMAPS_HUGETLB_PRIVATE,
	SMAPS_SHARED_CLEAN,
	SMAPS_LAZY_FREE,	/* given back by MADV_FREE, and not yet taken by the kernel */
	SMAPS_FIGURES,
};

struct smaps_figures {
	uint64_t figure[SMAPS_FIGURES];
	bool device;		/* memory of a device, or of the kernel (flags io, pf) */
};

struct smaps {
	struct proc_maps maps;
	VEC(struct smaps_figures) figures;	/* as many as there are maps, in the same order */
	uint64_t anonymous;	/* the sum of SMAPS_ANONYMOUS; 0 without the figure */
	bool has_flags;		/* the kernel gives VmFlags, from which the rest is known */
	/* somebody handles its page faults, and may be told of its forks (userfaultfd) */
	bool userfault;
	/*
	 * Memory that is missing in a forked child (MADV_DONTFORK), or is zero there
	 * (MADV_WIPEONFORK).
	 */
	VEC(struct smaps_range) unforked;
};

#define SMAPS_INIT	{ .maps = { VEC_INIT }, .figures = VEC_INIT, .unforked = VEC_INIT }

/* ERR_GONE, ERR_PERM; ERR_NOTFOUND: the kernel has no smaps. There are no maps after the end. */
struct err *smaps_read(pid_t tid, struct smaps *ret) MUST_CHECK;
/*
 * The maps, with SMAPS_RSS, SMAPS_SWAP (of what is shared with others only what page tables have)
 * and SMAPS_HUGE_ANONYMOUS (of all kinds), in a fourth of the time. Other figures and facts stay
 * unknown. Memory of hugetlbfs counts as resident, other than in smaps. ERR_GONE, ERR_PERM;
 * ERR_UNSUPPORTED before Linux 6.7.
 */
struct err *smaps_scan(pid_t tid, struct smaps *ret) MUST_CHECK;
/*
 * Read SMAPS_PSS of the whole process, in which no mapping is rounded down. ERR_NOTFOUND before
 * Linux 4.14.
 */
struct err *smaps_whole_pss(pid_t tid, uint64_t *ret) MUST_CHECK;
/*
 * Parse a text that the kernel has written. Mappings that came or went while it was written are
 * treated as in procparse_maps. ERR_FORMAT.
 */
struct err *smaps_parse(const char *text, struct smaps *ret) MUST_CHECK;
/* Does [start, end) overlap memory that a fork leaves out? */
bool smaps_unforked(const struct smaps *smaps, uint64_t start, uint64_t end);
void smaps_free(struct smaps *smaps);
