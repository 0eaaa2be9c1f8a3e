/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a name in an expression is the value of. */
#pragma once

#include "type/number_text.h"
#include "type/types.h"

#define EXPR_UNKNOWN	128u

/*
 * A variable, a function, a constant, a static variable of a function or class, or a symbol without
 * debug information, whose type is not known. file is as in types_find. ERR_NOTFOUND: the name is
 * put into unknown.
 */
struct err *expr_name_value(const struct value_world *world, const char *file, const char *name,
			    char unknown[EXPR_UNKNOWN], struct value *ret) MUST_CHECK;
/* One that each thread has is that of the frame's thread; without a frame it is not known. */
struct err *expr_name_variable(const struct value_world *world, const char *name,
			       const struct variable *variable, char unknown[EXPR_UNKNOWN],
			       struct value *ret) MUST_CHECK;
