/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Characters, strings and floating point numbers as gdb writes them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/str.h"

#define LITERAL_MOST	200u	/* characters of a string, or elements of an array, that are shown */
#define LITERAL_REPEATS	10u	/* more of one kind in a row are written once */

/* 'a', '\n', '\000'. */
struct err *text_literal_char(uint32_t c, struct str *to) MUST_CHECK;
/* How many of these bytes are shown: LITERAL_MOST, and all of the run of one byte that they end in. */
size_t text_literal_len(const uint8_t *bytes, size_t len);
/*
 * "text", 'x' <repeats 20 times>, "more"... Bytes that are no text are escaped. more: there are
 * others behind these.
 */
struct err *text_literal_string(const uint8_t *bytes, size_t len, bool more,
				struct str *to) MUST_CHECK;
/* size is that of the type, in bytes. */
struct err *text_literal_float(long double real, uint32_t size, const uint8_t bytes[16],
			       struct str *to) MUST_CHECK;
