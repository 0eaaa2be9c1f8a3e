/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names with their scopes (type_scope.h). */

#include "type/type_scope.h"

#include "type/die.h"

/* Go to the last child of `at` that does not begin behind the DIE: it is the DIE, or around it. */
static bool step_down(Dwarf_Die *at, const Dwarf_Die *die)
{
	Dwarf_Die child, best;

	if (dwarf_child(at, &child))
		return false;
	best = child;
	while ((const char *)child.addr <= (const char *)die->addr) {
		best = child;
		if (!die_next(&child))
			break;
	}
	*at = best;
	return (const char *)best.addr <= (const char *)die->addr;
}

static struct err *add_scope(Dwarf_Die *at, struct str *to)
{
	const char *name = dwarf_diename(at);

	switch (dwarf_tag(at)) {
	case DW_TAG_namespace:
		return str_addf(to, "%s::", name ? name : "(anonymous namespace)");
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
		return name ? str_addf(to, "%s::", name) : NULL;
	default:
		return NULL;
	}
}

struct err *type_scope_add(Dwarf_Die *die, struct str *to)
{
	struct err *err = NULL;
	Dwarf_Attribute mem;
	Dwarf_Die at, declared;

	/* What defines something elsewhere has the scope of its declaration. */
	if (dwarf_attr(die, DW_AT_specification, &mem) && dwarf_formref_die(&mem, &declared))
		die = &declared;
	if (!dwarf_diecu(die, &at, NULL, NULL))
		return NULL;
	for (unsigned depth = 0; !err && depth < TYPE_SCOPES && step_down(&at, die); depth++) {
		if (at.addr == die->addr)
			break;
		err = add_scope(&at, to);
	}
	return err;
}

bool type_scope_parent(Dwarf_Die *die, Dwarf_Die *ret)
{
	Dwarf_Die at;

	if (!dwarf_diecu(die, &at, NULL, NULL))
		return false;
	*ret = at;
	for (unsigned depth = 0; depth < TYPE_SCOPES && step_down(&at, die); depth++) {
		if (at.addr == die->addr)
			return true;
		*ret = at;
	}
	return false;
}
