/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls by their return addresses (call_site.h). */

#include "type/call_site.h"

#include <string.h>

#include "base/cancel.h"
#include "type/die.h"
#include "type/operations.h"

#define DEPTH	128u

static bool is_call(int tag)
{
	return tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site;
}

static bool is_tail_call(Dwarf_Die *die)
{
	return die_flag(die, DW_AT_call_tail_call) || die_flag(die, DW_AT_GNU_tail_call);
}

/* GNU's form of DWARF 4 has the return address as low_pc. */
static bool returns_to(Dwarf_Die *die, uint64_t pc)
{
	Dwarf_Attribute mem, *attr = dwarf_attr(die, DW_AT_call_return_pc, &mem);
	Dwarf_Addr address;

	if (!attr)
		attr = dwarf_attr(die, DW_AT_low_pc, &mem);
	return attr && !dwarf_formaddr(attr, &address) && address == pc;
}

/* Find a call below parent: the one that returns to pc, or with pc 0 any tail call. */
static bool find_call(Dwarf_Die *parent, uint64_t pc, unsigned depth, Dwarf_Die *ret)
{
	Dwarf_Die die;

	if (depth == DEPTH || dwarf_child(parent, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);

		if (is_call(tag) && (pc ? returns_to(&die, pc) : is_tail_call(&die))) {
			*ret = die;
			return true;
		}
		if ((tag == DW_TAG_lexical_block || tag == DW_TAG_inlined_subroutine ||
		     tag == DW_TAG_try_block || tag == DW_TAG_catch_block) &&
		    find_call(&die, pc, depth + 1, ret))
			return true;
	} while (die_next(&die) && !cancel_requested());
	return false;
}

static bool follow(Dwarf_Die *die, unsigned attr, Dwarf_Die *ret)
{
	Dwarf_Attribute mem;

	return dwarf_formref_die(dwarf_attr(die, attr, &mem), ret);
}

static const char *linkage_of(Dwarf_Die *die)
{
	Dwarf_Attribute mem;
	const char *name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &mem));

	return name ? name : dwarf_diename(die);
}

static bool is_external(Dwarf_Die *die)
{
	Dwarf_Attribute mem;
	bool is;

	return !dwarf_formflag(dwarf_attr_integrate(die, DW_AT_external, &mem), &is) && is;
}

/* Does the call name this function: itself, what it is an instance of, or a declaration of it? */
static bool calls(Dwarf_Die *call, Dwarf_Die *function)
{
	Dwarf_Die named, abstract;
	const char *name;

	if (!follow(call, DW_AT_call_origin, &named) &&
	    !follow(call, DW_AT_abstract_origin, &named))
		return false;
	if (named.addr == function->addr ||
	    (follow(function, DW_AT_abstract_origin, &abstract) && abstract.addr == named.addr) ||
	    (follow(function, DW_AT_specification, &abstract) && abstract.addr == named.addr))
		return true;
	name = linkage_of(&named);
	return name && is_external(&named) && is_external(function) && linkage_of(function) &&
	       !strcmp(name, linkage_of(function));
}

static bool value_in(Dwarf_Die *call, uint64_t reg, Dwarf_Attribute *ret)
{
	Dwarf_Attribute mem;
	Dwarf_Die die;

	if (dwarf_child(call, &die))
		return false;
	do {
		int tag = dwarf_tag(&die);
		struct operations ops;
		struct operation op;

		if ((tag == DW_TAG_call_site_parameter || tag == DW_TAG_GNU_call_site_parameter) &&
		    operations_of(dwarf_attr(&die, DW_AT_location, &mem), &ops) &&
		    operations_only(ops, &op) &&
		    (op.atom == DW_OP_regx ? op.number == reg : op.atom == DW_OP_reg0 + reg))
			return dwarf_attr(&die, DW_AT_call_value, ret) ||
			       dwarf_attr(&die, DW_AT_GNU_call_site_value, ret);
	} while (die_next(&die) && !cancel_requested());
	return false;
}

bool call_site_value(const struct value_world *world, struct frame *frame, uint64_t reg,
		     Dwarf_Attribute *ret)
{
	struct frame *caller = frame->caller;
	Dwarf_Die call;

	return caller && !caller->at.exact && frame_has_function(world, frame) &&
	       frame_has_function(world, caller) &&
	       !find_call(&frame->function.die, 0, 0, &call) &&
	       find_call(&caller->function.die, caller->at.pc - caller->function.bias, 0, &call) &&
	       calls(&call, &frame->function.die) && value_in(&call, reg, ret);
}
