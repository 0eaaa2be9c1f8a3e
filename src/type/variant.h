/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Enums of Rust that have contents: of several members, the one that a discriminant says is there. */
#pragma once

#include "type/value.h"

/*
 * *is_ret is false if the struct has no variants; else *ret is the member that is there, or has no
 * type if no variant has that discriminant.
 */
struct err *variant_of_value(struct memory *memory, const struct value *value, struct type *plain,
			     struct member *ret, bool *is_ret) MUST_CHECK;
