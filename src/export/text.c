/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the target in files. */

#include "export/text.h"

#include "base/outside.h"
#include "export/export_file.h"

static void write_plain(struct export_file *file, const char *at, size_t len,
			const char *separators, char instead)
{
	while (len) {
		size_t part = 0;

		while (part < len && !strchr(separators, at[part]))
			part++;
		export_file_bytes(file, at, part);
		at += part;
		len -= part;
		if (!len)
			return;
		export_file_bytes(file, &instead, 1);
		at++;
		len--;
	}
}

void text_write(struct export_file *file, const char *text, const char *separators, char instead)
{
	char escaped[OUTSIDE_ESCAPED];
	size_t len = strlen(text);

	while (len) {
		struct outside_piece piece = outside_next(&text, &len, OUTSIDE_ONE_LINE, escaped);

		write_plain(file, piece.at, piece.len, separators, instead);
	}
}

struct err *text_clean(struct str *ret, const char *text)
{
	struct err *err;

	str_clear(ret);
	err = str_add(ret, "");
	return err ? err : outside_add(ret, text, strlen(text), OUTSIDE_ONE_LINE);
}
