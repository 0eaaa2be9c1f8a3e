/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Runs CFA programs (DWARF 5, 6.4.2) for the few registers that rows describe. This is mdbg's own
 * code, because libdw's dwarf_cfi_addrframe runs the whole program again for each row and allocates
 * its result; the test compares the two.
 */
#pragma once

#include "elf/cfi.h"
#include "unwind/rows.h"

enum rule_kind {
	RULE_SAME,		/* not changed */
	RULE_UNDEFINED,
	RULE_OFFSET,		/* saved at CFA + offset */
	RULE_VAL_OFFSET,	/* it is CFA + offset */
	RULE_REGISTER,		/* in another register; for the CFA: that register + offset */
	/* saved at the address that the expression gives; for the CFA: its value */
	RULE_EXPRESSION,
	RULE_VAL_EXPRESSION,	/* it is the value of the expression */
};

struct rule {
	uint8_t kind;		/* enum rule_kind */
	uint32_t reg;
	int64_t offset;
	const uint8_t *expr;
	size_t expr_len;
};

/* The rules at one PC. cfa is RULE_UNDEFINED until the program has defined it. */
struct cfa_state {
	struct rule cfa, bx, fp, sp, ra;
	struct rule kept[ROW_KEPT];	/* r12 to r15 */
};

/* Called with the rules that hold from pc on. */
typedef struct err *cfa_emit_fn(uint64_t pc, const struct cfa_state *state, void *ctx);

/*
 * Get the state after a CIE's initial instructions. False: they are broken. Registers that they do
 * not name are as the ABI says: return address below the CFA, SP equal to the CFA, the others
 * unchanged.
 */
bool cfa_run_cie(const struct cfi_cie *cie, struct cfa_state *ret);
/*
 * Run an FDE's program from the state of its CIE, calling emit for each state that holds for at
 * least a byte of [fde->start, fde->start + fde->size), in order. *bad_ret says that the program is
 * broken; then the emitted states are void.
 */
struct err *cfa_run_fde(const struct cfi_cie *cie, const struct cfa_state *initial,
			const struct cfi_fde *fde,
			cfa_emit_fn *emit, void *ctx, bool *bad_ret) MUST_CHECK;

/*
 * The value of an expression of the simple kinds: an address, or the word there plus
 * add.
 */
struct cfa_value {
	uint32_t reg;
	int64_t offset, add;
	/* the word at reg + offset, plus add; else reg + offset, and add is 0 */
	bool memory;
};

/* False if the expression is of another kind. */
bool cfa_expression(const uint8_t *expr, size_t len, struct cfa_value *ret);
/* Is it the expression of the PLT: SP + *offset_ret + ((PC & 15) >= *from_ret ? 8 : 0)? */
bool cfa_expression_plt(const uint8_t *expr, size_t len, int64_t *offset_ret, uint8_t *from_ret);
