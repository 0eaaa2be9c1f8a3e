/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names that a mistyped word may have meant. */

#include "cmd/near.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

#define WORD_MAX	32	/* what is longer is near nothing */

static char plain(char letter)
{
	return letter == '_' ? '-' : letter;
}

/* Levenshtein's distance: row[j] is that of the letters of x so far to the first j of y. */
static size_t distance(const char *x, size_t x_len, const char *y, size_t y_len)
{
	size_t row[WORD_MAX + 1];

	for (size_t j = 0; j <= y_len; j++)
		row[j] = j;
	for (size_t i = 0; i < x_len; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < y_len; j++) {
			size_t changed = corner + (plain(x[i]) != plain(y[j]));
			size_t shifted;

			corner = row[j + 1];
			shifted = MIN(corner, row[j]) + 1;
			row[j + 1] = MIN(shifted, changed);
		}
	}
	return row[y_len];
}

bool near_word(const char *word, const char *name)
{
	size_t word_len = strlen(word), name_len = strlen(name);

	if (!word_len || word_len > WORD_MAX || name_len > WORD_MAX)
		return false;
	if (word_len >= 3 && !strncmp(word, name, word_len))
		return true;
	return distance(word, word_len, name, name_len) <= (MIN(word_len, name_len) < 5 ? 1 : 2);
}

bool near_same(const char *word, const char *name)
{
	for (;; word++, name++) {
		word += strspn(word, "-_");
		name += strspn(name, "-_");
		if (tolower((unsigned char)*word) != tolower((unsigned char)*name))
			return false;
		if (!*word)
			return true;
	}
}
