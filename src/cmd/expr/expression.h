/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `print`, `whatis` and `x` have in common: their words, and where they look. */
#pragma once

#include "base/str.h"
#include "cmd/shell/call.h"
#include "type/expr.h"

/*
 * Get the format that stands behind a `/` ("4gx"; "" without one), and the expression, which is all
 * other words. ERR_USAGE: there is no expression, and needed is set.
 */
struct err *expression_words(const struct call *call, bool needed, char format[32],
			     struct str *text_ret) MUST_CHECK;
/* The session's memory, types and symbols as they are now. */
struct err *expression_world(const struct call *call, struct value_world *ret) MUST_CHECK;
/* Evaluate; names near an unknown one are in the error's hint. */
struct err *expression_evaluate(const struct value_world *world, const char *text,
				struct expr *ret) MUST_CHECK;
/* The same of its type alone, for which nothing is read. */
struct err *expression_type(const struct value_world *world, const char *text,
			    struct expr *ret) MUST_CHECK;
