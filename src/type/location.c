/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places by DWARF's expressions (location.h). */

#include "type/location.h"

#include "base/compiler.h"
#include "type/die.h"

#define STACK	8u

bool location_is_thread(const Dwarf_Op *op)
{
	return op->atom == DW_OP_GNU_push_tls_address || op->atom == DW_OP_form_tls_address;
}

static bool is_address(const Dwarf_Op *op)
{
	return op->atom == DW_OP_addr || op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index;
}

bool location_number(Dwarf_Attribute *attr, const Dwarf_Op *op, uint64_t *ret)
{
	bool in_table = op->atom == DW_OP_constx || op->atom == DW_OP_GNU_const_index;
	Dwarf_Attribute result;
	Dwarf_Word number;

	if (op->atom == DW_OP_addr || (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)) {
		*ret = op->number;
		return true;
	}
	if ((!in_table && !is_address(op)) || dwarf_getlocation_attr(attr, op, &result) ||
	    (in_table ? dwarf_formudata(&result, &number) : dwarf_formaddr(&result, &number)))
		return false;
	*ret = number;
	return true;
}

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
	Dwarf_Op *ops;
	size_t nr;

	if (!attr)
		return constant_of(die, ret);
	if (dwarf_getlocation(attr, &ops, &nr) || !nr)
		return LOCATION_NONE;
	if (nr > 2 || !location_number(attr, &ops[0], ret))
		return LOCATION_NONE;
	if (nr == 2 && location_is_thread(&ops[1]))
		return LOCATION_THREAD;
	if (!is_address(&ops[0]) || (nr == 2 && ops[1].atom != DW_OP_plus_uconst))
		return LOCATION_NONE;
	if (nr == 2)
		*ret += ops[1].number;
	return LOCATION_ADDRESS;
}

/* What a step needs on the stack, and how much higher it is afterwards. */
static bool step(const Dwarf_Op *op, struct memory *memory, uint64_t *stack, size_t *nr,
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
	size_t nr, used = 1;
	Dwarf_Op *ops;

	if (dwarf_getlocation(dwarf_attr(member, DW_AT_data_member_location, &mem), &ops, &nr))
		return err_create(ERR_UNSUPPORTED, "a member whose place is not known");
	for (size_t i = 0; i < nr; i++)
		if (!step(&ops[i], memory, stack, &used, &err))
			return err ? err : err_create(ERR_UNSUPPORTED,
						      "a member whose place is not known");
	*ret = stack[used - 1];
	return NULL;
}
