/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes rows from a module's CFI (.eh_frame, else .debug_frame), or from an array. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "unwind/rows.h"

struct elf_file;

/*
 * Make rows for the executable range [vaddr, vaddr + size) of the file's addresses; row offset 0 is
 * vaddr. *ret owns the rows, which are malloc'ed (rows_free). A module without CFI gets one row of
 * ROW_CFA_NONE. The range of a broken FDE has no CFI.
 */
struct err *rows_compile(struct elf_file *file, uint64_t vaddr, uint64_t size,
			 struct rows *ret) MUST_CHECK;
/* Copy nr rows, sorted by pc without equals, nr > 0, and make their index, in one allocation. */
struct err *rows_create(const struct row *row, uint32_t nr, struct rows *ret) MUST_CHECK;
/* Are these rows valid for rows_create(), with kinds that exist? For rows that come from a file. */
bool rows_valid(const struct row *row, uint32_t nr);
void rows_free(struct rows *rows);
