/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names with their scopes: "std::vector<int, std::allocator<int> >" of the DIE "vector<…>". */
#pragma once

#include <stdbool.h>

#include <elfutils/libdw.h>

#include "base/str.h"

#define TYPE_SCOPES	64u

/*
 * Append "SCOPE::" for each namespace and class around the DIE. libdw has no way from a DIE to the
 * one around it: this goes from the unit down, which takes a millisecond in a large unit.
 */
struct err *type_scope_add(Dwarf_Die *die, struct str *to) MUST_CHECK;
/* Get the DIE around one; false: it is not found. */
bool type_scope_parent(Dwarf_Die *die, Dwarf_Die *ret);
