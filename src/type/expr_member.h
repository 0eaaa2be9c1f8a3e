/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Members, and what smart pointers have, in an expression. */
#pragma once

#include "type/expr_name.h"

/*
 * Turn a struct, or a pointer to one, into its member of that name. ERR_USAGE, ERR_NOTFOUND,
 * ERR_UNSUPPORTED (it is incomplete). unknown: as in expr_name.h.
 */
struct err *expr_member_value(const struct value_world *world, const char *name,
			      char unknown[EXPR_UNKNOWN], struct value *value) MUST_CHECK;
/* A smart pointer of C++ is what it has, where a pointer is wanted; another value stays. */
struct err *expr_member_unwrap(const struct value_world *world, struct value *value) MUST_CHECK;
