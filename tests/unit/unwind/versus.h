/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the rows of a file say at each of its instructions, compared with what libdw says there. */
#pragma once

#include <stdint.h>

#define TALLY_PLACES	8u

/*
 * Between two places at which either side changes what it says, neither does, so that the first
 * and the last instruction of such a part stand for all of it.
 */
struct tally {
	unsigned long fdes, bad_fdes, rows;
	unsigned long places;		/* that were compared */
	unsigned long wrong;		/* what rows say and libdw does not ... */
	/* ... except this: code without CFI (rows_compile.c), and CFI that libdw finds invalid */
	unsigned long restorers, invalid;
	/* what only libdw says: all of it, or the caller's BP, RBX, and each of R12 to R15 */
	unsigned long complex, fp_unknown, bx_unknown, kept_unknown;
	uint64_t complex_at[TALLY_PLACES];	/* the first of them, in one file */
};

/* Compare a file, with CUnit's assertions, and add to *tally. */
void versus_libdw(const char *path, struct tally *tally);
/*
 * Nothing may be wrong, and at most one place in a thousand too much for rows. The registers but BP
 * are hardly ever needed, and not known where a function saves them far from its CFA: at most one
 * in ten.
 */
void versus_check(const struct tally *tally);
void versus_add(struct tally *sum, const struct tally *tally);
/* A line for each file, below a line with the names of the columns. */
void versus_print_head(void);
void versus_print(const char *name, const struct tally *tally);
