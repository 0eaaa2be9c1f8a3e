/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include "elf/cfi.h"
#include "unwind/cfa.h"
#include "unwind/rows.h"

/*
 * Returns the row of a state of the CFI's program; pc is not set. Rules that no row can hold make
 * it ROW_CFA_COMPLEX, or, if they are of a register that most walks never need, leave that unknown.
 */
struct row row_of(const struct cfi_cie *cie, const struct cfa_state *state);
