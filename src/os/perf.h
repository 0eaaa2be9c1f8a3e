/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's performance events: perf_event_open(2), which has no wrapper in glibc, the rings
 * that the kernel writes samples to, and the samples.
 *
 * A ring is one page of head and tail, and a power of two of pages with records. The kernel moves
 * the head, mdbg the tail. A record that has no room is left out by the kernel, which later says
 * how many were (PERF_RECORD_LOST): ring->lost. The reader takes each record out, so that one that
 * goes round the end of the ring is in one piece. A record whose length cannot be true ends the
 * look: everything up to the head is passed over, and counted (ring->broken).
 */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

#define PERF_RECORD_ROOM	65536	/* header.size has 16 bits */
#define PERF_REGS		32	/* of a sample at most */

struct perf_ring {
	struct perf_event_mmap_page *page;	/* NULL: not mapped */
	const uint8_t *data;
	uint64_t size;			/* of data, a power of two */
	uint64_t lost, broken;		/* records */
	uint64_t *copy;			/* PERF_RECORD_ROOM bytes: the record */
};

/*
 * Open an event for a thread (pid; -1: all) on a processor. The error names the setting that
 * forbids it, if there is one.
 */
struct err *perf_event_open(struct perf_event_attr *attr, pid_t pid, int cpu,
			    int *fd_ret) MUST_CHECK;
/* The processors that are online, of which nr_max are stored; returns how many there are. */
unsigned perf_cpus(int *cpus, unsigned nr_max);
/* Parse a list like "0-3,8" as the kernel writes it. */
unsigned perf_cpus_parse(const char *text, int *cpus, unsigned nr_max);

/*
 * Map a ring of about so many bytes; where mdbg may not lock so much, of less. ring->size says how
 * large it is.
 */
struct err *perf_ring_map(int fd, size_t bytes, struct perf_ring *ret) MUST_CHECK;
void perf_ring_unmap(struct perf_ring *ring);
/*
 * Take the records that are there, at most `most` of them, oldest first. A record is valid until fn
 * returns, and has header.size bytes. Returns how many there were.
 */
size_t perf_ring_take(struct perf_ring *ring, size_t most,
		      void (*fn)(void *ctx, const struct perf_event_header *record), void *ctx);

/*
 * A sample with TID, TIME, ADDR, REGS_USER and STACK_USER (PERF_SAMPLE_FIELDS), and, if it was asked
 * for, DATA_PAGE_SIZE (Linux 5.11).
 */
#define PERF_SAMPLE_FIELDS	(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ADDR | \
				 PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

struct perf_sample {
	uint32_t pid, tid;
	uint64_t time, addr;
	uint32_t nr_regs;		/* 0: it was in the kernel's own code, or a thread's end */
	uint64_t regs[PERF_REGS];
	const void *stack;		/* from the user's SP on */
	uint64_t stack_len;
	uint64_t page_size;		/* of the page at addr; 0: not known */
};

/* Take a PERF_RECORD_SAMPLE apart, which has a register for each bit of mask. False: it is cut. */
bool perf_sample_parse(const struct perf_event_header *record, uint64_t mask,
		       struct perf_sample *ret);

/* A mapping that was made (PERF_RECORD_MMAP2). */
struct perf_mapping {
	uint32_t pid;
	uint64_t start, end;
	uint64_t offset, inode;		/* in the file; 0 of anonymous memory */
	uint32_t dev_major, dev_minor;
	bool exec;
	const char *path;		/* "//anon": no file; inside the record */
};

bool perf_mapping_parse(const struct perf_event_header *record, struct perf_mapping *ret);
