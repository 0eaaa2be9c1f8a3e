/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The DWARF expressions that occur in CFI: a register plus an offset, the word at that address, and
 * the expression of the PLT.
 */

#include "unwind/cfa.h"

#include <dwarf.h>

#include "arch/host.h"

#define OPS_MAX		8	/* the most that a simple expression needs */

static bool constant(uint8_t op, const uint8_t **at, const uint8_t *end, uint64_t *ret)
{
	int64_t value;

	if (op >= DW_OP_lit0 && op <= DW_OP_lit31) {
		*ret = op - DW_OP_lit0;
		return true;
	}
	switch (op) {
	case DW_OP_const1u:
	case DW_OP_const2u:
	case DW_OP_const4u:
		return cfi_fixed(at, end, 1u << (op - DW_OP_const1u) / 2, ret);
	case DW_OP_constu:
		return cfi_uleb(at, end, ret);
	case DW_OP_const1s:
		if (!cfi_fixed(at, end, 1, ret))
			return false;
		*ret = (uint64_t)(int64_t)(int8_t)*ret;
		return true;
	case DW_OP_consts:
		if (!cfi_sleb(at, end, &value))
			return false;
		*ret = (uint64_t)value;
		return true;
	default:
		return false;
	}
}

static void value_add(struct cfa_value *value, uint64_t n)
{
	int64_t *to = value->memory ? &value->add : &value->offset;

	*to = (int64_t)((uint64_t)*to + n);
}

/*
 * Read one operation behind the first; a constant must be followed by the operation that adds it.
 */
static bool value_op(struct cfa_value *value, const uint8_t **at, const uint8_t *end)
{
	uint8_t op = *(*at)++;
	uint64_t n;

	if (op == DW_OP_nop)
		return true;
	if (op == DW_OP_deref && !value->memory) {
		value->memory = true;
		return true;
	}
	if (op == DW_OP_plus_uconst) {
		if (!cfi_uleb(at, end, &n))
			return false;
		value_add(value, n);
		return true;
	}
	if (!constant(op, at, end, &n) || *at >= end)
		return false;
	op = *(*at)++;
	if (op != DW_OP_plus && op != DW_OP_minus)
		return false;
	value_add(value, op == DW_OP_plus ? n : -n);
	return true;
}

bool cfa_expression(const uint8_t *expr, size_t len, struct cfa_value *ret)
{
	const uint8_t *at = expr, *end = expr + len;
	struct cfa_value value = { 0 };
	unsigned ops = 0;

	if (!len || *at < DW_OP_breg0 || *at > DW_OP_breg31)
		return false;
	value.reg = (uint32_t)(*at++ - DW_OP_breg0);
	if (!cfi_sleb(&at, end, &value.offset))
		return false;
	while (at < end) {
		if (++ops > OPS_MAX || !value_op(&value, &at, end))
			return false;
	}
	*ret = value;
	return true;
}

/*
 * The expression that linkers write for a PLT entry of 16 bytes, whose push comes before byte N:
 * breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus (ld's elf_x86_64_eh_frame_lazy_plt; N is
 * 11, 10 or 9).
 */
bool cfa_expression_plt(const uint8_t *expr, size_t len, int64_t *offset_ret, uint8_t *from_ret)
{
	static const uint8_t middle[] = { DW_OP_breg0 + FRAME_RA, 0, DW_OP_lit15, DW_OP_and };
	static const uint8_t tail[] = { DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus };
	const uint8_t *at = expr, *end = expr + len;
	int64_t offset;

	if (!len || *at++ != DW_OP_breg0 + FRAME_SP || !cfi_sleb(&at, end, &offset))
		return false;
	if ((size_t)(end - at) != sizeof(middle) + 1 + sizeof(tail))
		return false;
	if (__builtin_memcmp(at, middle, sizeof(middle)) ||
	    __builtin_memcmp(at + sizeof(middle) + 1, tail, sizeof(tail)))
		return false;
	at += sizeof(middle);
	if (*at < DW_OP_lit0 || *at > DW_OP_lit15)
		return false;
	*offset_ret = offset;
	*from_ret = *at - DW_OP_lit0;
	return true;
}
