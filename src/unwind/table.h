/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Making a struct rows: the array and its index in one allocation. mdbg's alone, not the agent's.
 */
#ifndef UNWIND_TABLE_H
#define UNWIND_TABLE_H

#include <stdbool.h>

#include "base/err.h"
#include "unwind/rows.h"

/*
 * Copies nr rows, sorted by pc without equals, nr > 0, and makes their index. rows_free()
 * (compile.h) frees it.
 */
struct err *rows_create(const struct row *row, uint32_t nr, struct rows *ret) MUST_CHECK;
/* Are these rows as rows_create() wants them, with kinds that exist? For rows out of a file. */
bool rows_valid(const struct row *row, uint32_t nr);

#endif
