/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the target in SVG, HTML and JSON (markup.h). */

#include "export/markup.h"

#include <string.h>

#include "base/outside.h"
#include "export/export_file.h"

#define ELLIPSIS	"\342\200\246"

/* What a character is written as in markup; NULL: as it is. */

static const char *in_markup(char c)
{
	switch (c) {
	case '&': return "&amp;";
	case '<': return "&lt;";
	case '>': return "&gt;";
	case '"': return "&quot;";
	case '\'': return "&#39;";
	}
	return NULL;
}

/* A script ends at "</script", and changes its rules at "<!--", inside of strings, too. */
static const char *in_json(char c)
{
	switch (c) {
	case '"': return "\\\"";
	case '\\': return "\\\\";
	case '<': return "\\u003c";
	case '>': return "\\u003e";
	case '&': return "\\u0026";
	}
	return NULL;
}

/* U+FFFE and U+FFFF are UTF-8, but no characters of XML. */
static size_t plain_len(const char *at, size_t len, const char *(*quote)(char c))
{
	size_t nr = 0;

	while (nr < len && !quote(at[nr]) && !(len - nr > 2 && !memcmp(at + nr, "\357\277", 2) &&
					       (unsigned char)at[nr + 2] >= 0xbe))
		nr++;
	return nr;
}

static void write_quoted(struct export_file *file, const char *at, size_t len,
			 const char *(*quote)(char c))
{
	while (len) {
		size_t nr = plain_len(at, len, quote);

		export_file_bytes(file, at, nr);
		at += nr;
		len -= nr;
		if (!len)
			return;
		nr = quote(*at) ? 1 : 3;
		export_file_text(file, nr == 1 ? quote(*at) : "\357\277\275");
		at += nr;
		len -= nr;
	}
}

/* A cut does not divide a character. */
static size_t cut_len(const char *text, size_t len, size_t most)
{
	if (len <= most)
		return len;
	while (most && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

static void write_text(struct export_file *file, const char *text, size_t most,
		       const char *(*quote)(char c))
{
	char escaped[OUTSIDE_ESCAPED];
	size_t all = strlen(text), len = cut_len(text, all, most);
	bool cut = len < all;

	while (len) {
		struct outside_piece piece = outside_next(&text, &len, OUTSIDE_ONE_LINE, escaped);

		write_quoted(file, piece.at, piece.len, quote);
	}
	if (cut)
		export_file_text(file, ELLIPSIS);
}

void markup_write(struct export_file *file, const char *text, size_t most)
{
	write_text(file, text, most, in_markup);
}

void markup_json(struct export_file *file, const char *text, size_t most)
{
	export_file_text(file, "\"");
	write_text(file, text, most, in_json);
	export_file_text(file, "\"");
}
