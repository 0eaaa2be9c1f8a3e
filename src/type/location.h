/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where something is, by the little of DWARF's expressions that global data need. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <elfutils/libdw.h>

#include "base/memory.h"

enum location_kind { LOCATION_ADDRESS, LOCATION_THREAD, LOCATION_CONSTANT, LOCATION_NONE };

/*
 * Of a variable: *ret is an address without bias, its value, or of a thread's the place in the data
 * of its module.
 */
enum location_kind location_of(Dwarf_Die *die, uint64_t *ret);
/*
 * The address of a member or base whose place an expression says: that of a virtual base is in the
 * object's table of functions.
 */
struct err *location_of_member(Dwarf_Die *member, struct memory *memory, uint64_t object,
			       uint64_t *ret) MUST_CHECK;
