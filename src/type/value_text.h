/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values as text, in the form of gdb's `print` without its `$1 = `:
 *
 *	(struct node *) 0x555555558140 <n1>
 *	{name = "hello", next = 0x0, flags = (FA | FC), list = {1, 2, 3}, zeros = {0 <repeats 50 times>}}
 *
 * What comes from the target is shown as text (text_literal.h). All is bounded: elements and
 * characters as there, structs in one another, and the whole text.
 */
#pragma once

#include "base/str.h"
#include "type/number_text.h"
#include "type/value.h"

#define VALUE_TEXT_MOST	(256u << 10)	/* bytes; what is behind them is `...` */

/* format is a letter of `print/FORMAT` (x d u o t c a f z s), or 0. */
struct err *value_text_add(const struct value_world *world, const struct value *value, char format,
			   struct str *to) MUST_CHECK;
