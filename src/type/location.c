/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places by DWARF's expressions (location.h). */

#include "type/location.h"

#include "base/compiler.h"
#include "type/die.h"
#include "type/operations.h"

#define STACK	8u

static enum location_kind constant_of(Dwarf_Die *die, uint64_t *ret)
{
	int64_t number;

	if (!die_signed(die, DW_AT_const_value, &number))
		return LOCATION_NONE;
	*ret = (uint64_t)number;
	return LOCATION_CONSTANT;
}

enum location_kind location_of(Dwarf_Die *die, uint64_t *ret)
{
	Dwarf_Attribute mem, *attr = dwarf_attr(die, DW_AT_location, &mem);
	struct operation first, second = { .atom = DW_OP_nop };
	struct operations ops;

	if (!attr)
		return constant_of(die, ret);
	if (!operations_of(attr, &ops) || !operations_next(&ops, &first) ||
	    (ops.at < ops.end && !operations_only(ops, &second)) || !operations_number(&ops, &first, ret))
		return LOCATION_NONE;
	if (operations_is_thread(&second))
		return LOCATION_THREAD;
	if (!operations_is_address(&first) || (second.atom != DW_OP_nop && second.atom != DW_OP_plus_uconst))
		return LOCATION_NONE;
	*ret += second.number;
	return LOCATION_ADDRESS;
}

/* What a step needs on the stack, and how much higher it is afterwards. */
static bool step(const struct operation *op, struct memory *memory, uint64_t *stack, size_t *nr,
		 struct err **err)
{
	uint64_t *top = &stack[*nr - 1];

	if (op->atom == DW_OP_dup || op->atom == DW_OP_constu || op->atom == DW_OP_consts ||
	    (op->atom >= DW_OP_const1u && op->atom <= DW_OP_const8s) ||
	    (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)) {
		if (*nr == STACK)
			return false;
		stack[(*nr)++] = op->atom == DW_OP_dup ? *top :
			op->atom >= DW_OP_lit0 ? (uint64_t)op->atom - DW_OP_lit0 : op->number;
		return true;
	}
	switch (op->atom) {
	case DW_OP_plus_uconst:
		*top += op->number;
		return true;
	case DW_OP_deref:
		*err = memory_read_u64(memory, *top, top);
		return !*err;
	case DW_OP_plus:
	case DW_OP_minus:
		if (*nr < 2)
			return false;
		top[-1] = op->atom == DW_OP_plus ? top[-1] + *top : top[-1] - *top;
		(*nr)--;
		return true;
	default:
		return false;
	}
}

struct err *location_of_member(Dwarf_Die *member, struct memory *memory, uint64_t object,
			       uint64_t *ret)
{
	uint64_t stack[STACK] = { object };
	struct err *err = NULL;
	Dwarf_Attribute mem;
	struct operations ops;
	struct operation op;
	size_t used = 1;
	bool known = operations_of(dwarf_attr(member, DW_AT_data_member_location, &mem), &ops);

	while (known && operations_next(&ops, &op))
		known = step(&op, memory, stack, &used, &err);
	if (!known || ops.damaged)
		return err ? err : err_create(ERR_UNSUPPORTED, "a member whose place is not known");
	*ret = stack[used - 1];
	return NULL;
}
