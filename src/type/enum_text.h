/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of enumerations: "RED", "(FA | FC)", "(FA | unknown: 0x8)", "77". */
#pragma once

#include "base/str.h"
#include "type/type.h"

struct err *enum_text_add(struct type *plain, int64_t value, struct str *to) MUST_CHECK;
