/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers and texts in the payloads of frames (docs/record-format.md, "Frames"). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

/* Bytes that are taken one after the other. bad: they were no such thing, or there were too few. */
struct record_bytes {
	const uint8_t *at, *end;
	bool bad;
};

/* 0, and bad, if there is none. */
uint64_t record_code_number(struct record_bytes *from);
/* The same of a number that is at most `most`. */
uint64_t record_code_upto(struct record_bytes *from, uint64_t most);
/* Of a difference: what is added, modulo 2^64. */
uint64_t record_code_signed(struct record_bytes *from);
/* *len_ret bytes, or NULL. */
const uint8_t *record_code_bytes(struct record_bytes *from, uint64_t most, size_t *len_ret);

struct err *record_code_put(struct str *to, uint64_t number) MUST_CHECK;
struct err *record_code_put_signed(struct str *to, uint64_t number) MUST_CHECK;
/* Several numbers, one behind the other. */
struct err *record_code_put_all(struct str *to, const uint64_t *numbers, size_t nr) MUST_CHECK;
#define RECORD_CODE_PUT(to, ...)					\
	record_code_put_all(to, (const uint64_t[]){ __VA_ARGS__ },	\
			    sizeof((const uint64_t[]){ __VA_ARGS__ }) / sizeof(uint64_t))
struct err *record_code_put_bytes(struct str *to, const void *bytes, size_t len) MUST_CHECK;
