/* SPDX-License-Identifier: GPL-3.0-or-later */
/* C's arithmetic on values: its conversions, on x86-64's sizes, where mdbg's own would trap or wrap. */
#pragma once

#include "type/number_text.h"
#include "type/value.h"

enum operation {
	OP_MULTIPLY, OP_DIVIDE, OP_REST, OP_ADD, OP_SUBTRACT, OP_LEFT, OP_RIGHT, OP_LESS, OP_GREATER,
	OP_LESS_EQUAL, OP_GREATER_EQUAL, OP_EQUAL, OP_UNEQUAL, OP_AND, OP_XOR, OP_OR,
};

/* ERR_USAGE: the operands are none for it, or a division by zero; errors of reading. */
struct err *arithmetic_binary(const struct value_world *world, enum operation op,
			      const struct value *left, const struct value *right,
			      struct value *ret) MUST_CHECK;
/* sign is one of - + ~ ! */
struct err *arithmetic_unary(const struct value_world *world, char sign, const struct value *value,
			     struct value *ret) MUST_CHECK;
struct err *arithmetic_cast(const struct value_world *world, struct type *to,
			    const struct value *value, struct value *ret) MUST_CHECK;
/* Is it not 0? */
struct err *arithmetic_truth(const struct value_world *world, const struct value *value,
			     bool *ret) MUST_CHECK;
/* An int, or in C++ a bool. */
struct value arithmetic_bool(const struct value_world *world, bool is);
