/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Values of settings as users write them: a percentage, "1", "0.5", "2%", or "off", which is kept in
 * hundredths; a time, "500ms" or "none", which is kept in nanoseconds.
 */
#pragma once

#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* "off" is 0. ERR_USAGE, with `name` in front: it is none from 0.01 to most hundredths. */
struct err *setting_text_parse_percent(const char *name, const char *value, uint64_t most,
				      uint64_t *ret) MUST_CHECK;
struct err *setting_text_add_percent(struct str *to, uint64_t hundredths) MUST_CHECK;
/* In the largest unit of which it is a whole number. */
struct err *setting_text_add_duration(struct str *to, uint64_t ns) MUST_CHECK;
