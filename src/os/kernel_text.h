/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The kernel's small text files that have a number, or a table of names and numbers
 * (/proc/meminfo, /proc/vmstat, memory.max, memory.stat). What a kernel does not offer, and what is
 * no number, is KERNEL_UNKNOWN, so that it cannot be taken for 0.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define KERNEL_UNKNOWN	UINT64_MAX
#define KERNEL_NO_LIMIT	(UINT64_MAX - 1)	/* "max" */

/* The values of two figures can be compared only if both are numbers. */
static inline bool kernel_is_number(uint64_t value)
{
	return value < KERNEL_NO_LIMIT;
}

/*
 * A name of a table, and the uint64_t to which its number belongs. Several names may belong to one
 * figure, which is then their sum.
 */
struct kernel_key {
	const char *name;
	size_t offset;		/* in the struct of figures */
	bool prefix;		/* all names that begin so: kernels before 4.8 have one a zone */
};

/*
 * Read a file to its end. ERR_RANGE if it is longer than any of these files; ERR_PERM and others of
 * err_sys if it cannot be read. The text is malloc'ed.
 */
struct err *kernel_text(const char *path, char **ret) MUST_CHECK;
/*
 * Parse the decimal number at the start of text, and its unit if that is kB. Returns
 * KERNEL_UNKNOWN if there is none, if it is too large, or if something else follows it in its line;
 * KERNEL_NO_LIMIT for "max".
 */
uint64_t kernel_text_number(const char *text);
/* The number of a file that has one; KERNEL_UNKNOWN also if the file cannot be read. */
uint64_t kernel_text_number_file(const char *folder, const char *name);
/*
 * Take the figures of a table with lines "NAME: NUMBER kB" or "NAME NUMBER". A figure is only
 * written if its name is there, so the caller has set all of them to KERNEL_UNKNOWN. There are 64
 * keys at most.
 */
void kernel_text_table(const char *text, const struct kernel_key *keys, size_t nr, void *figures);
/* The same, of a file; nothing is written if it cannot be read. */
void kernel_text_table_file(const char *folder, const char *name, const struct kernel_key *keys,
			    size_t nr, void *figures);
/* Set nr figures to KERNEL_UNKNOWN. */
void kernel_text_unknown(void *figures, size_t nr);
/* a + b, or KERNEL_UNKNOWN if one of them is no number or the sum is too large. */
uint64_t kernel_text_sum(uint64_t a, uint64_t b);
