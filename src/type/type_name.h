/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Types as C writes them, as gdb shows them: "struct node *", "int (*)(const char *)", "char [16]". */
#pragma once

#include "base/str.h"
#include "type/type.h"

struct err *type_name_add(struct type *type, struct str *to) MUST_CHECK;
