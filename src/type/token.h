/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of an expression. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum token_kind {
	TOKEN_END,
	TOKEN_INTEGER, TOKEN_REAL, TOKEN_CHAR, TOKEN_STRING,
	TOKEN_NAME,
	TOKEN_QUOTED,		/* 'file.c', as gdb has it before :: */
	TOKEN_SIGN,		/* + -> << ... */
};

struct token {
	enum token_kind kind;
	const char *at;		/* in the text */
	size_t len;
	uint64_t integer;	/* of an integer or a character */
	bool is_unsigned, is_long, is_decimal;
	long double real;
	char suffix;		/* of a real: f, l or 0 */
};

/* The next word from *at on, which is moved behind it. ERR_USAGE. */
struct err *token_next(const char **at, struct token *ret) MUST_CHECK;
bool token_is(const struct token *token, const char *sign);
/* The bytes of a string, with its escapes replaced; at most room. */
struct err *token_string(const struct token *token, char *ret, size_t room,
			 size_t *len_ret) MUST_CHECK;
