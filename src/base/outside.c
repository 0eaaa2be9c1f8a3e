/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Text from outside is escaped so that a terminal does not obey it (outside.h). */

#include "base/outside.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_ascii_plain(unsigned char c, enum outside_lines lines)
{
	return (c >= 0x20 && c < 0x7f) || (lines == OUTSIDE_LINES && (c == '\n' || c == '\t'));
}

/*
 * Returns the length of the UTF-8 sequence at the start of text, which is not ASCII; 0: there is
 * none.
 */
static size_t decode(const unsigned char *text, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t nr = text[0] >= 0xf0 ? 4 : text[0] >= 0xe0 ? 3 : 2;
	uint32_t code = text[0] & (0xffu >> (nr + 1));

	if (text[0] < 0xc2 || text[0] > 0xf4 || nr > len)
		return 0;
	for (size_t i = 1; i < nr; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[nr] || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret = code;
	return nr;
}

/*
 * True for C1 controls, for marks, embeddings, overrides and isolates of direction, and for line
 * and paragraph separators.
 */
static bool is_obeyed(uint32_t code)
{
	return code < 0xa0 || code == 0x61c || code == 0x200e || code == 0x200f ||
	       (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

size_t outside_plain(const char *text, size_t len, enum outside_lines lines)
{
	const unsigned char *bytes = (const unsigned char *)text;
	size_t at = 0, nr;
	uint32_t code;

	while (at < len) {
		if (is_ascii_plain(bytes[at], lines)) {
			at++;
			continue;
		}
		nr = bytes[at] < 0x80 ? 0 : decode(bytes + at, len - at, &code);
		if (!nr || is_obeyed(code))
			break;
		at += nr;
	}
	return at;
}

/* Escape the first character, which cannot be printed as it is. Returns its length in text. */
static size_t escape(const char *text, size_t len, char ret[OUTSIDE_ESCAPED])
{
	unsigned char c = (unsigned char)*text;
	uint32_t code;
	size_t nr = c < 0x80 ? 0 : decode((const unsigned char *)text, len, &code);

	if (nr)
		snprintf(ret, OUTSIDE_ESCAPED, "\\u%04x", code & 0xffff);
	else if (c == '\n' || c == '\t')
		snprintf(ret, OUTSIDE_ESCAPED, c == '\n' ? "\\n" : "\\t");
	else
		snprintf(ret, OUTSIDE_ESCAPED, "\\x%02x", c);
	return nr ? nr : 1;
}

struct outside_piece outside_next(const char **text, size_t *len, enum outside_lines lines,
				  char escaped[OUTSIDE_ESCAPED])
{
	size_t nr = outside_plain(*text, *len, lines);
	struct outside_piece piece = { *text, nr };

	if (!nr) {
		nr = escape(*text, *len, escaped);
		piece = (struct outside_piece){ escaped, strlen(escaped) };
	}
	*text += nr;
	*len -= nr;
	return piece;
}

struct err *outside_add(struct str *to, const char *text, size_t len, enum outside_lines lines)
{
	char escaped[OUTSIDE_ESCAPED];
	struct err *err = NULL;

	while (len && !err) {
		struct outside_piece piece = outside_next(&text, &len, lines, escaped);

		err = str_add_bytes(to, piece.at, piece.len);
	}
	return err;
}
