/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Who keeps the memory, and what it is, as flame graphs of the report (flame_svg.h).
 *
 * Of owners the lowest row above the whole are roots, as `malloc owners` lists them, with the same
 * figures; above each are the blocks that it keeps, level by level of the tree of dominators, those of
 * one class together. A level of the class below it is not drawn anew: a list of a million blocks is
 * one frame, as wide as all of them. What is deeper than DEPTH counts in the frame below.
 *
 * Of types the rows are how a type is known, and the types.
 */
#pragma once

#include "export/flame_svg.h"

struct owners;
struct stack_names;
struct type_sums;

/* The caller calls flame_svg_free, also after an error. ERR_CANCELLED. */
struct err *owner_flame_build(const struct model *model, struct stack_names *names,
			      const struct owners *owners, struct flame_graph *ret) MUST_CHECK;
struct err *owner_flame_build_types(const struct model *model, const struct type_sums *sums,
				    struct flame_graph *ret) MUST_CHECK;
