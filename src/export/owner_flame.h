/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who keeps the memory, as a flame graph of the report (flame_svg.h).
 *
 * The lowest row above the whole are roots, as `malloc owners` lists them, with the same
 * figures; above each are the blocks that it keeps, level by level of the tree of dominators, those of
 * one class together. A level of the class below it is not drawn anew: a list of a million blocks is
 * one frame, as wide as all of them. What is deeper than DEPTH counts in the frame below.
 */
#pragma once

#include "export/flame_svg.h"

struct owners;
struct stack_names;

/* The caller calls flame_svg_free, also after an error. ERR_CANCELLED. */
struct err *owner_flame_build(const struct model *model, struct stack_names *names,
			      const struct owners *owners, struct flame_graph *ret) MUST_CHECK;
