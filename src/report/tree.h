/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The text of `malloc tree`. */
#pragma once

#include "answer/call_tree.h"
#include "report/sites.h"

/*
 * Print the rows of a tree, indented by depth, and what is left out. A child that has nearly all of
 * its parent and no sibling is printed below it with the same indent and without figures.
 */
struct err *tree_print(const struct call_tree *tree, const struct call_tree_spec *spec,
		       const struct moment_name *at, struct out *out) MUST_CHECK;
