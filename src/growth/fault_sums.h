/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Page faults, added up by stack and by the file of the address.
 *
 * A page is one of a file, by its inode and offset, or else one of the address space: files that
 * are mapped at one address in turn have pages of their own, and a file that is mapped twice has
 * each of its pages once. (Pages of files are known by a hash of 39 bits: among a million, about
 * one is taken for another.)
 *
 * A page belongs to the stack that faulted it in last. So the pages of all stacks are together
 * those at which faults were taken, each once, however often they came and went. A huge page is as
 * many pages as it has 4096 bytes. (The kernel may map more for one fault: pages around the address,
 * of a file or a large folio. The event does not say so.)
 *
 * Memory is bounded: at most `most` bytes. A fault whose sum or page has no room is counted.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/text_set.h"
#include "base/vec.h"
#include "heap/interner.h"

struct fault_sum {
	uint32_t stack;			/* of the log */
	uint32_t file;			/* number of the name; 0: no file's memory */
	uint64_t minor, major;		/* faults */
	uint64_t huge;			/* faults, of those above, that have brought a huge page */
	uint64_t pages;			/* that it was the last one to fault in */
};

struct fault_sums {
	VEC(struct fault_sum) sums;
	struct text_set files;		/* names by number; that of 0 is "" */
	struct interner numbers;	/* of sums, by stack and file */
	uint64_t *pages;		/* page << 24 | number of the sum + 1; 0: free */
	size_t pages_room, nr_pages;
	size_t most;			/* bytes of all tables */
	uint64_t minor, major;		/* all faults, with those that are in no sum */
	uint64_t unsummed;		/* faults without a sum: no room */
	uint64_t unpaged;		/* pages that had no room */
};

struct fault {
	uint64_t address;
	uint32_t stack, file;
	bool major;
	uint64_t page_size;		/* a power of two; 4096 or less: it is no huge page */
	/* Of a file's memory: the file, and the place in it. inode 0: it is no file's. */
	uint64_t inode, dev, offset;
};

void fault_sums_init(struct fault_sums *sums, size_t most);
void fault_sums_free(struct fault_sums *sums);
/* The number of a file's name; 0 if it is "" or there is no room. */
uint32_t fault_sums_file(struct fault_sums *sums, const char *name);
void fault_sums_add(struct fault_sums *sums, const struct fault *fault);
