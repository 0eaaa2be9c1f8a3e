/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which member of a type an offset is in: ".clients.head", "[3].name+2". */
#pragma once

#include "base/str.h"
#include "type/type.h"

/*
 * Append the way, and "+N" if the byte is not the first of what it leads to. *ret is the innermost
 * type; NULL: not wanted. Of a union the first member is taken.
 */
struct err *member_path_add(struct type *type, uint64_t offset, struct str *to,
			    struct type **ret) MUST_CHECK;
