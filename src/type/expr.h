/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Expressions, as `print` takes them: C's, with gdb's {TYPE} ADDRESS, ARRAY@COUNT, FUNCTION::NAME
 * and 'FILE'::NAME. Nothing of the target is changed, and none of its functions run: what would do
 * that (=, ++, a call) is refused.
 *
 * An expression is evaluated as it is read. Memory is read only where a value is needed, so what
 * stands behind &, and a `&&` that is decided, reads none; nor does sizeof, whose operand is
 * evaluated in a memory of zeros.
 */
#pragma once

#include "type/expr_name.h"
#include "type/value_text.h"

#define EXPR_MOST	(64u << 10)	/* bytes of an expression */

/* What an expression is: a value, or the name of a type. */
struct expr {
	bool is_type;
	struct value value;	/* value.type, if it is a type */
	/* The name that is not known, if the error is ERR_NOTFOUND, for those who know near ones. */
	char unknown[EXPR_UNKNOWN];
};

/*
 * ERR_USAGE: it is none; ERR_NOTFOUND: a name is not known; ERR_MEMORY; ERR_UNSUPPORTED: a value that
 * is not in memory. unknown is set after an error, too.
 */
struct err *expr_evaluate(const struct value_world *world, const char *text,
			  struct expr *ret) MUST_CHECK;
/* Only the type: no memory is read, and value is of no use beside its type. */
struct err *expr_type(const struct value_world *world, const char *text,
		      struct expr *ret) MUST_CHECK;
