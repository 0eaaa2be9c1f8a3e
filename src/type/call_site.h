/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What a caller has put into a register for a call (DWARF 5, 3.4): so a parameter is known that the
 * function has not kept.
 *
 * It is true only if the frame's function was entered by that call. If the function that was called
 * has jumped to another one (a tail call), the return address is the same and the register is not. So
 * the call must name the frame's function, and the function must have no tail calls itself, by which
 * it could be entered again.
 */
#pragma once

#include "type/frame.h"

/* The expression of the value, to be evaluated in frame->caller. False: it is not known. */
bool call_site_value(const struct value_world *world, struct frame *frame, uint64_t reg,
		     Dwarf_Attribute *ret);
