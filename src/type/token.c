/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of an expression (token.h). */

#include "type/token.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

static const char *const signs[] = {
	"->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "::", "++", "--", "+=", "-=",
};

bool token_is(const struct token *token, const char *sign)
{
	return (token->kind == TOKEN_SIGN || token->kind == TOKEN_NAME) &&
	       token->len == strlen(sign) && !memcmp(token->at, sign, token->len);
}

static bool starts_name(char c)
{
	return isalpha((unsigned char)c) || c == '_' || (c & 0x80);
}

static bool goes_on(char c)
{
	return starts_name(c) || isdigit((unsigned char)c) || c == '$';
}

static struct err *bad_number(const char *at)
{
	return err_create(ERR_USAGE, "'%.40s' is no number", at);
}

static struct err *read_real(const char **at, struct token *ret)
{
	char *end;

	ret->kind = TOKEN_REAL;
	ret->real = strtold(*at, &end);
	if (*end == 'f' || *end == 'F' || *end == 'l' || *end == 'L')
		ret->suffix = (char)tolower((unsigned char)*end++);
	if (end == *at || goes_on(*end))
		return bad_number(*at);
	*at = end;
	return NULL;
}

static struct err *read_number(const char **at, struct token *ret)
{
	const char *start = *at, *dot = start + strspn(start, "0123456789");
	bool hex = start[0] == '0' && (start[1] == 'x' || start[1] == 'X');
	char *end;

	if (!hex && (*dot == '.' || *dot == 'e' || *dot == 'E'))
		return read_real(at, ret);
	ret->kind = TOKEN_INTEGER;
	ret->is_decimal = start[0] != '0';
	errno = 0;
	ret->integer = strtoull(start, &end, 0);
	if (errno == ERANGE)
		return err_create(ERR_RANGE, "the number %.30s has more than 64 bits", start);
	for (; *end && strchr("uUlL", *end); end++)
		*(*end == 'u' || *end == 'U' ? &ret->is_unsigned : &ret->is_long) = true;
	if (goes_on(*end) || (hex && end == start + 1))
		return bad_number(start);
	*at = end;
	return NULL;
}

/* The character at *at, which may be an escape; *at is moved behind it. */
static uint8_t read_char(const char **at)
{
	static const char letters[] = "abfnrtve", values[] = "\a\b\f\n\r\t\v\033";
	const char *found;
	unsigned value = 0;
	char *end;

	if (**at != '\\' || !(*at)[1])
		return (uint8_t)*(*at)++;
	++*at;
	if (**at == 'x' && isxdigit((unsigned char)(*at)[1])) {
		value = (unsigned)strtoul(*at + 1, &end, 16);
		*at = end;
		return (uint8_t)value;
	}
	if (**at >= '0' && **at <= '7') {
		for (unsigned i = 0; i < 3 && **at >= '0' && **at <= '7'; i++)
			value = 8 * value + (unsigned)(*(*at)++ - '0');
		return (uint8_t)value;
	}
	found = strchr(letters, **at);
	value = found ? (uint8_t)values[found - letters] : (uint8_t)**at;
	++*at;
	return (uint8_t)value;
}

/* Find the quote that ends what begins at `at`. */
static const char *closing(const char *at)
{
	char quote = *at++;

	while (*at && *at != quote)
		at += at[0] == '\\' && at[1] ? 2 : 1;
	return *at ? at : NULL;
}

/* 'c' is a character; what is longer is the name of a file. */
static struct err *read_quoted(const char **at, struct token *ret)
{
	const char *end = closing(*at), *c = *at + 1;

	if (!end)
		return err_create(ERR_USAGE, "a %c is not closed",
				  **at);
	ret->kind = **at == '"' ? TOKEN_STRING : TOKEN_QUOTED;
	if (**at == '\'' && c < end) {
		ret->integer = read_char(&c);
		if (c == end)
			ret->kind = TOKEN_CHAR;
	}
	*at = end + 1;
	return NULL;
}

struct err *token_next(const char **at, struct token *ret)
{
	struct err *err = NULL;

	*at += strspn(*at, " \t\n\r");
	*ret = (struct token){ .at = *at, .kind = TOKEN_SIGN };
	if (!**at) {
		ret->kind = TOKEN_END;
	} else if (isdigit((unsigned char)**at) ||
		   (**at == '.' && isdigit((unsigned char)(*at)[1]))) {
		err = read_number(at, ret);
	} else if (starts_name(**at) || (**at == '$' && starts_name((*at)[1]))) {
		ret->kind = TOKEN_NAME;		/* $rip is a register */
		++*at;
		while (goes_on(**at))
			++*at;
	} else if (**at == '\'' || **at == '"') {
		err = read_quoted(at, ret);
	} else {
		size_t len = 1;

		for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
			if (!strncmp(*at, signs[i], 2))
				len = 2;
		*at += len;
	}
	ret->len = (size_t)(*at - ret->at);
	return err;
}

struct err *token_string(const struct token *token, char *ret, size_t room, size_t *len_ret)
{
	const char *at = token->at + 1, *end = token->at + token->len - 1;
	size_t len = 0;

	while (at < end) {
		if (len == room)
			return err_create(ERR_RANGE, "a string of more than %zu bytes", room);
		ret[len++] = (char)read_char(&at);
	}
	*len_ret = len;
	return NULL;
}
