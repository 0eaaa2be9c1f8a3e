/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lines for a terminal. */

#include "report/wrap.h"

#include <string.h>

/* The length in bytes of a sequence of colour, "\033[1m"; 0: it is none. */
static size_t color_len(const char *text, size_t len)
{
	size_t at = 2;

	if (len < 3 || text[0] != '\033' || text[1] != '[')
		return 0;
	while (at < len && strchr("0123456789;", text[at]))
		at++;
	return at < len && text[at] == 'm' ? at + 1 : 0;
}

size_t wrap_at(const char *line, size_t len, size_t columns)
{
	size_t at = 0, width = 0, last = 0;

	while (at < len && line[at] == ' ') {
		at++;
		width++;
	}
	while (at < len) {
		size_t color = color_len(line + at, len - at);

		if (color) {
			at += color;
			continue;
		}
		if (line[at] == ' ' && (!last || width <= columns))
			last = at;
		width += ((unsigned char)line[at] & 0xc0) != 0x80;
		if (width > columns && last)
			return last;
		at++;
	}
	return len;
}
