/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is asked of a DIE, in a file that may be broken. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <dwarf.h>
#include <elfutils/libdw.h>

/* Go to the next sibling; in a broken file it may be before the current one: false. */
static inline bool die_next(Dwarf_Die *die)
{
	const char *before = die->addr;

	return dwarf_siblingof(die, die) == 0 && (const char *)die->addr > before;
}

/* An attribute as a number; DW_AT_specification and the like are followed. False: it is none. */
static inline bool die_number(Dwarf_Die *die, unsigned attr, uint64_t *ret)
{
	Dwarf_Attribute mem;
	Dwarf_Word value;

	if (dwarf_formudata(dwarf_attr_integrate(die, attr, &mem), &value))
		return false;
	*ret = value;
	return true;
}

/*
 * The same with a sign: compilers give a number that is below 0 a form that says so, and libdw takes
 * 249 in one byte for -7.
 */
static inline bool die_signed(Dwarf_Die *die, unsigned attr, int64_t *ret)
{
	Dwarf_Attribute mem, *at = dwarf_attr_integrate(die, attr, &mem);
	unsigned form = at ? dwarf_whatform(at) : 0;
	Dwarf_Sword value;
	Dwarf_Word word;

	if (form == DW_FORM_sdata || form == DW_FORM_implicit_const) {
		if (dwarf_formsdata(at, &value))
			return false;
		*ret = value;
		return true;
	}
	if (!at || dwarf_formudata(at, &word))
		return false;
	*ret = (int64_t)word;
	return true;
}

/* A flag of the DIE itself. */
static inline bool die_flag(Dwarf_Die *die, unsigned attr)
{
	Dwarf_Attribute mem;
	bool flag;

	return dwarf_formflag(dwarf_attr(die, attr, &mem), &flag) == 0 && flag;
}
