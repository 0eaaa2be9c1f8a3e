/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which word begins a redirection (theory in terminal/redirect.h). */

#include "cmd/shell/redirect_kind.h"

#include <string.h>

#include "cmd/shell/call.h"
#include "heap/filter.h"

/*
 * A `>` after these words is a relation if they end with an ATTR that is neither a sort key nor a
 * value.
 */
static bool wants_relation(int nr, const char *const *words)
{
	static const char *const takes_word[] = {
		"sort", "by", "==", "=", "!=", "<", "<=", ">", ">=", NULL,
	};

	return nr > 0 && filter_parse_is_attr(words[nr - 1]) &&
	       (nr == 1 || call_word_index(words[nr - 2], takes_word) < 0);
}

/* Do these words open a quote of a FILTER ('YYYY-MM-DD hh:mm:ss') and not close it? */
static bool inside_quotes(int nr, const char *const *words)
{
	bool inside = false;
	int i;

	for (i = 0; i < nr; i++) {
		size_t len = strlen(words[i]);

		if (!inside)
			inside = words[i][0] == '\'' && (len == 1 || words[i][len - 1] != '\'');
		else
			inside = !len || words[i][len - 1] != '\'';
	}
	return inside;
}

enum redirect_kind redirect_kind(const char *word, int before, const char *const *words,
				 bool filter)
{
	if (filter && inside_quotes(before, words))
		return REDIRECT_NONE;
	if (word[0] == '|' && word[1] != '|')
		return REDIRECT_PIPE;
	if (word[0] != '>' || (filter && wants_relation(before, words)))
		return REDIRECT_NONE;
	return word[1] == '>' ? REDIRECT_APPEND : REDIRECT_FILE;
}

int redirect_kind_find(int nr, const char *const *words, bool filter, enum redirect_kind *kind_ret)
{
	int i;

	for (i = 0; i < nr; i++) {
		*kind_ret = redirect_kind(words[i], i, words, filter);
		if (*kind_ret)
			return i;
	}
	*kind_ret = REDIRECT_NONE;
	return nr;
}
