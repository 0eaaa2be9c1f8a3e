/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operations of expressions (operations.h). */

#include "type/operations.h"

#include "elf/cfi.h"

/* The forms of operands: two for each operation, as 16 * the second + the first. */
enum operand {
	NONE, ULEB, SLEB, BYTES_1, BYTES_2, BYTES_4, BYTES_8, SIGNED_1, SIGNED_2, SIGNED_4, BLOCK,
	REFERENCE,
};

#define BOTH(first, second)	((second) << 4 | (first))

static const uint8_t operands[256] = {
	[DW_OP_addr] = BYTES_8,
	[DW_OP_const1u] = BYTES_1, [DW_OP_const1s] = SIGNED_1,
	[DW_OP_const2u] = BYTES_2, [DW_OP_const2s] = SIGNED_2,
	[DW_OP_const4u] = BYTES_4, [DW_OP_const4s] = SIGNED_4,
	[DW_OP_const8u] = BYTES_8, [DW_OP_const8s] = BYTES_8,
	[DW_OP_constu] = ULEB, [DW_OP_consts] = SLEB,
	[DW_OP_constx] = ULEB, [DW_OP_GNU_const_index] = ULEB,
	[DW_OP_plus_uconst] = ULEB,
	[DW_OP_skip] = SIGNED_2, [DW_OP_bra] = SIGNED_2,
	[DW_OP_breg0 ... DW_OP_breg31] = SLEB,
	[DW_OP_regx] = ULEB, [DW_OP_fbreg] = SLEB, [DW_OP_bregx] = BOTH(ULEB, SLEB),
	[DW_OP_piece] = ULEB, [DW_OP_deref_size] = BYTES_1,
	[DW_OP_implicit_value] = BLOCK,
	[DW_OP_implicit_pointer] = BOTH(REFERENCE, SLEB),
	[DW_OP_GNU_implicit_pointer] = BOTH(REFERENCE, SLEB),
	[DW_OP_addrx] = ULEB, [DW_OP_GNU_addr_index] = ULEB,
	[DW_OP_entry_value] = BLOCK, [DW_OP_GNU_entry_value] = BLOCK,
};

bool operations_of(Dwarf_Attribute *attr, struct operations *ret)
{
	Dwarf_Block block;

	if (!attr || dwarf_formblock(attr, &block))
		return false;
	*ret = (struct operations){
		.attr = attr, .start = block.data, .at = block.data, .end = block.data + block.length,
	};
	return true;
}

/* 4 or 8 bytes, by the unit's format. */
static bool reference(struct operations *ops, uint64_t *ret)
{
	uint8_t bytes;

	return !dwarf_cu_info(ops->attr->cu, NULL, NULL, NULL, NULL, NULL, NULL, &bytes) &&
	       cfi_fixed(&ops->at, ops->end, bytes, ret);
}

static bool fixed(struct operations *ops, size_t bytes, bool sign, uint64_t *ret)
{
	unsigned above = 64 - 8 * (unsigned)bytes;

	if (!cfi_fixed(&ops->at, ops->end, bytes, ret))
		return false;
	if (sign)
		*ret = (uint64_t)((int64_t)(*ret << above) >> above);
	return true;
}

static bool take(struct operations *ops, enum operand operand, struct operation *op, uint64_t *ret)
{
	int64_t number;

	switch (operand) {
	case ULEB:
		return cfi_uleb(&ops->at, ops->end, ret);
	case SLEB:
		if (!cfi_sleb(&ops->at, ops->end, &number))
			return false;
		*ret = (uint64_t)number;
		return true;
	case BYTES_1 ... BYTES_8:
		return fixed(ops, 1u << (operand - BYTES_1), false, ret);
	case SIGNED_1 ... SIGNED_4:
		return fixed(ops, 1u << (operand - SIGNED_1), true, ret);
	case REFERENCE:
		return reference(ops, ret);
	case BLOCK:
		if (!cfi_uleb(&ops->at, ops->end, ret) || *ret > (uint64_t)(ops->end - ops->at))
			return false;
		op->bytes = ops->at;
		ops->at += *ret;
		return true;
	default:
		return true;
	}
}

bool operations_next(struct operations *ops, struct operation *ret)
{
	if (ops->at == ops->end)
		return false;
	*ret = (struct operation){ .atom = *ops->at++ };
	if (take(ops, operands[ret->atom] & 15, ret, &ret->number) &&
	    take(ops, operands[ret->atom] >> 4, ret, &ret->other))
		return true;
	ops->at = ops->end;
	ops->damaged = true;
	return false;
}

bool operations_only(struct operations ops, struct operation *ret)
{
	return operations_next(&ops, ret) && ops.at == ops.end;
}

void operations_jump(struct operations *ops, int64_t by)
{
	bool inside = by >= ops->start - ops->at && by <= ops->end - ops->at;

	ops->at = inside ? ops->at + by : ops->end;
}

struct operations operations_inside(const struct operations *ops, const struct operation *op)
{
	return (struct operations){
		.attr = ops->attr, .start = op->bytes, .at = op->bytes, .end = op->bytes + op->number,
	};
}

bool operations_is_address(const struct operation *op)
{
	return op->atom == DW_OP_addr || op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index;
}

bool operations_is_thread(const struct operation *op)
{
	return op->atom == DW_OP_GNU_push_tls_address || op->atom == DW_OP_form_tls_address;
}

bool operations_number(const struct operations *ops, const struct operation *op, uint64_t *ret)
{
	bool in_table = op->atom == DW_OP_constx || op->atom == DW_OP_GNU_const_index;
	Dwarf_Op index = { .atom = op->atom, .number = op->number };
	Dwarf_Attribute result;
	Dwarf_Word number;

	if (op->atom == DW_OP_addr || (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)) {
		*ret = op->number;
		return true;
	}
	if ((!in_table && !operations_is_address(op)) || dwarf_getlocation_attr(ops->attr, &index, &result) ||
	    (in_table ? dwarf_formudata(&result, &number) : dwarf_formaddr(&result, &number)))
		return false;
	*ret = number;
	return true;
}
