/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of numbers, characters and strings in an expression. */
#pragma once

#include "type/number_text.h"
#include "type/token.h"

/* ERR_UNSUPPORTED: a string of more than 15 bytes. */
struct err *expr_literal_value(const struct value_world *world, const struct token *token,
			       struct value *ret) MUST_CHECK;
