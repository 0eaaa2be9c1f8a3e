/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A made-up machine to try unwind rules on: registers with arbitrary values, memory that holds a
 * function of its address. Rules that agree on it for every register and address agree.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/rows.h"

struct machine {
	uint64_t reg[17];	/* by DWARF number; 16 is the PC */
};

/* What a rule set makes of it. */
struct outcome {
	enum { OUTCOME_NONE, OUTCOME_END, OUTCOME_FRAME, OUTCOME_COMPLEX, OUTCOME_INVALID } kind;
	uint64_t cfa, pc, fp, bx, kept[ROW_KEPT];
	bool fp_known, bx_known, kept_known[ROW_KEPT];
};

void machine_init(struct machine *machine, uint64_t pc);
struct outcome outcome_of_row(const struct machine *machine, const struct row *row);
/* libdw's, from dwarf_cfi_addrframe; frame NULL: no CFI there. */
struct outcome outcome_of_frame(const struct machine *machine, Dwarf_Frame *frame);
