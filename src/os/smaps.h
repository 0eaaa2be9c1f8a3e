/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Facts from /proc/PID/smaps about a process that is about to be forked. The kernel walks all page
 * tables for it, which takes some 10 ms for each GB in memory.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/vec.h"

struct smaps_range {
	uint64_t start, end;
};

struct smaps {
	uint64_t anonymous;	/* bytes that it does not share with a file */
	/* somebody handles its page faults, and may be told of its forks (userfaultfd) */
	bool userfault;
	/*
	 * Memory that is missing in a forked child (MADV_DONTFORK), or is zero there
	 * (MADV_WIPEONFORK).
	 */
	VEC(struct smaps_range) unforked;
};

/* ERR_GONE, ERR_PERM; ERR_UNSUPPORTED: the kernel gives no flags. */
struct err *smaps_read(pid_t pid, struct smaps *ret) MUST_CHECK;
/* Parse a text that the kernel has written. */
struct err *smaps_parse(FILE *file, struct smaps *ret) MUST_CHECK;
/* Does [start, end) overlap memory that a fork leaves out? */
bool smaps_unforked(const struct smaps *smaps, uint64_t start, uint64_t end);
void smaps_free(struct smaps *smaps);
